// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/workqueue"
)

// limiter measures When of hot keys; the key is forgotten after each fourth, which a bucket ignores.
func limiter(l workqueue.TypedRateLimiter[string]) func(*run) {
	return func(r *run) {
		keys := makeKeys(hotKeys)
		negative := 0
		r.chunks(r.full(10_000_000), func(count int) {
			at, forget := 0, 0
			for i := 0; i < count; i++ {
				if l.When(keys[at]) < 0 {
					negative++
				}
				if forget++; forget == 4 {
					l.Forget(keys[at])
					forget = 0
				}
				if at++; at == len(keys) {
					at = 0
				}
			}
		})
		r.check(negative, 0, "negative waits")
	}
}

func limiters() []measurement {
	return []measurement{
		{"limiter_exponential", "client-go", false, limiter(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](
				5*time.Millisecond, 1000*time.Second))},
		{"limiter_bucket", "client-go", false, limiter(
			&workqueue.TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(rate.Limit(10), 100)})},
		{"limiter_default", "client-go", false, limiter(
			workqueue.DefaultTypedControllerRateLimiter[string]())},
	}
}
