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

// pending measures Get, Done and Add of the same item while depth items are queued, in random order
// in memory.
func pending[T comparable](depth int, makeItems func(int) []T) float64 {
	items := makeItems(depth)
	x := random(88172645463325252)
	for i := len(items) - 1; i > 0; i-- {
		j := int(x.next() % uint64(i+1))
		items[i], items[j] = items[j], items[i]
	}
	q := workqueue.NewTyped[T]()
	for _, item := range items {
		q.Add(item)
	}
	ns := parts(2_000_000, func(count int) {
		for i := 0; i < count; i++ {
			item, _ := q.Get()
			q.Done(item)
			q.Add(item)
		}
	})
	check(q.Len(), depth, "items queued")
	return ns
}

// addAfter is client-go's BenchmarkDelayingQueue_AddAfter with b.N = count.
func addAfter(count int) float64 {
	clock := testingclock.NewFakeClock(time.Now())
	q := workqueue.NewTypedDelayingQueueWithConfig(
		workqueue.TypedDelayingQueueConfig[string]{Clock: clock})
	start := time.Now()
	for n := 0; n < count; n++ {
		data := fmt.Sprintf("%d", n)
		q.AddAfter(data, time.Duration(rand.Int63n(int64(10*time.Minute))))
	}
	clock.Step(11 * time.Minute)
	for n := 0; n < count; n++ {
		_, _ = q.Get()
	}
	ns := span(start, count)
	check(q.Len(), 0, "items left")
	return ns
}
