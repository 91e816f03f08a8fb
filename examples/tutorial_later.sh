#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT

set -eu
export WEIR_BROKER="sqlite:$PWD/jobs.db"

weir put --delay 90s img garden.jpg
id=$(weir put --at 'tomorrow 9:00' img beach.jpg)
weir stats img
weir rm "$id"
weir why 1 | sed 's/;.*//'
