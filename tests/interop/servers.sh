# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# For scripts: three beanstalkds and a Redis on leased ports of the loopback, in $folder, each ended by its process id.
# shellcheck shell=bash disable=SC2034,SC2154

ports=()
pids=()
redis_pid=
redis_port=

need() {
    local program
    for program in "$@"; do
        if ! command -v "$program" >/dev/null; then
            echo "SKIPPED: $program is not installed" >&2
            exit 77
        fi
    done
}

# Leases a port as tests/support/port.c does, until this script ends, and puts it into $leased. Servers get the lock's
# descriptor and do no harm with it.
lease_port() {
    local lock=
    mkdir -p /tmp/weir-test-ports
    chmod 1777 /tmp/weir-test-ports 2>/dev/null # of another user: as it is
    while :; do
        leased=$((20000 + RANDOM % 10000))
        if { exec {lock}<>"/tmp/weir-test-ports/$leased"; } 2>/dev/null && flock -n "$lock" &&
            ! (exec 3<>"/dev/tcp/127.0.0.1/$leased") 2>/dev/null; then
            return
        fi
        [ -z "$lock" ] || exec {lock}>&-
    done
}

# Waits until something listens on a port, while its process lives.
await_port() {
    local port=$1 pid=$2
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.02
    done
}

# Starts node $1 on its port, or on a new one.
start_node() {
    local i=$1
    mkdir -p "$folder/node$i"
    if [ -z "${ports[$i]:-}" ]; then
        lease_port
        ports[i]=$leased
    fi
    beanstalkd -l 127.0.0.1 -p "${ports[$i]}" -b "$folder/node$i" -f 0 >>"$folder/node$i.log" 2>&1 &
    pids[i]=$!
    await_port "${ports[$i]}" "${pids[$i]}" || fail_start "node$i"
}

start_redis() {
    if [ -z "$redis_port" ]; then
        lease_port
        redis_port=$leased
    fi
    redis-server --port "$redis_port" --bind 127.0.0.1 --save '' --appendonly yes --appendfsync always \
        --dir "$folder" >>"$folder/redis.log" 2>&1 &
    redis_pid=$!
    await_port "$redis_port" "$redis_pid" || fail_start redis
}

fail_start() {
    echo "$1 does not start:" >&2
    cat "$folder/$1.log" >&2
    exit 1
}

# Ends a process of ours, running or stopped.
end_process() {
    if [ -n "${1:-}" ]; then
        kill -CONT "$1" 2>/dev/null
        kill -KILL "$1" 2>/dev/null
        wait "$1" 2>/dev/null
    fi
}

start_servers() {
    local i
    for i in 0 1 2; do
        start_node "$i"
    done
    start_redis
    nodes=127.0.0.1:${ports[0]},127.0.0.1:${ports[1]},127.0.0.1:${ports[2]}
    redis=127.0.0.1:$redis_port
    broker="beanstalk://$nodes/?claims=redis://$redis"
}

end_servers() {
    local pid
    for pid in "${pids[@]:-}" "$redis_pid"; do
        end_process "$pid"
    done
}
