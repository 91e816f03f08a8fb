// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// Command peers measures the Go queues that weir is compared with: client-go's
// util/workqueue and controller-runtime's priority queue. It speaks the protocol of
// bench/README.md: --list names what it can measure, --run takes one sample and prints it
// as one line of JSON.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
)

// measurement is one workload run by one subject.
type measurement struct {
	workload string
	subject  string
	// onlyFull keeps what takes long out of quick runs.
	onlyFull bool
	run      func(r *run)
}

// run is a sample being taken. Work is scaled down in quick runs.
type run struct {
	quick   bool
	items   int
	metrics map[string]float64
}

// line is what a sample is printed as.
type line struct {
	Workload string             `json:"workload"`
	Subject  string             `json:"subject"`
	Items    int                `json:"items"`
	Metrics  map[string]float64 `json:"metrics"`
}

func all() []measurement {
	var list []measurement
	list = append(list, cycles()...)
	list = append(list, pending()...)
	list = append(list, threads()...)
	list = append(list, storms()...)
	list = append(list, memory()...)
	list = append(list, delays()...)
	list = append(list, limiters()...)
	list = append(list, parallelize()...)
	return list
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "peers: "+format+"\n", args...)
	os.Exit(1)
}

func main() {
	list := flag.Bool("list", false, "print workload and subject of every measurement")
	one := flag.String("run", "", "take one sample of `WORKLOAD/SUBJECT`")
	quick := flag.Bool("quick", false, "less work, and no long measurements")
	flag.Parse()
	if *list {
		for _, m := range all() {
			if !*quick || !m.onlyFull {
				fmt.Println(m.workload, m.subject)
			}
		}
		return
	}
	workload, subject, _ := strings.Cut(*one, "/")
	for _, m := range all() {
		if m.workload != workload || m.subject != subject {
			continue
		}
		r := &run{quick: *quick, metrics: map[string]float64{}}
		m.run(r)
		if err := json.NewEncoder(os.Stdout).Encode(line{workload, subject, r.items, r.metrics}); err != nil {
			fail("%v", err)
		}
		return
	}
	fail("no measurement %q: --list shows what there is", *one)
}
