#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Jobs on three beanstalkds and a Redis of which one at a time fails, and workers that are killed; ends with the ledger.

Usage: tests/cluster/chaos.py WEIR SECONDS [JOBS [SEED]]     JOBS: 67 a second by default

Every second or so one fault, over when the next begins: a node is killed, stopped, cut off (its proxy passes no byte), reset
(its proxy breaks all connections), wiped (killed, its folder emptied); Redis is killed, stopped, flushed or left
without memory; a worker is killed. Jobs are put all the while, some for later. At the end a last worker empties the tube, and each job that was accepted
must have run: lost 0; nothing else may have: unexpected 0; and none twice: doubled 0, but for runs of a worker that was killed
before it could tell Redis that the job is done, and jobs whose claim Redis lost when it was flushed. These are counted as explained.
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from port import lease_port  # noqa: E402

NODES = 3
CHUNK = 50
TTR = 3
LEASE = 5
HANDLER = 'printf "%s %s\\n" "$(date +%s.%N)" "$(cat)"'
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
            self.process = subprocess.Popen([chaos.weir, "work", "-j", "3", *options, "chaos", "--", "sh", "-c", HANDLER],
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
        self.environment = {**os.environ, "WEIR_BROKER": f"beanstalk://{nodes}/?time_limit=1s&late=0&lease={LEASE}s"
                                                         f"&claims=redis://127.0.0.1:{self.redis.port}"}

    def put(self, count, seconds):
        """Puts jobs in the time given. A call that fails may have put some of its jobs: they may run."""
        began = time.time()
        number = 0
        while len(self.accepted) < count:
            names = [f"job-{number + i}" for i in range(CHUNK)]
            delay = ["--delay", "1.3s"] if number // CHUNK % 3 == 0 else []
            number += CHUNK
            done = subprocess.run([self.weir, "put", "--ttr", f"{TTR}s", *delay, "-l", "-q", "chaos"], input="\n".join(names),
                                  text=True, stdout=subprocess.DEVNULL, stderr=self.log, env=self.environment)
            (self.accepted if done.returncode == 0 else self.unknown).update(names)
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
        # Clients come back after a pause that grows to 5 s, and workers ask again after one of the same kind.
        self.redis_away.append((began, time.time() + 10))

    def fail(self, until):
        """One fault after the other. Redis is flushed in the last quarter only, so that until then no double is explained by
        it. A wiped node is the last: copies on it are gone, and no other may lose its own."""
        kinds = [kind for kind in NODE_FAULTS if kind != "wipe"] * 2 + REDIS_FAULTS + ["worker"] * 3
        flush_from = until - (until - time.time()) / 4
        while time.time() < until:
            kind = random.choice(kinds)
            if kind == "redis flush" and time.time() < flush_from:
                continue
            seconds = random.uniform(0.3, 2.5)
            self.faults[kind] += 1
            if kind == "worker":
                running = [worker for worker in self.workers if worker.killed is None]
                random.choice(running).kill()
                time.sleep(seconds / 2)
                Worker(self)
            elif kind in REDIS_FAULTS:
                self.redis_fault(kind, seconds)
            else:
                self.node_fault(kind, seconds)
            time.sleep(random.uniform(0.2, 1.0))
        self.faults["wipe"] += 1
        self.node_fault("wipe", 0.5)

    def run(self, seconds, jobs):
        for _ in range(3):
            Worker(self)
        producer = threading.Thread(target=self.put, args=(jobs, seconds * 0.9))
        producer.start()
        self.fail(time.time() + seconds)
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
        print("faults:", ", ".join(f"{kind} {count}" for kind, count in sorted(self.faults.items())))
        print(f"{len(self.accepted)} jobs accepted, {len(self.unknown & runs.keys())} of {len(self.unknown)} ran of puts that failed")
        print(f"lost {len(lost)}, unexpected {len(unexpected)}, doubled {len(doubled)}; explained doubles: "
              + (", ".join(f"{reason} {count}" for reason, count in sorted(explained.items())) or "none"))
        for body in [*sorted(lost)[:5], *sorted(unexpected)[:5], *sorted(doubled)[:5]]:
            print(f"  {body}:", [(f"{at:.3f}", worker.path[-9:], worker.killed) for at, worker in sorted(runs[body], key=str)])
        return not lost and not unexpected and not doubled

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
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.SystemRandom().randrange(10**9)
    random.seed(seed)
    print(f"chaos: {seconds:.0f} s, {jobs} jobs, seed {seed}", flush=True)
    folder = tempfile.mkdtemp()
    chaos = Chaos(weir, folder)
    try:
        chaos.run(seconds, jobs)
        is_good = chaos.ledger()
    finally:
        chaos.end()
    if is_good:
        shutil.rmtree(folder)
    else:
        print(f"the folder is kept: {folder}")
    sys.exit(0 if is_good else 1)


main()
