/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "jobs/beanstalkd/mac.h"

#include <stdio.h>
#include <sys/stat.h>

#include "support/harness.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define STAMP "1780000000000000000/"

static enum weir_status read_keys(const char *text, size_t size, struct weiri_keys *ret_keys,
                                  struct weir_error *ret_error)
{
    FILE *file = fopen("key", "w");
    CHECK(file != NULL);
    CHECK(fwrite(text, 1, size, file) == size);
    CHECK(fclose(file) == 0);
    return weiri_keys_read("key", ret_keys, ret_error);
}

static struct weiri_keys keys_of(const char *text)
{
    struct weiri_keys keys;
    struct weir_error error;
    CHECK_STATUS(read_keys(text, strlen(text), &keys, &error), WEIR_OK);
    return keys;
}

TEST(is_hmac_sha256, "the MAC is that which another program makes of the same bytes")
{
    static const struct {
        const char *tube;
        const char *body;
        const char *mac;
    } rows[] = {
        {"t", "hello", "weir1:62c65fc6bb15d344bec43e5e35f649cdf372da93e168ae6d2e59f16842c87571:"},
        {"t", "", "weir1:731f2d0d4e2a66e989665b6ae84871c694a22930b1cabac159aae2231465fcfc:"},
        {"a/b", "a\nb", "weir1:5928364b9f85b9fc6c281a705b0ba772d49b439c7f6685068fff6077bcb026cc:"},
    };
    struct weiri_keys keys = keys_of(KEY "\n");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char mac[WEIRI_MAC_SIZE + 1] = "";
        CHECK_INT(weiri_mac_write(&keys, rows[i].tube, STAMP, strlen(STAMP), rows[i].body,
                                  strlen(rows[i].body), mac),
                  ==, WEIRI_MAC_SIZE);
        CHECK_STRING(mac, rows[i].mac);
    }
}

/* A whole body with its MAC. */
static size_t make(const struct weiri_keys *keys, const char *tube, char body[200])
{
    memcpy(body, STAMP, strlen(STAMP));
    CHECK_INT(weiri_mac_write(keys, tube, STAMP, strlen(STAMP), "hello", 5, body + strlen(STAMP)),
              ==, WEIRI_MAC_SIZE);
    memcpy(body + strlen(STAMP) + WEIRI_MAC_SIZE, "hello", 5);
    return strlen(STAMP) + WEIRI_MAC_SIZE + 5;
}

static bool is_good(const struct weiri_keys *keys, const char *tube, const char *body, size_t size,
                    size_t stamp_size)
{
    size_t prefix_size = stamp_size;
    bool is = weiri_mac_read(keys, tube, body, size, &prefix_size) == NULL;
    CHECK_INT(prefix_size, ==, stamp_size + (is ? WEIRI_MAC_SIZE : 0));
    return is;
}

TEST(refuses_each_change, "a body of which any bit differs, that is shorter, or lies in another "
                          "tube has no good MAC")
{
    struct weiri_keys keys = keys_of(KEY);
    struct weiri_keys others = keys_of("another key of some bytes");
    char body[200];
    size_t size = make(&keys, "t", body);
    CHECK(is_good(&keys, "t", body, size, strlen(STAMP)));
    CHECK(!is_good(&keys, "u", body, size, strlen(STAMP)));
    CHECK(!is_good(&others, "t", body, size, strlen(STAMP)));
    for (size_t i = 0; i < size * 8; i++) {
        body[i / 8] = (char)(body[i / 8] ^ (1 << i % 8));
        CHECK(!is_good(&keys, "t", body, size, strlen(STAMP)));
        body[i / 8] = (char)(body[i / 8] ^ (1 << i % 8));
    }
    for (size_t i = strlen(STAMP); i < size; i++) {
        CHECK(!is_good(&keys, "t", body, i, strlen(STAMP)));
    }
    CHECK(is_good(&keys, "t", body, size, strlen(STAMP)));
}

TEST(exchanges_keys, "the first key of several makes the MAC, and each of them checks it")
{
    struct weiri_keys old = keys_of("the old key of 22 bytes\n");
    struct weiri_keys both = keys_of("the new key of 22 bytes\nthe old key of 22 bytes\n");
    struct weiri_keys latest = keys_of("the new key of 22 bytes\n");
    char body[200];
    size_t size = make(&old, "t", body);
    CHECK(is_good(&both, "t", body, size, strlen(STAMP)));
    CHECK(!is_good(&latest, "t", body, size, strlen(STAMP)));
    size = make(&both, "t", body);
    CHECK(is_good(&latest, "t", body, size, strlen(STAMP)));
    CHECK(!is_good(&old, "t", body, size, strlen(STAMP)));
}

TEST(may_do_without, "in the place of a key may stand that there is none: bodies without a MAC are "
                     "good then, and those that begin as with one must have a good one")
{
    static const char plain[] = STAMP "hello";
    static const char unkeyed[] = /* the MAC by a key of no bytes */
        STAMP "weir1:0f74b957cd5b4782b9226cf793dc7cb979d36d0543789d3842f1cad5972830d5:hello";
    static const char *const rows[] = {"-\n" KEY "\n", KEY "\n-\n", KEY "\n", NULL};
    struct weiri_keys another = keys_of("another key of some bytes");
    char body[200];
    char other[200];
    for (int i = 0; i < 4; i++) {
        struct weiri_keys keys =
            rows[i] == NULL ? (struct weiri_keys){.count = 0} : keys_of(rows[i]);
        struct weiri_keys key = keys_of(KEY);
        size_t size = make(&key, "t", body);
        CHECK_INT(make(&another, "t", other), ==, size);
        CHECK(is_good(&keys, "t", body, size, strlen(STAMP)) == (i < 3));
        CHECK(!is_good(&keys, "t", other, size, strlen(STAMP)));
        CHECK(!is_good(&keys, "t", unkeyed, strlen(unkeyed), strlen(STAMP)));
        size_t made = weiri_mac_write(&keys, "t", STAMP, strlen(STAMP), "hello", 5, other);
        CHECK_INT(made, ==, i == 1 || i == 2 ? WEIRI_MAC_SIZE : 0);
        size_t stamp_size = strlen(STAMP);
        CHECK((weiri_mac_read(&keys, "t", plain, strlen(plain), &stamp_size) == NULL) == (i != 2));
        CHECK_INT(stamp_size, ==, strlen(STAMP));
    }
}

TEST(refuses_bad_files,
     "a file without keys, with short, long or too many ones is refused, and none "
     "is repeated")
{
#define KEY_LINE "secret of 16 byt\n"
    static const char *const rows[] = {
        "",
        "\n",
        "secret of 15 by",
        "secret of 16 byt\n\nsecret of 16 byt\n",
        "secret of 16 byt\nsecret",
        "-\n",
        "--\nsecret of 16 byt\n",
        KEY_LINE KEY_LINE KEY_LINE KEY_LINE KEY_LINE,
    };
    char text[2000];
    struct weiri_keys keys;
    struct weir_error error;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CHECK_STATUS(read_keys(rows[i], strlen(rows[i]), &keys, &error), WEIR_EINVAL);
        CHECK(strstr(error.text, "secret") == NULL);
    }
    memset(text, 'x', sizeof(text));
    CHECK_STATUS(read_keys(text, sizeof(text), &keys, &error), WEIR_EINVAL);
    CHECK_STATUS(read_keys(text, WEIRI_KEY_SIZE_MAX + 1, &keys, &error), WEIR_EINVAL);
    CHECK_STATUS(read_keys(text, WEIRI_KEY_SIZE_MAX, &keys, &error), WEIR_OK);
    CHECK_STATUS(weiri_keys_read("none", &keys, &error), WEIR_ENOTFOUND);
    CHECK_STATUS(weiri_keys_read("key/none", &keys, &error), WEIR_ENOTFOUND);
    CHECK_STATUS(weiri_keys_read(".", &keys, &error), WEIR_EIO);
}
