// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// serve starts producers and as many consumers. It returns when the last producer had
// ended, when the last consumer had, and how many items came out.
func serve[T comparable](q workqueue.TypedInterface[T], sides int,
	produce func(producer int)) (produced, consumed time.Time, got int) {
	var total atomic.Int64
	var adding, taking sync.WaitGroup
	for i := 0; i < sides; i++ {
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
			total.Add(int64(count))
		}()
	}
	for i := 0; i < sides; i++ {
		adding.Add(1)
		go func() {
			defer adding.Done()
			produce(i)
		}()
	}
	adding.Wait()
	produced = time.Now()
	q.ShutDown()
	taking.Wait()
	return produced, time.Now(), int(total.Load())
}

// handOver measures distinct items that producers add once each while as many consumers take them.
func handOver[T comparable](sides int, makeItems func(int) []T) float64 {
	items := makeItems(handOvers)
	share := handOvers / sides
	q := workqueue.NewTyped[T]()
	start := time.Now()
	_, consumed, got := serve(q, sides, func(producer int) {
		for _, item := range items[producer*share : (producer+1)*share] {
			q.Add(item)
		}
	})
	check(got, handOvers, "items handed out")
	return float64(consumed.Sub(start)) / handOvers
}

// storm measures the adds of four producers of few items, in random order, while four consumers work.
func storm[T comparable](hot int, makeItems func(int) []T) float64 {
	const sides, adds = 4, 4_000_000
	items := makeItems(hot)
	q := workqueue.NewTyped[T]()
	start := time.Now()
	produced, _, got := serve(q, sides, func(producer int) {
		x := random(producer + 1)
		for i := 0; i < adds/sides; i++ {
			q.Add(items[x.next()&uint64(hot-1)])
		}
	})
	if got < hot || got > adds {
		fail("%d items handed out, expected %d to %d", got, hot, adds)
	}
	check(q.Len(), 0, "items left")
	return float64(produced.Sub(start)) / adds
}

func isPrime(p int) bool {
	if p <= 1 {
		return false
	}
	for i := 2; i*i <= p; i++ {
		if p%i == 0 {
			return false
		}
	}
	return true
}

// parallelize is client-go's BenchmarkParallelizeUntil with ten workers.
func parallelize(pieces, chunk int) float64 {
	primes := make([]bool, pieces)
	ns := parts(20_000, func(count int) {
		for i := 0; i < count; i++ {
			workqueue.ParallelizeUntil(context.Background(), 10, pieces, func(p int) {
				primes[p] = isPrime(p)
			}, workqueue.WithChunkSize(chunk))
		}
	})
	found := 0
	for _, prime := range primes {
		if prime {
			found++
		}
	}
	check(found, 168, "primes")
	return ns
}
