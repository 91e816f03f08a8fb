// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math/rand"
	"time"

	"k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"
)

// addAfter is client-go's BenchmarkDelayingQueue_AddAfter with b.N = count.
func addAfter(count int) func(*run) {
	return func(r *run) {
		clock := testingclock.NewFakeClock(time.Now())
		q := workqueue.NewTypedDelayingQueueWithConfig(
			workqueue.TypedDelayingQueueConfig[string]{Clock: clock})
		r.span(count, func() {
			for n := 0; n < count; n++ {
				data := fmt.Sprintf("%d", n)
				q.AddAfter(data, time.Duration(rand.Int63n(int64(10*time.Minute))))
			}
			clock.Step(11 * time.Minute)
			for n := 0; n < count; n++ {
				_, _ = q.Get()
			}
		})
		r.check(q.Len(), 0, "items left")
	}
}

// rateLimited measures AddRateLimited+Get+Forget+Done with a limiter that answers 1 ns.
func rateLimited(r *run) {
	keys := makeKeys(hotKeys)
	q := workqueue.NewTypedRateLimitingQueue[string](
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](1, 1))
	got := 0
	r.chunks(r.full(500_000), func(count int) {
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
	r.check(got, r.items+r.items/chunkCount, "items handed out")
}

// lateness measures how long after its time an item is handed out to who sleeps for it.
func lateness(r *run) {
	const delay = 2 * time.Millisecond
	count := r.full(500)
	q := workqueue.NewTypedDelayingQueue[string]()
	var late []float64
	sum := 0.0
	cpu := cpuTime()
	for i := 0; i < count; i++ {
		start := time.Now()
		q.AddAfter("key", delay)
		key, _ := q.Get()
		by := float64(time.Since(start) - delay)
		if by < 0 {
			fail("handed out %v ns early", -by)
		}
		q.Done(key)
		late = append(late, by)
		sum += by
	}
	r.items = count
	r.metrics["cpu_ns"] = float64(cpuTime()-cpu) / float64(count)
	r.metrics["ns"] = sum / float64(count)
	r.metrics["p50_ns"] = quantile(late, 0.5)
	r.metrics["p99_ns"] = quantile(late, 0.99)
	r.metrics["max_ns"] = quantile(late, 1)
}

func delays() []measurement {
	return []measurement{
		{"add_after_1e5", "client-go", false, addAfter(100_000)},
		{"add_after_1e6", "client-go", true, addAfter(1_000_000)},
		{"add_after_5e6", "client-go", true, addAfter(5_000_000)},
		{"rate_limited_cycle", "client-go", false, rateLimited},
		{"lateness", "client-go", false, lateness},
	}
}
