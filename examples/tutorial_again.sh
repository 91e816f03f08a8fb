#!/bin/sh
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT

set -eu
export WEIR_BROKER="sqlite:$PWD/jobs.db"

weir schedule add nightly backups --cron '30 2 * * *' --zone Europe/Berlin /srv
weir schedule add poll feeds --every 10m --no-overlap
id=$(weir schedule run nightly)
weir work --until-empty backups -- sh -c 'echo "backup of $(cat), job $WEIR_JOB_ID"'
weir wait "$id" && echo "it has ended"
weir schedule pause poll
