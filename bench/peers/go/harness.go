// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"sort"
	"syscall"
	"time"
)

// chunkCount is the number of parts that a single-threaded run is cut into; its figure is the
// median part, so that one preemption does not decide it. bench/support does the same.
const chunkCount = 11

// full returns the work of a full run, and a fifth of it for a quick one.
func (r *run) full(count int) int {
	if r.quick {
		return count / 5
	}
	return count
}

func (r *run) check(got, want int, what string) {
	if got != want {
		fail("%s: %d, expected %d", what, got, want)
	}
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail("getrusage: %v", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// chunks runs body, which does count items of work, once to warm up and then chunkCount times.
func (r *run) chunks(total int, body func(count int)) {
	count := total / chunkCount
	body(count)
	var times []float64
	cpu := cpuTime()
	for i := 0; i < chunkCount; i++ {
		start := time.Now()
		body(count)
		times = append(times, float64(time.Since(start))/float64(count))
	}
	r.items = count * chunkCount
	r.metrics["cpu_ns"] = float64(cpuTime()-cpu) / float64(r.items)
	r.metrics["ns"] = quantile(times, 0.5)
}

// span times body, which does count items of work, as a whole.
func (r *run) span(count int, body func()) {
	cpu := cpuTime()
	start := time.Now()
	body()
	r.metrics["ns"] = float64(time.Since(start)) / float64(count)
	r.metrics["cpu_ns"] = float64(cpuTime()-cpu) / float64(count)
	r.items = count
}

// quantile sorts values and returns the smallest that at least the share q of them do not exceed.
func quantile(values []float64, q float64) float64 {
	sort.Float64s(values)
	at := int(q * float64(len(values)))
	if at >= len(values) {
		at = len(values) - 1
	}
	return values[at]
}

// makeKeys returns count distinct strings.
func makeKeys(count int) []string {
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	return keys
}

// random is xorshift64*, the generator that bench/support uses too.
type random uint64

func (x *random) next() uint64 {
	v := uint64(*x)
	v ^= v >> 12
	v ^= v << 25
	v ^= v >> 27
	*x = random(v)
	return v * 2685821657736338717
}

// shuffle puts values into a random order that is the same in every run.
func shuffle[T any](values []T) {
	x := random(88172645463325252)
	for i := len(values) - 1; i > 0; i-- {
		j := int(x.next() % uint64(i+1))
		values[i], values[j] = values[j], values[i]
	}
}
