#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT

set -eu
export WEIR_BROKER="sqlite:$PWD/jobs.db"

# Jobs for the tube `mail`: one now, one not before a second has passed, one for each line.
weir put mail anna
weir put --delay 1s mail bert
printf '%s\n' carl dora | weir put --lines --quiet mail

# Two at once until none is left. Exit status 0 is "done"; this program fails every first try.
weir work -j 2 --until-empty --retry-delay 200ms mail -- \
    sh -c 'test "$WEIR_ATTEMPT" -gt 1 && echo "mail to $(cat), try $WEIR_ATTEMPT"'

weir stats
