// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/workqueue"
)

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

// parallel is client-go's BenchmarkParallelizeUntil for one of its four shapes.
func parallel(pieces, workers, chunk int) func(*run) {
	return func(r *run) {
		primes := make([]bool, pieces)
		r.chunks(r.full(20_000), func(count int) {
			for i := 0; i < count; i++ {
				workqueue.ParallelizeUntil(context.Background(), workers, pieces, func(p int) {
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
		r.check(found, 168, "primes below 1000")
	}
}

func parallelize() []measurement {
	var list []measurement
	for _, shape := range [][3]int{{1000, 10, 1}, {1000, 10, 10}, {1000, 10, 100}, {999, 10, 13}} {
		name := fmt.Sprintf("parallelize_%d_by_%d", shape[0], shape[2])
		list = append(list, measurement{name, "client-go", false,
			parallel(shape[0], shape[1], shape[2])})
	}
	return list
}
