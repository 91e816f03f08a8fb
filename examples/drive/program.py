# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""An example that a test starts, signals and reads, as a user at a terminal would."""
import atexit
import signal
import subprocess
import sys


class Program:
    def __init__(self, *command, environment=None):
        # pylint: disable-next=consider-using-with # end() waits for it
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        atexit.register(self.process.kill)  # where a test fails

    def expect(self, *wanted):
        """Its next lines must be these, in any order."""
        lines = [self.process.stdout.readline().rstrip("\n") for _ in wanted]
        if sorted(lines) != sorted(wanted):
            sys.exit(f"found:    {lines!r}\nexpected: {wanted!r}")
        print(*wanted, sep="\n")

    def signal(self, name):
        self.process.send_signal(getattr(signal, f"SIG{name}"))

    def end(self):
        """Waits for its end, and prints the lines that are left, sorted, and its exit status."""
        rest = self.process.stdout.read()
        status = self.process.wait()
        sys.stdout.writelines(sorted(rest.splitlines(keepends=True)))
        print(f"exit status {status}")
