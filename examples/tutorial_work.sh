#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT

set -eu
export WEIR_BROKER="sqlite:$PWD/jobs.db"

weir put img holiday.jpg
weir put img garden.jpg
weir work --until-empty img -- sh -c 'echo "scaling $(cat)"'
weir stats img
