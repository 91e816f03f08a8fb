// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// Command peers takes samples of the Go queues that weir is compared with: client-go's
// util/workqueue and controller-runtime's priority queue. Its argument is one of the names in
// targets.json; it prints the sample as one line of JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// sample measures one subject and returns the nanoseconds for each item.
type sample func() float64

func all() map[string]sample {
	return map[string]sample{
		"one_to_one/client-go-string":       func() float64 { return handOver(1, makeKeys) },
		"one_to_one/client-go-pointer":      func() float64 { return handOver(1, makeObjects) },
		"four_to_four/client-go-string":     func() float64 { return handOver(4, makeKeys) },
		"four_to_four/client-go-pointer":    func() float64 { return handOver(4, makeObjects) },
		"storm_64/client-go-string":         func() float64 { return storm(64, makeKeys) },
		"storm_64/client-go-pointer":        func() float64 { return storm(64, makeObjects) },
		"storm_65536/client-go-string":      func() float64 { return storm(65536, makeKeys) },
		"storm_65536/client-go-pointer":     func() float64 { return storm(65536, makeObjects) },
		"cycle/client-go-string":            func() float64 { return hotCycle(makeKeys) },
		"cycle/client-go-pointer":           func() float64 { return hotCycle(makeObjects) },
		"cycle_with_len/client-go-string":   func() float64 { return cycleWithLen(makeKeys) },
		"cycle_with_len/client-go-pointer":  func() float64 { return cycleWithLen(makeObjects) },
		"priority_cycle/controller-runtime": priorityCycle,
		"rate_limited_cycle/client-go":      rateLimitedCycle,
		"pending_1e6/client-go-string":      func() float64 { return pending(1_000_000, makeKeys) },
		"pending_1e6/client-go-pointer":     func() float64 { return pending(1_000_000, makeObjects) },
		"add_after_1e5/client-go":           func() float64 { return addAfter(100_000) },
		"add_after_1e6/client-go":           func() float64 { return addAfter(1_000_000) },
		"add_after_5e6/client-go":           func() float64 { return addAfter(5_000_000) },
		"parallelize_1000_by_1/client-go":   func() float64 { return parallelize(1000, 1) },
		"parallelize_1000_by_10/client-go":  func() float64 { return parallelize(1000, 10) },
		"parallelize_1000_by_100/client-go": func() float64 { return parallelize(1000, 100) },
		"parallelize_999_by_13/client-go":   func() float64 { return parallelize(999, 13) },
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "peers: "+format+"\n", args...)
	os.Exit(1)
}

func check(got, want int, what string) {
	if got != want {
		fail("%s: %d, expected %d", what, got, want)
	}
}

func main() {
	if len(os.Args) != 2 {
		fail("usage: peers WORKLOAD/SUBJECT")
	}
	take := all()[os.Args[1]]
	if take == nil {
		fail("no measurement %q", os.Args[1])
	}
	line := map[string]any{"name": os.Args[1], "metrics": map[string]float64{"ns": take()}}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		fail("%v", err)
	}
}
