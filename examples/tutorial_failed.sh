#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT

set -eu
export WEIR_BROKER="sqlite:$PWD/jobs.db"

weir put img broken.jpg
weir work --until-empty --attempts 2 --retry-delay 100ms img -- \
    sh -c 'echo "no such file: $(cat)" >&2; exit 3' || echo "exit status $?: a job was buried"
weir why 1
weir log 1 | grep -v started
weir kick img
weir work --until-empty img -- sh -c 'echo "scaling $(cat), run $WEIR_ATTEMPT"'
