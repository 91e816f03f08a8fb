# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""Three beanstalkds and a Redis for one sample, in a folder of their own on the disk, each ended by its process id."""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("beanstalkd", "redis-server")


def are_installed():
    return all(shutil.which(program) for program in PROGRAMS)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start(stack, command, port, more):
    """Starts a server and returns once it listens."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=os.environ | more)
    stack.callback(process.wait)
    stack.callback(process.kill)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process
        except ConnectionRefusedError:
            if process.poll() is not None:
                raise OSError(f"{command[0]} ended with status {process.returncode}") from None
            time.sleep(0.01)


@contextlib.contextmanager
def running(folder, flush_ms, more):
    """The environment of a sample. flush_ms: how often a node flushes its binlog; 0: after each write. more: what the
    environment of the servers has beside ours."""
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(dir=folder, prefix="servers-"))
        ports = []
        pids = []
        for number in range(3):
            binlog = os.path.join(place, f"node{number}")
            os.mkdir(binlog)
            port = free_port()
            command = ["beanstalkd", "-l", "127.0.0.1", "-p", str(port), "-b", binlog, "-f", str(flush_ms)]
            pids.append(start(stack, command, port, more).pid)
            ports.append(port)
        redis = free_port()
        start(stack, ["redis-server", "--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--dir", place], redis,
              more)
        yield {
            "WEIR_BENCH_NODES": ",".join(f"127.0.0.1:{port}" for port in ports),
            "WEIR_BENCH_REDIS": f"127.0.0.1:{redis}",
            "WEIR_BENCH_NODE_PID": str(pids[0]),
            "WEIR_BENCH_FOLDER": place,
        }
