#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT

set -eu
export WEIR_BROKER="sqlite:$PWD/jobs.db"

weir policy img --keep 30d
weir put --header camera=X100 img big.tif
weir work --until-empty --deadline 30s img -- sh -c '
    echo progress 50 >&$WEIR_CONTROL_FD
    echo touch >&$WEIR_CONTROL_FD
    echo "result 3 sizes of $(cat), taken by $WEIR_HEADER_CAMERA" >&$WEIR_CONTROL_FD'
weir log 1 | grep -v started
