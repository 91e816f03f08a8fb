// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"k8s.io/client-go/util/workqueue"
)

// pendingCycle measures get+done+add of the same item while depth items are queued, in an order
// that has nothing to do with where they lie in memory.
func pendingCycle[T comparable](depth int, makeItems func(int) []T) func(*run) {
	return func(r *run) {
		items := makeItems(depth)
		shuffle(items)
		q := workqueue.NewTyped[T]()
		for _, item := range items {
			q.Add(item)
		}
		total := 5_000_000
		if depth > total {
			total = 2 * depth
		}
		r.chunks(r.full(total), func(count int) {
			for i := 0; i < count; i++ {
				item, _ := q.Get()
				q.Done(item)
				q.Add(item)
			}
		})
		r.check(q.Len(), depth, "items queued")
	}
}

func pending() []measurement {
	return []measurement{
		{"pending_1e3", "client-go", false, pendingCycle(1000, makeKeys)},
		{"pending_1e5", "client-go", false, pendingCycle(100_000, makeKeys)},
		{"pending_1e6", "client-go", true, pendingCycle(1_000_000, makeKeys)},
		{"pending_1e3", "client-go-pointer", false, pendingCycle(1000, makeObjects)},
		{"pending_1e5", "client-go-pointer", false, pendingCycle(100_000, makeObjects)},
		{"pending_1e6", "client-go-pointer", true, pendingCycle(1_000_000, makeObjects)},
	}
}

func heapBytes() float64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		fail("%v", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		fail("%v", err)
	}
	return float64(pages * os.Getpagesize())
}

// memoryUse reports what one queued item costs beyond the item, and what is left once all are done,
// per item at the peak.
func memoryUse[T comparable](makeItems func(int) []T) func(*run) {
	return func(r *run) {
		const count = 1_000_000
		items := makeItems(count)
		q := workqueue.NewTyped[T]()
		before, residentBefore := heapBytes(), residentBytes()
		for _, item := range items {
			q.Add(item)
		}
		full, residentFull := heapBytes(), residentBytes()
		for range items {
			item, _ := q.Get()
			q.Done(item)
		}
		r.check(q.Len(), 0, "items left")
		after, residentAfter := heapBytes(), residentBytes()
		n := float64(count)
		r.items = count
		r.metrics["bytes"] = (full - before) / n
		r.metrics["kept_bytes"] = (after - before) / n
		r.metrics["rss_bytes"] = (residentFull - residentBefore) / n
		r.metrics["rss_kept_bytes"] = (residentAfter - residentBefore) / n
		runtime.KeepAlive(items)
		runtime.KeepAlive(q)
	}
}

func memory() []measurement {
	return []measurement{
		{"memory", "client-go", false, memoryUse(makeKeys)},
		{"memory", "client-go-pointer", false, memoryUse(makeObjects)},
	}
}
