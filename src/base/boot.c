/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/boot.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void weiri_boot_name(char name[WEIRI_BOOT_SIZE])
{
    ssize_t size = -1;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        size = read(fd, name, WEIRI_BOOT_SIZE - 1);
        (void)close(fd);
    }
    if (size <= 0) {
        (void)snprintf(name, WEIRI_BOOT_SIZE, "unknown");
        return;
    }
    name[size] = '\0';
    name[strcspn(name, "\n")] = '\0';
}
