// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"sort"
	"time"
)

// What bench/support/bench.h has under the same names.
const (
	partCount = 11
	hotKeys   = 100
	handOvers = 2_000_000
)

// parts calls body with total / partCount items once to warm up and partCount times more. It returns
// the nanoseconds for an item in the median part, so that one preemption does not change it.
func parts(total int, body func(count int)) float64 {
	count := total / partCount
	body(count)
	times := make([]float64, partCount)
	for i := range times {
		start := time.Now()
		body(count)
		times[i] = span(start, count)
	}
	sort.Float64s(times)
	return times[partCount/2]
}

// span returns the nanoseconds since start for each of count items.
func span(start time.Time, count int) float64 {
	return float64(time.Since(start)) / float64(count)
}

// object is as large as the objects of the benchmarks in C.
type object struct {
	payload [64]byte
}

// makeObjects returns pointers to count distinct objects.
func makeObjects(count int) []*object {
	memory := make([]object, count)
	objects := make([]*object, count)
	for i := range objects {
		objects[i] = &memory[i]
	}
	return objects
}

// makeKeys returns count distinct strings.
func makeKeys(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	return keys
}

// random is xorshift64*; bench/support has the same numbers.
type random uint64

func (x *random) next() uint64 {
	v := uint64(*x)
	v ^= v >> 12
	v ^= v << 25
	v ^= v >> 27
	*x = random(v)
	return v * 2685821657736338717
}
