// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// crowd starts consumers, lets producers add, and returns how many items came out once the queue
// has been shut down and is empty. produced is called when the last producer has ended.
func crowd[T comparable](q workqueue.TypedInterface[T], producers, consumers int,
	produce func(producer int), produced func()) int {
	var got atomic.Int64
	var adding, taking sync.WaitGroup
	for i := 0; i < consumers; i++ {
		taking.Add(1)
		go func() {
			defer taking.Done()
			count := 0
			for {
				item, shutdown := q.Get()
				if shutdown {
					break
				}
				count++
				q.Done(item)
			}
			got.Add(int64(count))
		}()
	}
	for i := 0; i < producers; i++ {
		adding.Add(1)
		go func() {
			defer adding.Done()
			produce(i)
		}()
	}
	adding.Wait()
	produced()
	q.ShutDown()
	taking.Wait()
	return int(got.Load())
}

// distinct measures items added once each by producers while as many consumers take them.
func distinct[T comparable](sides int, makeItems func(int) []T) func(*run) {
	return func(r *run) {
		total := r.full(2_000_000) / sides * sides
		items := makeItems(total)
		share := total / sides
		q := workqueue.NewTyped[T]()
		r.span(total, func() {
			got := crowd(q, sides, sides, func(producer int) {
				for _, item := range items[producer*share : (producer+1)*share] {
					q.Add(item)
				}
			}, func() {})
			r.check(got, total, "items handed out")
		})
	}
}

func threads() []measurement {
	return []measurement{
		{"pair", "client-go", false, distinct(1, makeKeys)},
		{"pair", "client-go-pointer", false, distinct(1, makeObjects)},
		{"four", "client-go", false, distinct(4, makeKeys)},
		{"four", "client-go-pointer", false, distinct(4, makeObjects)},
	}
}

// latencyEvery is the share of adds whose own time is taken: one in so many.
const latencyEvery = 64

// clockCost is the median of what two readings of the clock cost by themselves.
func clockCost() float64 {
	var costs []float64
	for i := 0; i < 1001; i++ {
		start := time.Now()
		costs = append(costs, float64(time.Since(start)))
	}
	return quantile(costs, 0.5)
}

// storm measures adds by four producers of few keys, in random order, while four consumers work.
func storm[T comparable](hot int, makeItems func(int) []T) func(*run) {
	return func(r *run) {
		const sides = 4
		total := r.full(8_000_000) / sides * sides
		items := makeItems(hot)
		cost := clockCost()
		latencies := make([][]float64, sides)
		for i := range latencies {
			latencies[i] = make([]float64, 0, total/sides/latencyEvery+1)
		}
		q := workqueue.NewTyped[T]()
		cpu := cpuTime()
		start := time.Now()
		got := crowd(q, sides, sides, func(producer int) {
			x := random(producer + 1)
			for i := 0; i < total/sides; i++ {
				item := items[x.next()&uint64(hot-1)]
				if i%latencyEvery != 0 {
					q.Add(item)
					continue
				}
				before := time.Now()
				q.Add(item)
				latencies[producer] = append(latencies[producer], float64(time.Since(before))-cost)
			}
		}, func() { r.metrics["ns"] = float64(time.Since(start)) / float64(total) })
		r.metrics["cpu_ns"] = float64(cpuTime()-cpu) / float64(total)
		r.items = total
		if got < hot || got > total {
			fail("%d items handed out, expected %d to %d", got, hot, total)
		}
		r.check(q.Len(), 0, "items left")
		var every []float64
		for _, some := range latencies {
			every = append(every, some...)
		}
		r.metrics["p99_ns"] = quantile(every, 0.99)
		r.metrics["runs_per_add"] = float64(got) / float64(total)
	}
}

func storms() []measurement {
	return []measurement{
		{"storm_64", "client-go", false, storm(64, makeKeys)},
		{"storm_64", "client-go-pointer", false, storm(64, makeObjects)},
		{"storm_65536", "client-go", false, storm(65536, makeKeys)},
		{"storm_65536", "client-go-pointer", false, storm(65536, makeObjects)},
	}
}
