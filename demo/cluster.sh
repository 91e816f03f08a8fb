#!/usr/bin/env bash
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# The main job of the cluster: three beanstalkds and a Redis on loopback, jobs from weir and from a Go producer with the
# conventions of go-queue's dq, worked off by weir and Go consumers, and by weir alone while a node, Redis and a worker are
# killed. Ends with the ledger, and with how late jobs began that were put one after another while things were killed.
#
#   demo/cluster.sh WEIR [JOBS]     WEIR: the program; JOBS: 5000 by default
#
# A consumer of dq's kind deletes a job before it runs it, and so loses jobs when Redis or it dies: it works while nothing
# is killed. Without Go all jobs are weir's. Everything is in a folder of its own, which is removed at the end.
set -u

weir=$(realpath "$1")
jobs=${2:-5000}
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
# shellcheck source=tests/interop/servers.sh
. "$here/tests/interop/servers.sh"
need beanstalkd redis-server

go=
go_pid=
steady_pid=
late_pid=
workers=()
# shellcheck disable=SC2317 # called by the trap
finish() {
    local pid
    for pid in "$go_pid" "$steady_pid" "$late_pid" "${workers[@]:-}"; do
        end_process "$pid"
    done
    if [ -f "$folder/hung" ]; then
        while read -r pid; do
            kill -KILL "$pid" 2>/dev/null
        done <"$folder/hung"
    fi
    end_servers
    rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM

if command -v go >/dev/null; then
    (cd "$here/tests/interop/go" && go build -o "$folder/interop" .) && go=$folder/interop
fi
[ -n "$go" ] || echo "no go command: all jobs are weir's"
start_servers
export WEIR_BROKER="$broker&time_limit=2s"
status=0
half=$((jobs / 2))

work() { # work FILE: until the tube is empty, in the background
    "$weir" work -e -j 8 work -- sh -c 'printf "%s\n" "$(cat)"' >>"$1" 2>>"$folder/weir.log" &
    workers+=($!)
}

put() { # put FIRST COUNT, every third job for a second later
    seq -f 'weir-%.0f' "$1" $(($1 + $2 - 1)) >>"$folder/expected"
    seq -f 'weir-%.0f' "$1" $(($1 + $2 * 2 / 3 - 1)) | "$weir" put --ttr 3s -l -q work &&
        seq -f 'weir-%.0f' $(($1 + $2 * 2 / 3)) $(($1 + $2 - 1)) | "$weir" put --ttr 3s --delay 1.2s -l -q work
}

go_put() { # go_put FIRST COUNT
    if [ -n "$go" ]; then
        seq -f 'go-%.0f' "$1" $(($1 + $2 - 1)) >>"$folder/expected"
        "$go" produce "$nodes" work "$2" "$1" >/dev/null
    else
        put $(($1 + jobs)) "$2"
    fi
}

now() {
    date +%s.%N
}

# shellcheck disable=SC2016 # expanded by the handler's shell
timed='printf "%s %s\n" "$(date +%s.%N)" "$(cat)"'

steady() { # puts a job twenty times a second, until $folder/over is there
    local i
    for ((i = 1; ; i++)); do
        [ -e "$folder/over" ] && return
        if "$weir" put -q late "late-$i" 2>>"$folder/weir.log"; then
            echo "late-$i" >>"$folder/expected.late" # a file of its own: seq writes the other in pieces that end within a line
            echo "$(now) late-$i" >>"$folder/due"
        fi
        sleep 0.05
    done
}

fault() { # fault FIRST NAME: one that is over now
    echo "$1 $(now) $2" >>"$folder/faults"
}

echo "== $half jobs, weir and Go share the tube, nothing is killed"
if [ -n "$go" ]; then
    mkfifo "$folder/hold"
    "$go" consume "$nodes" work "$redis" <"$folder/hold" >"$folder/done.go" &
    go_pid=$!
    exec 9>"$folder/hold"
fi
work "$folder/done.1"
put 1 $((half / 2)) || status=1
go_put 1 $((half / 2)) || status=1
wait "${workers[0]}"
if [ -n "$go" ]; then
    exec 9>&-
    wait "$go_pid" || status=1
    go_pid=
fi

echo "== $half jobs, a worker, a node and Redis are killed"
"$weir" work -j 4 late -- sh -c "$timed" >>"$folder/runs" 2>>"$folder/weir.log" &
late_pid=$!
steady &
steady_pid=$!
go_put 10001 $((half / 2)) || status=1
put 10001 $((half / 4)) || status=1
"$weir" work -j 4 work -- sh -c "echo \$\$ >>$folder/hung; exec sleep 100" >/dev/null 2>&1 &
hung=$!
until [ -s "$folder/hung" ]; do sleep 0.05; done
since=$(now)
end_process "$hung"
fault "$since" "worker killed"
echo "   killed a worker with $(wc -l <"$folder/hung") jobs in hand"
work "$folder/done.2"
work "$folder/done.3"
sleep 1
since=$(now)
end_process "${pids[0]}"
echo "   killed node ${ports[0]}"
put 20001 $((half / 4)) || status=1
sleep 1
start_node 0
fault "$since" "node killed"
echo "   node ${ports[0]} is back"
sleep 1
since=$(now)
end_process "$redis_pid"
echo "   killed Redis"
sleep 2
start_redis
fault "$since" "Redis killed"
echo "   Redis is back"
for pid in "${workers[@]}"; do
    wait "$pid"
done
work "$folder/done.4" # what came back after the others had ended
wait "${workers[-1]}" || status=1
touch "$folder/over"
wait "$steady_pid"
"$weir" work -e -j 4 late -- sh -c "$timed" >>"$folder/runs" 2>>"$folder/weir.log" || status=1
kill -TERM "$late_pid"
wait "$late_pid"
late_pid=
cut -d ' ' -f 2 "$folder/runs" >"$folder/done.late"

sort "$folder/expected" "$folder/expected.late" >"$folder/want"
cat "$folder"/done.* | sort >"$folder/got"
uniq "$folder/got" | comm -23 "$folder/want" - >"$folder/lost"
uniq "$folder/got" | comm -13 "$folder/want" - >"$folder/unexpected"
uniq -d "$folder/got" >"$folder/doubled"
count() {
    wc -l <"$folder/$1"
}
echo "== $(count want) jobs: lost $(count lost), unexpected $(count unexpected), doubled $(count doubled)"
for list in lost unexpected doubled; do
    [ ! -s "$folder/$list" ] || { status=1 && sed "s/^/   $list: /" "$folder/$list" | head -20; }
done
"$here/tests/cluster/lateness.py" "$folder/due" "$folder/runs" "$folder/faults"
"$weir" stats
exit $status
