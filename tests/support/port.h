/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIR_TEST_PORT_H
#define WEIR_TEST_PORT_H

#include <stdbool.h>
#include <sys/types.h>

/* TCP ports of the loopback for servers that tests start. Tests run side by side: a port that is
 * found free and then given up may be another test's before its server listens there. */

/* A port that no other test is given until this test has ended. It lies below the ports that the
 * system gives to outgoing connections. From the test's first thread. */
int test_port(void);

/* Whether what listens on a port of 127.0.0.1 is this process. */
bool test_port_is_of(int port, pid_t pid);

#endif
