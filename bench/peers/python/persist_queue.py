#!/usr/bin/env python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""A sample of persist-queue's SQLiteQueue: as many durable puts of one thread as weir's (BENCH_STORE_PUTS)."""
import json
import os
import sys
import time

import persistqueue

PUTS = 3200
BODY = b"x" * 200

queue = persistqueue.SQLiteQueue(os.path.join(os.environ["WEIR_BENCH_FOLDER"], "queue"), auto_commit=True)
queue.put(BODY)
start = time.monotonic_ns()
for _ in range(PUTS):
    queue.put(BODY)
print(json.dumps({"name": sys.argv[1], "metrics": {"ns": (time.monotonic_ns() - start) / PUTS}}))
