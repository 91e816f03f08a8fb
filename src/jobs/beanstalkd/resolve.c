/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/connection.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* The address of a unix socket in the shape of getaddrinfo(). */
static int take_path(struct weiri_resolver *resolver)
{
    struct sockaddr_un *name = &resolver->path_name;
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    /* The length was checked with the URL. */
    (void)strncpy(name->sun_path, resolver->endpoint->path, sizeof(name->sun_path) - 1);
    resolver->path_address = (struct addrinfo){.ai_family = AF_UNIX,
                                               .ai_socktype = SOCK_STREAM,
                                               .ai_addrlen = sizeof(*name),
                                               .ai_addr = (struct sockaddr *)name};
    resolver->addresses = &resolver->path_address;
    return 0;
}

static int look_up(struct weiri_resolver *resolver, int flags)
{
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    const struct weiri_endpoint *endpoint = resolver->endpoint;
    struct addrinfo *found;
    int error = getaddrinfo(endpoint->host, endpoint->port, &hints, &found);
    resolver->addresses = error == 0 ? found : NULL;
    return error;
}

static void resolve(void *arg)
{
    struct weiri_resolver *resolver = arg;
    resolver->error = look_up(resolver, 0);
    atomic_store(&resolver->is_done, true);
    (void)eventfd_write(resolver->wake_fd, 1);
}

bool weiri_resolver_begin(struct weiri_resolver *resolver, const struct weiri_endpoint *endpoint,
                          int wake_fd)
{
    if (resolver->is_running) {
        return true;
    }
    resolver->endpoint = endpoint;
    resolver->wake_fd = wake_fd;
    resolver->error =
        endpoint->path != NULL ? take_path(resolver) : look_up(resolver, AI_NUMERICHOST);
    bool is_name = resolver->error == EAI_NONAME;
    atomic_store(&resolver->is_done, !is_name);
    if (is_name) {
        resolver->is_running =
            weiri_thread_start(&resolver->thread, "weir-resolve", resolve, resolver) == WEIR_OK;
    }
    return resolver->is_running || !is_name;
}

int weiri_resolver_wait(struct weiri_resolver *resolver)
{
    if (resolver->is_running) {
        weiri_thread_join(&resolver->thread);
        resolver->is_running = false;
    }
    return resolver->error;
}

void weiri_resolver_free(struct weiri_resolver *resolver)
{
    if (resolver->is_running) {
        return;
    }
    if (resolver->addresses != NULL && resolver->addresses != &resolver->path_address) {
        freeaddrinfo(resolver->addresses);
    }
    resolver->addresses = NULL;
}
