/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "http/listen.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/harness.h"

static bool opens(const char *text, struct listener *listener, bool *ret_usage)
{
    char problem[160] = "";
    bool opened = listen_open(text, listener, problem, sizeof(problem), ret_usage);
    CHECK(opened || *ret_usage || problem[0] != '\0');
    return opened;
}

TEST(addresses, "addresses are listened at, the system picks port 0, loopback is local")
{
    struct listener listener;
    bool usage = false;
    CHECK(opens("127.0.0.1:0", &listener, &usage));
    CHECK(listener.local && listener.path == NULL);
    CHECK_INT(strncmp(listener.url, "http://127.0.0.1:", 17), ==, 0);
    CHECK(strcmp(listener.url + 17, "0") != 0);
    struct listener second;
    CHECK(!opens(listener.url + strlen("http://"), &second, &usage));
    CHECK(!usage && second.fd == -1);
    (void)close(listener.fd);
    CHECK(opens("0.0.0.0:0", &listener, &usage));
    CHECK(!listener.local);
    (void)close(listener.fd);
    CHECK(opens("localhost:0", &listener, &usage));
    CHECK(listener.local);
    (void)close(listener.fd);
}

TEST(malformed, "what is no address is a mistake of use")
{
    static const char *const texts[] = {"",       "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", ":8686",
                                        "8686",   "a:65536",   "a:123456",   "::1:8",       "[::1]",
                                        "[::1]8", "[]:8",      "a:-1",       "http://a:1/"};
    struct listener listener;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        bool usage = false;
        if (opens(texts[i], &listener, &usage) || !usage) {
            test_fail(__FILE__, __LINE__, "\"%s\" is taken for an address", texts[i]);
        }
    }
}

TEST(unix_sockets,
     "a unix socket is its owner's, replaces one that nobody listens at, and no other")
{
    struct listener listener;
    struct listener second;
    struct stat facts;
    bool usage = false;
    CHECK(opens("unix:s", &listener, &usage));
    CHECK(listener.local);
    CHECK_STRING(listener.url, "unix:s");
    CHECK_INT(stat("s", &facts), ==, 0);
    CHECK_INT(facts.st_mode & 0777, ==, 0600);
    CHECK(!opens("unix:s", &second, &usage));
    CHECK(!usage);
    (void)close(listener.fd);
    CHECK(opens("unix:s", &second, &usage));
    (void)close(second.fd);
    listen_remove(&second);
    CHECK(stat("s", &facts) != 0);
    FILE *file = fopen("s", "w");
    CHECK(file != NULL);
    (void)fclose(file);
    CHECK(!opens("unix:s", &listener, &usage));
    CHECK_INT(stat("s", &facts), ==, 0);
    CHECK(!opens("unix:", &listener, &usage));
    char text[256] = "unix:";
    memset(text + 5, 'a', sizeof(text) - 6);
    text[sizeof(text) - 1] = '\0';
    CHECK(!opens(text, &listener, &usage));
}
