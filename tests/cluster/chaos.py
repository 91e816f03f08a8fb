#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Jobs on three beanstalkds and a Redis of which one at a time fails, and workers that are killed; ends with the ledger.

Usage: tests/cluster/chaos.py WEIR SECONDS [JOBS [SEED [FAULT]]]     JOBS: 67 a second by default; FAULT: of one kind only

Every second or so one fault, over when the next begins: a node is killed, stopped, cut off (its proxy passes no byte), reset
(its proxy breaks all connections), wiped (killed, its folder emptied); Redis is killed, stopped, flushed or left
without memory; a worker is killed. Jobs are put all the while, some for later. At the end a last worker empties the tube, and each job that was accepted
must have run: lost 0; nothing else may have: unexpected 0; and none twice: doubled 0, but for runs of a worker that was killed
before it could tell Redis that the job is done, and jobs whose claim Redis lost when it was flushed. These are counted as explained.

How late jobs began is told for each fault. Nothing may stand still: stalls 0, which are spans longer than half the time limit
in which no run began though Redis was there and more jobs were due than the fault concerned: what a worker that was killed
had claimed, or what all workers had claimed on a node that failed, of which they find other copies within two seconds.
Exit status 77: beanstalkd or Redis is not installed.
"""
import collections
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import lateness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from port import lease_port  # noqa: E402

NODES = 3
CHUNK = 50
TTR = 3
LEASE = 5
TIME_LIMIT = 1
SLOTS = 3
WORKERS = 3
# How long a fault keeps jobs after it is over: claims whose answers were lost, copies that were given back.
AFTER = 2
# While Redis answers that it has no memory copies go back for up to eight seconds.
AFTER_FULL = 8
# Jobs that a worker may have claimed: in hand, and reserved for its slots.
CLAIMED = 2 * SLOTS
HANDLER = 'read -r body; printf "%s %s\\n" "$(date +%s.%N)" "$body"'
NODE_FAULTS = ["kill", "stop", "cut", "reset", "wipe"]
REDIS_FAULTS = ["redis kill", "redis stop", "redis flush", "redis full"]


class Proxy(threading.Thread):
    """Passes bytes between clients and a server, unless it is told not to."""

    def __init__(self, to_port):
        super().__init__(daemon=True)
        self.to_port = to_port
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listening.getsockname()[1]
        self.peers = {}
        self.is_cut = False
        self.must_reset = False

    def drop(self, one):
        for end in (one, self.peers[one]):
            del self.peers[end]
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()

    def accept(self):
        client, _ = self.listening.accept()
        try:
            node = socket.create_connection(("127.0.0.1", self.to_port))
        except OSError:
            client.close()
            return
        self.peers[client], self.peers[node] = node, client

    def run(self):
        while True:
            if self.must_reset:
                self.must_reset = False
                while self.peers:
                    self.drop(next(iter(self.peers)))
            for one in select.select([self.listening, *self.peers], [], [], 0.05)[0]:
                if one is self.listening:
                    self.accept()
                elif one in self.peers:
                    try:
                        data = one.recv(65536)
                        if not data:
                            self.drop(one)
                        elif not self.is_cut:
                            self.peers[one].sendall(data)
                    except OSError:
                        self.drop(one)


class Server:
    """A program on a port of its own."""

    def __init__(self, folder, name, command):
        self.port = lease_port()
        self.folder = os.path.join(folder, name)
        self.command = command
        self.process = None
        os.mkdir(self.folder)

    def start(self):
        arguments = self.command(self.port, self.folder)
        self.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    sys.exit(f"{arguments[0]} ended with status {self.process.returncode}")
                time.sleep(0.01)

    def kill(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


class Worker:
    """A `weir work` with an output of its own."""

    def __init__(self, chaos, *options):
        self.path = os.path.join(chaos.folder, f"worker.{len(chaos.workers)}")
        self.killed = None
        chaos.workers.append(self)
        with open(self.path, "w") as output:
            self.process = subprocess.Popen([chaos.weir, "work", "-j", str(SLOTS), *options, "chaos", "--", "sh", "-c", HANDLER],
                                            stdout=output, stderr=chaos.log, env=chaos.environment)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.killed = time.time()


class Chaos:
    def __init__(self, weir, folder):
        self.weir = weir
        self.folder = folder
        self.log = open(os.path.join(folder, "log"), "w")
        self.workers = []
        self.flushed = []
        self.redis_away = []  # (first, last) time
        self.redis_back = []
        self.spans = []  # (first, last, fault)
        self.put_times = []
        self.due = {}
        self.accepted = set()
        self.unknown = set()
        self.faults = collections.Counter()
        self.is_over = False
        self.nodes = [Server(folder, f"node{i}", lambda port, place:
                             ["beanstalkd", "-l", "127.0.0.1", "-p", str(port), "-b", place, "-f", "0"]) for i in range(NODES)]
        self.redis = Server(folder, "redis", lambda port, place:
                            ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes",
                             "--appendfsync", "always", "--dir", place])
        for server in [*self.nodes, self.redis]:
            server.start()
        self.proxies = [Proxy(node.port) for node in self.nodes]
        for proxy in self.proxies:
            proxy.start()
        nodes = ",".join(f"127.0.0.1:{proxy.port}" for proxy in self.proxies)
        self.environment = {**os.environ, "WEIR_BROKER": f"beanstalk://{nodes}/?time_limit={TIME_LIMIT}s&late=0&lease={LEASE}s"
                                                         f"&claims=redis://127.0.0.1:{self.redis.port}"}

    def put(self, count, seconds):
        """Puts jobs in the time given. A call that fails may have put some of its jobs: they may run."""
        began = time.time()
        number = 0
        while len(self.accepted) < count:
            names = [f"job-{number + i}" for i in range(CHUNK)]
            delay = 1.3 if number // CHUNK % 3 == 0 else 0
            number += CHUNK
            at = time.time()
            done = subprocess.run([self.weir, "put", "--ttr", f"{TTR}s", "--delay", f"{delay}s", "-l", "-q", "chaos"], input="\n".join(names),
                                  text=True, stdout=subprocess.DEVNULL, stderr=self.log, env=self.environment)
            (self.accepted if done.returncode == 0 else self.unknown).update(names)
            self.put_times.append(time.time() - at)
            if done.returncode == 0:
                self.due.update((name, max(at + delay, time.time())) for name in names)
            time.sleep(max(0, began + seconds * len(self.accepted) / count - time.time()))

    def node_fault(self, kind, seconds):
        i = random.randrange(NODES)
        node, proxy = self.nodes[i], self.proxies[i]
        if kind in ("kill", "wipe"):
            node.kill()
        elif kind == "stop":
            node.process.send_signal(signal.SIGSTOP)
        elif kind == "cut":
            proxy.is_cut = True
        else:
            proxy.must_reset = True
        time.sleep(seconds)
        if kind == "wipe":
            shutil.rmtree(node.folder)
            os.mkdir(node.folder)
        if kind in ("kill", "wipe"):
            node.start()
        node.process.send_signal(signal.SIGCONT)
        if kind == "cut":
            proxy.is_cut = False
            proxy.must_reset = True  # bytes are missing

    def redis_say(self, command):
        with socket.create_connection(("127.0.0.1", self.redis.port)) as one:
            one.sendall(command + b"\r\n")
            one.recv(64)

    def redis_fault(self, kind, seconds):
        began = time.time()
        if kind == "redis kill":
            self.redis.kill()
            time.sleep(seconds)
            self.redis.start()
        elif kind == "redis stop":
            self.redis.process.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            self.redis.process.send_signal(signal.SIGCONT)
        elif kind == "redis full":
            self.redis_say(b"CONFIG SET maxmemory 1")
            time.sleep(seconds)
            self.redis_say(b"CONFIG SET maxmemory 0")
        else:
            self.flushed.append(time.time())
            self.redis_say(b"FLUSHALL")
        self.redis_back.append(time.time())
        self.redis_away.append((began, time.time() + (AFTER_FULL if kind == "redis full" else AFTER)))

    def fail(self, until, only):
        """One fault after the other. Redis is flushed in the last quarter only, so that until then no double is explained by
        it. A wiped node is the last: copies on it are gone, and no other may lose its own."""
        kinds = [kind for kind in NODE_FAULTS if kind != "wipe"] * 2 + REDIS_FAULTS + ["worker"] * 3
        kinds = [only] if only is not None else kinds
        flush_from = until - (until - time.time()) / 4
        while time.time() < until:
            kind = random.choice(kinds)
            if kind == "redis flush" and time.time() < flush_from:
                continue
            seconds = random.uniform(0.3, 2.5)
            self.faults[kind] += 1
            began = time.time()
            if kind == "worker":
                running = [worker for worker in self.workers if worker.killed is None]
                random.choice(running).kill()
                time.sleep(seconds / 2)
                Worker(self)
            elif kind in REDIS_FAULTS:
                self.redis_fault(kind, seconds)
            else:
                self.node_fault(kind, seconds)
            # Connections are made again, and jobs that waited begin, after the fault is over.
            self.spans.append((began, time.time() + 0.5, kind))
            time.sleep(random.uniform(0.2, 1.0))
        self.faults["wipe"] += 1
        self.node_fault("wipe", 0.5)

    def run(self, seconds, jobs, only):
        for _ in range(WORKERS):
            Worker(self)
        producer = threading.Thread(target=self.put, args=(jobs, seconds * 0.9))
        producer.start()
        self.fail(time.time() + seconds, only)
        producer.join()
        for worker in self.workers:
            if worker.killed is None:
                worker.process.send_signal(signal.SIGTERM)
                worker.process.wait()
        last = Worker(self, "-e")
        last.process.wait()

    def explain(self, runs):
        """Runs of one job as (time, worker): why may it have run so often? None: it may not."""
        def was_unsettled(at, worker):
            end = worker.killed
            return end is not None and (at > end - 2 or any(at < last and first < end for first, last in self.redis_away))

        first, last = runs[0][0], runs[-1][0]
        if sum(was_unsettled(at, worker) for at, worker in runs) >= len(runs) - 1:
            return "a worker killed"
        return "Redis flushed" if any(first - LEASE - TTR < at < last for at in self.flushed) else None

    def stalls(self, first_runs):
        """Spans in which no run began though some could have."""
        found = []
        times = sorted(first_runs.values())
        for last, following in zip(times, times[1:]):
            if following - last <= TIME_LIMIT / 2:
                continue
            waiting = [at for body, at in self.due.items()
                       if at < following - TIME_LIMIT / 2 and first_runs.get(body, following) >= following]
            began = max(last, min(waiting, default=following))
            is_excused = any(first < following and began < end for first, end in self.redis_away)
            concerned = sum(1 for worker in self.workers
                            if worker.killed is not None and began - TTR - LEASE < worker.killed < following)
            if any(kind in NODE_FAULTS and first < following and began < end + AFTER for first, end, kind in self.spans):
                concerned += WORKERS
            if len(waiting) > concerned * CLAIMED and not is_excused:
                found.append((began, following, len(waiting)))
        return found

    def ledger(self):
        runs = collections.defaultdict(list)
        for worker in self.workers:
            with open(worker.path) as output:
                for line in output:
                    at, _, body = line.strip().partition(" ")
                    runs[body].append((float(at), worker))
        doubles = {body: sorted(all_of, key=lambda run: run[0]) for body, all_of in runs.items() if len(all_of) > 1}
        reasons = {body: self.explain(all_of) for body, all_of in doubles.items()}
        doubled = [body for body, reason in reasons.items() if reason is None]
        explained = collections.Counter(reason for reason in reasons.values() if reason is not None)
        lost = self.accepted - runs.keys()
        unexpected = runs.keys() - self.accepted - self.unknown
        first_runs = {body: min(at for at, _ in all_of) for body, all_of in runs.items()}
        stalls = self.stalls(first_runs)
        lateness.print_table(lateness.by_fault(self.due, first_runs, self.spans))
        print(f"puts of {CHUNK} jobs, in ms: p50 {lateness.percentile(self.put_times, 0.5) * 1000:.0f}, "
              f"most {max(self.put_times) * 1000:.0f}")
        nexts = [min((at for at in first_runs.values() if at >= back), default=back) - back for back in self.redis_back]
        if nexts:
            print(f"next run after Redis is back, in ms: p50 {lateness.percentile(nexts, 0.5) * 1000:.0f}, "
                  f"most {max(nexts) * 1000:.0f}")
        print("faults:", ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items())))
        print(f"{len(self.accepted)} jobs accepted, {len(self.unknown & runs.keys())} of {len(self.unknown)} ran of puts that failed")
        print(f"lost {len(lost)}, unexpected {len(unexpected)}, doubled {len(doubled)}; explained doubles: "
              + (", ".join(f"{reason} {count}" for reason, count in sorted(explained.items())) or "none"))
        for body in [*sorted(lost)[:5], *sorted(unexpected)[:5], *sorted(doubled)[:5]]:
            print(f"  {body}:", [(f"{at:.3f}", worker.path[-9:], worker.killed) for at, worker in sorted(runs[body], key=str)])
        print(f"stalls {len(stalls)}")
        for began, following, waiting in stalls[:5]:
            names = [name for first, last, name in self.spans if first < following and began < last]
            print(f"  {began:.3f}: nothing began for {following - began:.3f} s, {waiting} jobs waited; faults: {names}")
        return not lost and not unexpected and not doubled and not stalls

    def end(self):
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait()
        for server in [*self.nodes, self.redis]:
            if server.process is not None:
                server.kill()


def main():
    for program in ("beanstalkd", "redis-server"):
        if shutil.which(program) is None:
            print(f"SKIPPED: {program} is not installed", file=sys.stderr)
            sys.exit(77)
    weir, seconds = os.path.realpath(sys.argv[1]), float(sys.argv[2])
    jobs = int(sys.argv[3]) if len(sys.argv) > 3 else round(seconds * 20000 / 300)
    only = sys.argv[5] if len(sys.argv) > 5 else None
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(10**9)
    random.seed(seed)
    print(f"chaos: {seconds:.0f} s, {jobs} jobs, seed {seed}", flush=True)
    folder = tempfile.mkdtemp()
    chaos = Chaos(weir, folder)
    try:
        chaos.run(seconds, jobs, only)
        is_good = chaos.ledger()
    finally:
        chaos.end()
    if is_good:
        shutil.rmtree(folder)
    else:
        print(f"the folder is kept: {folder}")
    sys.exit(0 if is_good else 1)


main()
