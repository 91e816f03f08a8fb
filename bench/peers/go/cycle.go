// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// cycle measures Add, Get and Done of hot items by one goroutine.
func cycle[T comparable](q workqueue.TypedInterface[T], items []T, total int) float64 {
	got := 0
	ns := parts(total, func(count int) {
		at := 0
		for i := 0; i < count; i++ {
			q.Add(items[at])
			item, shutdown := q.Get()
			if !shutdown {
				got++
			}
			q.Done(item)
			if at++; at == len(items) {
				at = 0
			}
		}
	})
	check(got, total/partCount*(partCount+1), "items handed out")
	check(q.Len(), 0, "items left")
	return ns
}

func hotCycle[T comparable](makeItems func(int) []T) float64 {
	return cycle[T](workqueue.NewTyped[T](), makeItems(hotKeys), 5_000_000)
}

// cycleWithLen is the same while a second goroutine asks for the length every 100 us.
func cycleWithLen[T comparable](makeItems func(int) []T) float64 {
	q := workqueue.NewTyped[T]()
	go func() {
		for {
			_ = q.Len()
			time.Sleep(100 * time.Microsecond)
		}
	}()
	return cycle[T](q, makeItems(hotKeys), 5_000_000)
}

// priorityCycle runs without a name, and so without metrics, as the other subjects do.
func priorityCycle() float64 {
	return cycle[string](priorityqueue.New[string](""), makeKeys(hotKeys), 500_000)
}

// rateLimitedCycle measures AddRateLimited, Get, Forget and Done with a limiter that answers 1 ns.
func rateLimitedCycle() float64 {
	const total = 500_000
	keys := makeKeys(hotKeys)
	q := workqueue.NewTypedRateLimitingQueue[string](
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](1, 1))
	got := 0
	ns := parts(total, func(count int) {
		at := 0
		for i := 0; i < count; i++ {
			q.AddRateLimited(keys[at])
			key, shutdown := q.Get()
			if !shutdown {
				got++
			}
			q.Forget(key)
			q.Done(key)
			if at++; at == len(keys) {
				at = 0
			}
		}
	})
	check(got, total/partCount*(partCount+1), "items handed out")
	return ns
}
