// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// Interop is a producer and a consumer with the conventions of go-queue's dq, made of the libraries
// that dq is made of: the client of beanstalkd, and go-zero's Redis.
//
//	interop produce NODES TUBE COUNT FIRST     jobs go-FIRST ... on all nodes, ids on standard output
//	interop consume NODES TUBE REDIS           bodies on standard output, until standard input ends
//	interop WORKLOAD/dq                        a sample of bench/targets.json
//
// NODES is host:port joined by commas. A job's body is its run time in Unix nanoseconds, a slash and
// the user's bytes; a consumer takes a job off its node and runs it where it is the first to set the
// MD5 of that body in Redis, which keeps it for an hour.
package main

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/beanstalkd/go-beanstalk"
	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"
)

const (
	priority       = 2
	timeToRun      = 5 * time.Second
	reserveTimeout = time.Second
	lockSeconds    = 3600
)

func fail(err error) {
	fmt.Fprintln(os.Stderr, "interop:", err)
	os.Exit(1)
}

func dial(node string) *beanstalk.Conn {
	conn, err := beanstalk.Dial("tcp", node)
	if err != nil {
		fail(err)
	}
	return conn
}

func produce(nodes []string, name string, count, first int) {
	tubes := make([]*beanstalk.Tube, len(nodes))
	for i, node := range nodes {
		tubes[i] = beanstalk.NewTube(dial(node), name)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for n := first; n < first+count; n++ {
		body := []byte(fmt.Sprintf("%d/go-%d", time.Now().UnixNano(), n))
		ids := make([]string, len(nodes))
		for i, tube := range tubes {
			id, err := tube.Put(body, priority, 0, timeToRun)
			if err != nil {
				fail(err)
			}
			ids[i] = fmt.Sprintf("%s/%s/%d", nodes[i], name, id)
		}
		fmt.Fprintln(out, strings.Join(ids, ","))
	}
}

// consumeNode does what a node of dq's consumer does: reserve, delete, and then run.
func consumeNode(node, name string, store *redis.Redis, stop <-chan struct{}, run func([]byte)) {
	conn := dial(node)
	set := beanstalk.NewTubeSet(conn, name)
	for {
		select {
		case <-stop:
			return
		default:
		}
		id, body, err := set.Reserve(reserveTimeout)
		var connErr beanstalk.ConnError
		if errors.As(err, &connErr) && (connErr.Err == beanstalk.ErrTimeout || connErr.Err == beanstalk.ErrDeadline) {
			continue
		}
		if err != nil {
			fail(err)
		}
		if err := conn.Delete(id); err != nil {
			fail(err)
		}
		stamp, text, _ := bytes.Cut(body, []byte("/"))
		if _, err := strconv.ParseInt(string(stamp), 10, 64); err != nil {
			fail(fmt.Errorf("body %q has no run time", body))
		}
		key := fmt.Sprintf("%x", md5.Sum(body))
		isFirst, err := store.SetnxEx(key, strconv.FormatInt(time.Now().UnixNano(), 10), lockSeconds)
		if err != nil {
			fail(err)
		}
		if isFirst {
			run(text)
		}
	}
}

func consume(nodes []string, name, address string) {
	store := redis.New(address)
	stop := make(chan struct{})
	var lock sync.Mutex
	var ends sync.WaitGroup
	for _, node := range nodes {
		ends.Add(1)
		go func(node string) {
			defer ends.Done()
			consumeNode(node, name, store, stop, func(body []byte) {
				lock.Lock()
				defer lock.Unlock()
				fmt.Printf("%s\n", body)
			})
		}(node)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	close(stop)
	ends.Wait()
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		fail(err)
	}
	return n
}

func main() {
	logx.Disable()
	args := os.Args[1:]
	switch {
	case len(args) == 5 && args[0] == "produce":
		produce(strings.Split(args[1], ","), args[2], number(args[3]), number(args[4]))
	case len(args) == 4 && args[0] == "consume":
		consume(strings.Split(args[1], ","), args[2], args[3])
	case len(args) == 1 && strings.HasSuffix(args[0], "/dq"):
		benchSample(args[0])
	default:
		fmt.Fprintln(os.Stderr, "usage: interop produce NODES TUBE COUNT FIRST | consume NODES TUBE REDIS | WORKLOAD/dq")
		os.Exit(64)
	}
}
