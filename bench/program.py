#!/usr/bin/env python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""What the program `weir` does on this machine, beside xargs: one line a row, each the median of its rounds.

    program.py WEIR [--rounds N] [--jobs N] [--filter TEXT]

Stores lie in a new folder below $TMPDIR. Rows that compare are interleaved.
"""
import argparse
import contextlib
import gzip
import http.client
import json
import os
import resource
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

TUBES = 1000


class Bench:
    def __init__(self, weir, rounds, jobs):
        self.weir = os.path.abspath(weir)
        self.rounds = rounds
        self.jobs = jobs
        self.folder = tempfile.mkdtemp(prefix="weir-bench-")

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, store, *words, **more):
        return subprocess.run([self.weir, *words], check=True, stderr=subprocess.DEVNULL,
                              env={**os.environ, "WEIR_BROKER": f"sqlite:{self.path(store)}"}, **more)

    def fill(self, store, tube, count, *options):
        lines = "".join(f"{i}\n" for i in range(count)).encode()
        self.run(store, "put", "-ql", *options, tube, input=lines)

    def time(self, action):
        start = time.monotonic()
        action()
        return time.monotonic() - start

    def rates(self, count, *actions):
        """The median rate of each, interleaved."""
        times = [[] for _ in actions]
        for _ in range(self.rounds):
            for taken, (prepare, action) in zip(times, actions):
                prepare()
                taken.append(self.time(action))
        return [count / statistics.median(taken) for taken in times]


def row(name, text, target):
    print(f"{name:52} {text:44} {target}", flush=True)


def put_lines(bench):
    lines = bench.path("lines")
    with open(lines, "w", encoding="ascii") as file:
        file.writelines(f"job number {i}\n" for i in range(bench.jobs))
    with open(lines, "rb") as file:
        taken = bench.time(lambda: bench.run("lines.db", "put", "-ql", "t", stdin=file))
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    row("put -l", f"{bench.jobs / taken:,.0f} jobs/s, at most {most / 1024:.0f} MB", "150,000/s, bounded")


def against_xargs(bench):
    count = 2000
    numbers = "".join(f"{i}\n" for i in range(count)).encode()
    ours, xargs = bench.rates(
        count,
        (lambda: bench.fill("work.db", "t", count),
         lambda: bench.run("work.db", "work", "-e", "-j", "4", "t", "--", "true")),
        (lambda: None, lambda: subprocess.run(["xargs", "-P4", "-n1", "true"], input=numbers, check=True)))
    row("work -j4 -- true, xargs -P4", f"{ours:,.0f} and {xargs:,.0f}/s: {ours / xargs:.2f} x", "0.9 x")


def persistent(bench, name, program, resident, workers, count):
    def work(*words):
        bench.run("stay.db", "work", "-e", "-j", str(workers), *words)

    each, = bench.rates(count, (lambda: bench.fill("stay.db", "t", count), lambda: work("t", "--", *program)))
    many = 20000
    stay, = bench.rates(many, (lambda: bench.fill("stay.db", "t", many),
                               lambda: work("--persistent", "lines", "t", "--", *resident)))
    row(f"--persistent, {name}, -j{workers}", f"{stay:,.0f} and {each:,.0f}/s: {stay / each:.1f} x", "10 x")


def persistent_rows(bench):
    shell = ["sh", "-c", "while read -r line; do echo 0; done"]
    python = [sys.executable, "-c", "import sys\nfor line in sys.stdin: print(0, flush=True)"]
    for workers in (4, 64):
        persistent(bench, "true", ["true"], shell, workers, 2000)
    persistent(bench, "python", [sys.executable, "-c", "pass"], python, 4, 200)


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def p99(times):
    return sorted(times)[len(times) * 99 // 100] * 1000


ENDED = 100  # of each tube; a store keeps 100,000
STORES = (("ready.db", "ready", []), ("due.db", "all due", ["--delay", "1s"]))


def fill_tubes(bench, store, *options):
    """The jobs in TUBES tubes, and ended ones beside them."""
    if os.path.exists(bench.path(store)):
        return
    per_tube = bench.jobs // TUBES
    for tube in range(TUBES):
        bench.fill(store, f"tube{tube}", per_tube + ENDED, *options)
        first = tube * (per_tube + ENDED) + 1
        bench.run(store, "rm", "-y", *map(str, range(first, first + ENDED)), stdout=subprocess.DEVNULL)


def stats(bench):
    for store, what, options in STORES:
        fill_tubes(bench, store, *options)
        times = [bench.time(lambda: bench.run(store, "stats", stdout=subprocess.DEVNULL)) for _ in range(30)]
        row(f"stats, {bench.jobs:,} jobs {what}, {TUBES:,} tubes",
            f"p50 {statistics.median(times) * 1000:.0f} ms, most {max(times) * 1000:.0f} ms", "200 ms")


@contextlib.contextmanager
def serving(bench, store):
    """What asks `weir serve` of the store for a path, once it has counted the jobs."""
    where = bench.path(f"{store}.sock")
    server = subprocess.Popen([bench.weir, "serve", "-b", f"sqlite:{bench.path(store)}", "-l", f"unix:{where}"],
                              stderr=subprocess.DEVNULL)
    while not os.path.exists(where):
        time.sleep(0.01)
    client = Unix(where)

    def ask(path):
        client.request("GET", path)
        answer = client.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
        return body

    try:
        ask("/api/v1/tubes")
        yield ask
    finally:
        server.terminate()
        server.wait()


def ask_often(bench, ask, path, pause):
    times = []
    for _ in range(300):
        times.append(bench.time(lambda: ask(path)))
        time.sleep(pause)
    return times


def served(bench):
    for store, what, options in STORES:
        fill_tubes(bench, store, *options)
        with serving(bench, store) as ask:
            # With the pause the server counts anew meanwhile.
            for path, pause, target in (("/api/v1/stats", 0.03, "5 ms"), ("/api/v1/tubes", 0.03, "5 ms"),
                                        ("/metrics", 0, "10 ms")):
                times = ask_often(bench, ask, path, pause)
                row(f"{path}, {bench.jobs:,} jobs {what}, {TUBES:,} tubes",
                    f"p50 {statistics.median(times) * 1000:.1f} ms, p99 {p99(times):.1f} ms", f"p99 {target}")
            page = [ask(path) for path in ("/", "/page.js", "/page.css")]
    row("page, compressed", f"{sum(len(gzip.compress(part, 9)) for part in page) / 1000:.1f} kB", "60 kB")
    times = [bench.time(lambda: bench.run("ready.db", "ls", "tube7", stdout=subprocess.DEVNULL)) for _ in range(200)]
    row("ls, first page", f"p50 {statistics.median(times) * 1000:.1f} ms, p99 {p99(times):.1f} ms", "p99 50 ms")


def sizes(bench):
    return [bench.jobs // part for part in (100, 10, 1)]


def outage(bench):
    """One tube whose jobs are all due, and no worker has been."""
    for jobs in sizes(bench):
        store = f"outage{jobs}.db"
        bench.fill(store, "t", jobs, "--delay", "1s")
        time.sleep(1)
        figures = []
        for words in (["stats"], ["ls", "--next", "t"]):
            times = [bench.time(lambda: bench.run(store, *words, stdout=subprocess.DEVNULL)) for _ in range(20)]
            figures.append(f"{words[0]} {statistics.median(times) * 1000:.1f}")
        with serving(bench, store) as ask:
            for path in ("/api/v1/tubes", "/api/v1/tubes/t/peek", "/metrics"):
                times = ask_often(bench, ask, path, 0)
                figures.append(f"{path} {statistics.median(times) * 1000:.1f}")
        row(f"{jobs:,} jobs due, no worker", ", ".join(figures) + " ms", "")


RARE = [f"{number}" for number in range(1, 101)]


def listed(bench):
    """The rare ones of many jobs, by the API; and a store that has given many ids."""
    for jobs in sizes(bench):
        store = f"listed{jobs}.db"
        bench.fill(store, "t", jobs)
        bench.run(store, "bury", "-y", *RARE, stdout=subprocess.DEVNULL)
        with serving(bench, store) as ask:
            def search():
                path = first = "/api/v1/tubes/t/jobs?text=nowhere"
                while path:
                    behind = json.loads(ask(path)).get("next")
                    path = behind and f"{first}&after={behind}"

            page = statistics.median(ask_often(bench, ask, "/api/v1/tubes/t/jobs?state=buried", 0))
            whole = statistics.median(bench.time(search) for _ in range(bench.rounds))
            row(f"/api/v1/tubes/t/jobs, {jobs:,} jobs",
                f"the {len(RARE)} buried {page * 1000:.1f} ms, a text that none has {whole * 1000:,.0f} ms", "")
    figures = []
    for given in (0, 10**9):
        store = f"ids{given}.db"
        bench.fill(store, "t", 1)
        with contextlib.closing(sqlite3.connect(bench.path(store))) as connection:
            connection.execute("UPDATE meta SET floor = max(coalesce(floor, 0), ?)", (given,))
            connection.commit()
        bench.fill(store, "t", 1000)
        for words in (["ls", "t"], ["ls", "t", "--state", "buried"], ["ls", "t", "--text", "x"], ["stats"]):
            times = [bench.time(lambda: bench.run(store, *words, stdout=subprocess.DEVNULL)) for _ in range(30)]
            figures.append(f"{words[0]} {statistics.median(times) * 1000:.1f}")
    row("1,000 jobs behind no ids, and behind 10^9", ", ".join(figures) + " ms", "the same")


def check(bench, store, beside):
    """Seconds and MB that `weir doctor` took, and how often what goes on beside it was done meanwhile."""
    start = time.monotonic()
    process = subprocess.Popen([bench.weir, "doctor", "-b", f"sqlite:{bench.path(store)}"], stdout=subprocess.DEVNULL)
    most, count = 0, 0
    while process.poll() is None:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            most = max([most] + [int(line.split()[1]) for line in file if line.startswith("VmHWM")])
        beside()
        count += 1
    if process.returncode not in (0, 1):  # 1: it tells of the log's size
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return time.monotonic() - start, most / 1024, count


def doctor(bench):
    """What `weir doctor` takes alone, and beside puts, one at a time; the log before, at most, and after."""
    for jobs in sizes(bench):
        store = f"doctor{jobs}.db"
        bench.fill(store, "t", jobs)
        alone = [check(bench, store, lambda: time.sleep(0.001)) for _ in range(bench.rounds)]
        putter = subprocess.Popen([bench.weir, "put", "-lb", f"sqlite:{bench.path(store)}", "t"], bufsize=0,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def put(count=1):
            for _ in range(count):
                putter.stdin.write(b"one more\n")
                putter.stdout.readline()

        def log():
            return os.path.getsize(bench.path(f"{store}-wal")) / 1e6

        put(5000)
        logs = [log()]
        beside = []
        for _ in range(bench.rounds):
            beside.append(check(bench, store, put))
            logs.append(log())
            put(5000)  # the log begins anew
        row(f"doctor, {jobs:,} jobs",
            f"{statistics.median(took for took, _, _ in alone) * 1000:,.0f} ms, "
            f"{max(mb for _, mb, _ in alone):.0f} MB; "
            f"beside {statistics.median(count for _, _, count in beside):,.0f} puts "
            f"{statistics.median(took for took, _, _ in beside) * 1000:,.0f} ms, "
            f"log {logs[0]:.0f}, {max(logs):.0f}, {log():.0f} MB",
            "memory flat")
        putter.stdin.close()
        putter.wait()


def idle(bench):
    conf = bench.path("weir.conf")
    with open(conf, "w", encoding="ascii") as file:
        file.write(f'broker = "sqlite:{bench.path("idle.db")}"\n')
        for i in range(100):
            file.write(f"consumer c{i} {{ program = true }}\nschedule s{i} {{ tube = c{i}\n every = 1h }}\n")
    process = subprocess.Popen([bench.weir, "run", conf], stderr=subprocess.DEVNULL)
    time.sleep(3)

    def ticks():
        with open(f"/proc/{process.pid}/stat", encoding="ascii") as file:
            return sum(int(field) for field in file.read().rsplit(")", 1)[1].split()[11:13])

    before = ticks()
    time.sleep(30)
    share = (ticks() - before) / os.sysconf("SC_CLK_TCK") / 30
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        resident = next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
    process.terminate()
    process.wait()
    row("idle run, 100 tubes, 100 schedules", f"{share * 100:.2f} % of a core, {resident / 1000:.1f} MB",
        "0.2 %, 20 MB")


def main():
    rows = {"put": put_lines, "xargs": against_xargs, "persistent": persistent_rows, "stats": stats, "served": served,
            "outage": outage, "listed": listed, "doctor": doctor, "idle": idle}
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weir")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1000000)
    parser.add_argument("--filter", default="", help=f"of {', '.join(rows)}")
    options = parser.parse_args()
    bench = Bench(options.weir, options.rounds, options.jobs)
    try:
        for name, action in rows.items():
            if options.filter in name:
                action(bench)
    finally:
        shutil.rmtree(bench.folder)


if __name__ == "__main__":
    main()
