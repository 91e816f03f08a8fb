// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/beanstalkd/go-beanstalk"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

// The samples of dq's conventions that bench/run.py compares weir with. The servers are named by the environment;
// the counts are those of bench/jobs/jobs.h.
const (
	benchPuts  = 12800
	benchRuns  = 10000
	benchBody  = 200
	minWritten = 2
)

func setting(name string) string {
	value := os.Getenv("WEIR_BENCH_" + name)
	if value == "" {
		fail(fmt.Errorf("$WEIR_BENCH_%s is not set", name))
	}
	return value
}

func cpuNs() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func benchTubes() []*beanstalk.Tube {
	var tubes []*beanstalk.Tube
	for _, node := range strings.Split(setting("NODES"), ",") {
		tubes = append(tubes, beanstalk.NewTube(dial(node), "bench"))
	}
	return tubes
}

// putAll puts a job to all nodes at once, each with the connection that all goroutines share, as dq does.
func putAll(tubes []*beanstalk.Tube, user string) {
	body := []byte(fmt.Sprintf("%d/%s", time.Now().UnixNano(), user))
	errs := make([]error, len(tubes))
	var ends sync.WaitGroup
	for i, tube := range tubes {
		ends.Add(1)
		go func(i int, tube *beanstalk.Tube) {
			defer ends.Done()
			_, errs[i] = tube.Put(body, priority, 0, timeToRun)
		}(i, tube)
	}
	ends.Wait()
	written := 0
	for _, err := range errs {
		if err == nil {
			written++
		}
	}
	if written < minWritten {
		fail(fmt.Errorf("put: %v", errs))
	}
}

func putMany(tubes []*beanstalk.Tube, goroutines, count int) {
	user := strings.Repeat("x", benchBody)
	var ends sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		ends.Add(1)
		go func() {
			defer ends.Done()
			for n := 0; n < count/goroutines; n++ {
				putAll(tubes, user)
			}
		}()
	}
	ends.Wait()
}

func benchPut(goroutines int) map[string]float64 {
	tubes := benchTubes()
	putMany(tubes, 1, 50)
	start, cpu := time.Now(), cpuNs()
	putMany(tubes, goroutines, benchPuts)
	return map[string]float64{
		"ns":     float64(time.Since(start).Nanoseconds()) / benchPuts,
		"cpu_ns": float64(cpuNs()-cpu) / benchPuts,
	}
}

// benchConsume takes the time from the first reservation to the last run of unique jobs.
func benchConsume() map[string]float64 {
	putMany(benchTubes(), 64, benchRuns/64*64)
	store := redis.New(setting("REDIS"))
	stop := make(chan struct{})
	done := make(chan struct{})
	var lock sync.Mutex
	runs := 0
	start, cpu := time.Now(), cpuNs()
	for _, node := range strings.Split(setting("NODES"), ",") {
		go consumeNode(node, "bench", store, stop, func([]byte) {
			lock.Lock()
			defer lock.Unlock()
			if runs++; runs == benchRuns/64*64 {
				close(done)
			}
		})
	}
	<-done
	took := time.Since(start)
	return map[string]float64{
		"ns":     float64(took.Nanoseconds()) / float64(runs),
		"cpu_ns": float64(cpuNs()-cpu) / float64(runs),
	}
}

// benchSample takes the sample of a name in bench/targets.json and prints it.
func benchSample(name string) {
	samples := map[string]func() map[string]float64{
		"cluster_put_1_f0/dq":    func() map[string]float64 { return benchPut(1) },
		"cluster_put_1_f50/dq":   func() map[string]float64 { return benchPut(1) },
		"cluster_put_64_f0/dq":   func() map[string]float64 { return benchPut(64) },
		"cluster_put_64_f50/dq":  func() map[string]float64 { return benchPut(64) },
		"cluster_consume_f0/dq":  benchConsume,
		"cluster_consume_f50/dq": benchConsume,
	}
	take := samples[name]
	if take == nil {
		fail(fmt.Errorf("no sample %q", name))
	}
	line := map[string]any{"name": name, "metrics": take()}
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		fail(err)
	}
}
