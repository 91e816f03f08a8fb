/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_NOTIFY_H
#define WEIRI_CLI_NOTIFY_H

/* What a service tells systemd (sd_notify(3)), as datagrams: a library for that would bring more
 * than it saves. Without $NOTIFY_SOCKET nothing is told. No call waits for a reader:
 * what a full socket did not take is told again by notify_alive(), unless weir ends before. */

/* Takes $NOTIFY_SOCKET and $WATCHDOG_USEC from the environment, so that programs which are started
 * do not have them. Called while there is one thread. */
void notify_start(void);

void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);

/* When notify_alive() is to be called again at the latest, in milliseconds; -1: at no time. It
 * gives a sign of life where one was asked for. */
int notify_period_ms(void);
void notify_alive(void);

#endif
