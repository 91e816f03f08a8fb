/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_NOTIFY_H
#define WEIRI_CLI_NOTIFY_H

/* What a service tells systemd (sd_notify(3)), as datagrams: a library for that would bring more
 * than it saves. Without $NOTIFY_SOCKET nothing is told. */

/* Takes $NOTIFY_SOCKET and $WATCHDOG_USEC from the environment, so that programs which are started
 * do not have them. Called while there is one thread. */
void notify_start(void);

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

/* How often notify_alive() is to be called, in milliseconds; -1: not at all. */
int notify_period_ms(void);
void notify_alive(void);

#endif
