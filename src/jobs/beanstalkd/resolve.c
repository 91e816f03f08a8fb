/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/connection.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The address of a unix socket in the shape of getaddrinfo(); ai_protocol tells the two apart. */
struct unix_address {
    struct addrinfo info;
    struct sockaddr_un name;
};

#define IS_OURS (-1)

void weiri_addresses_free(struct addrinfo *addresses)
{
    if (addresses != NULL && addresses->ai_protocol == IS_OURS) {
        free(addresses);
    } else if (addresses != NULL) {
        freeaddrinfo(addresses);
    }
}

static int make_unix_address(const char *path, struct addrinfo **ret_addresses)
{
    struct unix_address *address = calloc(1, sizeof(*address));
    if (address == NULL) {
        return EAI_MEMORY;
    }
    address->name.sun_family = AF_UNIX;
    /* The length was checked with the URL. */
    (void)strncpy(address->name.sun_path, path, sizeof(address->name.sun_path) - 1);
    address->info = (struct addrinfo){.ai_family = AF_UNIX,
                                      .ai_socktype = SOCK_STREAM,
                                      .ai_protocol = IS_OURS,
                                      .ai_addrlen = sizeof(address->name),
                                      .ai_addr = (struct sockaddr *)&address->name};
    *ret_addresses = &address->info;
    return 0;
}

static int look_up(const struct weiri_endpoint *endpoint, int flags,
                   struct addrinfo **ret_addresses)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    return getaddrinfo(endpoint->host, endpoint->port, &hints, ret_addresses);
}

static void resolve(void *arg)
{
    struct weiri_resolver *resolver = arg;
    resolver->error = look_up(resolver->endpoint, 0, &resolver->addresses);
    atomic_store(&resolver->is_done, true);
    uint64_t one = 1;
    ssize_t ignored = write(resolver->wake_fd, &one, sizeof(one));
    (void)ignored;
}

bool weiri_resolver_begin(struct weiri_resolver *resolver, const struct weiri_endpoint *endpoint,
                          int wake_fd)
{
    if (resolver->is_running) {
        return true;
    }
    resolver->endpoint = endpoint;
    resolver->wake_fd = wake_fd;
    resolver->addresses = NULL;
    if (endpoint->path != NULL) {
        resolver->error = make_unix_address(endpoint->path, &resolver->addresses);
    } else {
        resolver->error = look_up(endpoint, AI_NUMERICHOST, &resolver->addresses);
    }
    bool is_name = endpoint->path == NULL && resolver->error == EAI_NONAME;
    atomic_store(&resolver->is_done, !is_name);
    if (is_name) {
        resolver->addresses = NULL;
        resolver->is_running =
            weiri_thread_start(&resolver->thread, "weir-resolve", resolve, resolver) == WEIR_OK;
        return resolver->is_running;
    }
    return true;
}

int weiri_resolver_take(struct weiri_resolver *resolver, struct addrinfo **ret_addresses)
{
    if (resolver->is_running) {
        weiri_thread_join(&resolver->thread);
        resolver->is_running = false;
    }
    int error = resolver->error;
    *ret_addresses = error == 0 ? resolver->addresses : NULL;
    resolver->addresses = NULL;
    resolver->error = EAI_AGAIN;
    return error;
}

void weiri_resolver_end(struct weiri_resolver *resolver)
{
    struct addrinfo *addresses = NULL;
    if (resolver->is_running || resolver->addresses != NULL) {
        (void)weiri_resolver_take(resolver, &addresses);
        weiri_addresses_free(addresses);
    }
}
