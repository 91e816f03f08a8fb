// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

const hotKeys = 100

// object is what a pointer key points to: as large as the benchmark's objects in C.
type object struct {
	payload [64]byte
}

func makeObjects(count int) []*object {
	memory := make([]object, count)
	objects := make([]*object, count)
	for i := range objects {
		objects[i] = &memory[i]
	}
	return objects
}

// cycle measures add+get+done of hot keys, one goroutine, on a queue that is warm.
func cycle[T comparable](q workqueue.TypedInterface[T], keys []T, total int) func(*run) {
	return func(r *run) {
		got := 0
		r.chunks(r.full(total), func(count int) {
			at := 0
			for i := 0; i < count; i++ {
				q.Add(keys[at])
				key, shutdown := q.Get()
				if !shutdown {
					got++
				}
				q.Done(key)
				if at++; at == len(keys) {
					at = 0
				}
			}
		})
		r.check(got, r.items+r.items/chunkCount, "items handed out")
		r.check(q.Len(), 0, "items left")
	}
}

// fresh is client-go's BenchmarkQueue: a new queue, made off the clock, for each 100 items.
func fresh(r *run) {
	keys := makeKeys(hotKeys)
	queues := r.full(30000)
	var spent, cpu time.Duration
	for i := 0; i < queues+queues/10; i++ {
		if i == queues/10 {
			spent, cpu = 0, cpuTime()
		}
		q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{})
		start := time.Now()
		for j := 0; j < hotKeys; j++ {
			q.Add(keys[j])
			key, _ := q.Get()
			q.Done(key)
		}
		spent += time.Since(start)
		r.check(q.Len(), 0, "items left")
		q.ShutDown()
	}
	r.items = queues * hotKeys
	r.metrics["ns"] = float64(spent) / float64(r.items)
	r.metrics["cpu_ns"] = float64(cpuTime()-cpu) / float64(r.items)
}

// visited is cycle while a second goroutine looks in every 100 us.
func visited(r *run) {
	q := workqueue.NewTyped[string]()
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = q.Len()
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	cycle[string](q, makeKeys(hotKeys), 5_000_000)(r)
	close(stop)
}

// coalesced measures the add of a key that is queued already.
func coalesced[T comparable](key T) func(*run) {
	return func(r *run) {
		q := workqueue.NewTyped[T]()
		r.chunks(r.full(20_000_000), func(count int) {
			for i := 0; i < count; i++ {
				q.Add(key)
			}
		})
		r.check(q.Len(), 1, "items queued")
	}
}

// priorityCycle runs without a name, and so without metrics, as the other subjects do.
func priorityCycle(r *run) {
	cycle[string](priorityqueue.New[string](""), makeKeys(hotKeys), 500_000)(r)
}

func cycles() []measurement {
	return []measurement{
		{"keyed_cycle", "client-go", false, func(r *run) {
			cycle[string](workqueue.NewTyped[string](), makeKeys(hotKeys), 5_000_000)(r)
		}},
		{"keyed_fresh_queue", "client-go", false, fresh},
		{"embedded_cycle", "client-go", false, func(r *run) {
			cycle[*object](workqueue.NewTyped[*object](), makeObjects(hotKeys), 5_000_000)(r)
		}},
		{"coalesced_add", "client-go", false, coalesced("key-0")},
		{"coalesced_add", "client-go-pointer", false, coalesced(&object{})},
		{"visited_cycle", "client-go", false, visited},
		{"priority_cycle", "controller-runtime", false, priorityCycle},
	}
}
