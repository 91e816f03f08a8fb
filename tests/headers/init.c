/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Every struct of options, made as callers make it. The same text is compiled as C and, from
 * init_cxx.cpp, as C++. init_checks.inc has one CHECK_INIT for each struct of the headers that a
 * call takes by a pointer to const. */
#include <stdio.h>
#include <string.h>

#include <weir/jobs.h>
#include <weir/weir.h>

static int checked;
static int failed;

static void check_init(const char *type, const void *options, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)options;
    checked++;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            printf("%s: byte %zu is not zero\n", type, i);
            failed++;
            return;
        }
    }
}

#ifdef __cplusplus
#    define INIT                                                                                   \
        {                                                                                          \
        }
#else
#    define INIT                                                                                   \
        {                                                                                          \
            0                                                                                      \
        }
#endif

#define CHECK_INIT(type)                                                                           \
    do {                                                                                           \
        static const type options = INIT;                                                          \
        check_init(#type, &options, sizeof(options));                                              \
    } while (0)

/* What is inline in a header runs in both languages too. */
static void check_keys(void)
{
    struct weir_item item;
    struct weir_item idle;
    memset(&idle, 0, sizeof(idle));
    memset(&item, 1, sizeof(item));
    weir_item_init(&item);
    struct weir_key by_address = weir_key_item(&item);
    struct weir_key by_text = weir_key_string("key");
    struct weir_key by_bytes = weir_key_bytes("key", 2);
    if (memcmp(&item, &idle, sizeof(item)) != 0 || by_address.data != &item ||
        by_address.size != WEIR_KEY_ITEM || by_text.size != 3 || by_bytes.size != 2) {
        printf("weir/key.h: wrong keys\n");
        failed++;
    }
}

struct host {
    int before;
    struct weir_item item;
};

static void check_container(void)
{
    struct host host;
    struct weir_item *item = &host.item;
    if (WEIR_CONTAINER_OF(item, struct host, item) != &host) {
        printf("weir/key.h: the wrong container\n");
        failed++;
    }
}

static void check_durations(void)
{
    static const int64_t constant = WEIR_MS(-3);
    unsigned short three = 3;
    int64_t sum = WEIR_US(three--);
    sum += WEIR_NS(three) + WEIR_SECONDS(UINT64_C(2));
    if (constant != -3000000 || sum != INT64_C(2000003002) || three != 2) {
        printf("weir/duration.h: wrong durations\n");
        failed++;
    }
}

static void check_version(void)
{
    char version[32];
    (void)snprintf(version, sizeof(version), "%d.%d.%d", WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR,
                   WEIR_VERSION_PATCH);
    if (strcmp(version, weir_version()) != 0) {
        printf("weir/version.h: %s of a library %s\n", version, weir_version());
        failed++;
    }
}

int main(void)
{
#include "init_checks.inc"
    check_keys();
    check_container();
    check_durations();
    check_version();
    if (WEIR_OK != 0 || strcmp(weir_status_name(WEIR_ENOMEM), "WEIR_ENOMEM") != 0 ||
        strcmp(weir_job_state_name(WEIR_JOB_READY), "ready") != 0) {
        printf("wrong names\n");
        failed++;
    }
    printf("%d structs checked\n", checked);
    return failed == 0 && checked > 0 ? 0 : 1;
}
