#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
#
# A job that kills its worker, among three that run beside it. The worker is started again each time, as a
# supervisor does. The others are done; the killer is buried after its last attempt.

set -eu
export WEIR_BROKER="sqlite:$PWD/jobs.db"

weir put --ttr 1s mail killer
printf '%s\n' anna bert carl | weir put --ttr 1s --lines --quiet mail
mkdir begun

# Kills its worker once all that it has begun are there; the others run until then.
cat >handler <<'END'
name=$(cat)
: >"begun/$name.$WEIR_ATTEMPT"
if [ "$name" = killer ]; then
    [ "$WEIR_ATTEMPT" -gt 2 ] || until [ -e "begun/carl.$WEIR_ATTEMPT" ]; do sleep 0.01; done
    kill -9 "$PPID"
    sleep 10
elif [ "$WEIR_ATTEMPT" -le 2 ]; then
    sleep 10
fi
END

for _ in 1 2 3 4 5; do
    weir work -j 4 --attempts 4 --until-empty mail -- sh handler >output 2>&1 || true
done
weir stats mail
weir why 1
