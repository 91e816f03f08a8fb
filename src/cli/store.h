/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#ifndef WEIRI_CLI_STORE_H
#define WEIRI_CLI_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <weir/admin.h>
#include <weir/broker.h>

#include "cli/arguments.h"

/* Largest body that the program puts. */
#define STORE_BODY_SIZE_MAX ((size_t)16 << 20)

/* A command's use of the broker. */
enum store_use {
    STORE_READ,  /* Read only; it must exist. */
    STORE_ALTER, /* It is changed; it must exist. */
    STORE_CHANGE /* It is made if it does not exist, with the default's folders. */
};

struct store {
    char *url;
    weir_broker *broker;
};

/* Opens the broker of --broker, else of $WEIR_BROKER, else the default in the state folder. Call it
 * after all other checks, since it may create files. Returns 0 or an exit status. store_close()
 * must follow in both cases. */
int store_open(struct store *store, const struct arguments *arguments, enum store_use use);
/* Opens the broker of a URL; origin is what gave it, for messages. The same otherwise. */
int store_open_url(struct store *store, const struct arguments *arguments, const char *url,
                   const char *origin, enum store_use use);
void store_close(struct store *store);

/* A weir_broker_tubes() callback: keeps the first counts in a struct weir_tube_counts. */
int store_keep_counts(const struct weir_tube_counts *counts, void *arg);

/* Removes the files of a store that is closed. */
void store_remove(const char *path);

#endif
