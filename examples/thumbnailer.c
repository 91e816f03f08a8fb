/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* Makes thumbnails of pictures (PPM and PGM), several at a time: FILE.thumb of each FILE.
 *
 * - A picture that is cut off may still be being copied: it is tried again, twice.
 * - The first Ctrl-C, or TERM, lets the pictures in work come to their end, for three seconds, and
 *   drops the others. The second one, or the end of the three seconds, cancels those in work. No
 *   thumbnail is left half written. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <weir/weir.h>

#define SIDE 128U /* pixels of a thumbnail's longer side, at most */
#define PICTURE_SIDE_MAX 16384U
#define PATIENCE_MS 3000

/* Statuses of the task. */
enum {
    NOT_MADE = WEIR_EUSER,
    CUT_OFF
};

struct picture {
    FILE *file;
    unsigned channels; /* bytes of a pixel */
    unsigned width;
    unsigned height;
    unsigned scale; /* so many pixels, squared, become one */
};

/* Why a picture failed, in words: the pool's ended function is told. */
static int fail(weir_context *context, int status, const char *why)
{
    (void)weir_context_explain(context, why);
    return status;
}

/* A decimal number, and the one character behind it; 0: there is none. */
static unsigned read_number(FILE *file)
{
    int c = fgetc(file);
    while (c == ' ' || c == '\n') {
        c = fgetc(file);
    }
    unsigned number = 0;
    for (; c >= '0' && c <= '9' && number <= PICTURE_SIDE_MAX; c = fgetc(file)) {
        number = number * 10 + (unsigned)(c - '0');
    }
    return number;
}

static bool read_header(struct picture *picture)
{
    bool is_picture = fgetc(picture->file) == 'P';
    unsigned kind = read_number(picture->file);
    picture->channels = kind == 6 ? 3 : 1;
    picture->width = read_number(picture->file);
    picture->height = read_number(picture->file);
    unsigned longer = picture->width > picture->height ? picture->width : picture->height;
    picture->scale = (longer + SIDE - 1) / SIDE;
    return is_picture && (kind == 5 || kind == 6) && picture->width > 0 && picture->height > 0 &&
           longer <= PICTURE_SIDE_MAX && read_number(picture->file) == 255;
}

/* Writes one line: the means of sums, each of so many lines of the picture. */
static void write_means(const struct picture *picture, unsigned lines, unsigned *sums, FILE *out)
{
    for (unsigned x = 0; x < picture->width; x += picture->scale) {
        unsigned left = picture->width - x;
        unsigned pixels = (left < picture->scale ? left : picture->scale) * lines;
        for (unsigned channel = 0; channel < picture->channels; channel++) {
            (void)fputc((int)(*sums / pixels), out);
            *sums++ = 0;
        }
    }
}

/* One line after the other, so that a picture of any height takes the same memory. */
static int scale_down(weir_context *context, const struct picture *picture, FILE *out)
{
    unsigned char line[PICTURE_SIDE_MAX * 3];
    unsigned sums[SIDE * 3] = {0};
    unsigned channels = picture->channels;
    unsigned scale = picture->scale;
    (void)fprintf(out, "P%d\n%u %u\n255\n", channels == 3 ? 6 : 5,
                  (picture->width + scale - 1) / scale, (picture->height + scale - 1) / scale);
    for (unsigned y = 0; y < picture->height; y++) {
        if (fread(line, channels, picture->width, picture->file) != picture->width) {
            return ferror(picture->file) ? fail(context, NOT_MADE, "cannot be read")
                                         : fail(context, CUT_OFF, "cut off");
        }
        enum weir_status status = weir_context_check(context); /* WEIR_END_STOP cancels it */
        if (status != WEIR_OK) {
            return (int)status;
        }
        for (unsigned i = 0; i < picture->width * channels; i++) {
            sums[i / channels / scale * channels + i % channels] += line[i];
        }
        if (y % scale == scale - 1 || y == picture->height - 1) {
            write_means(picture, y % scale + 1, sums, out);
        }
    }
    return WEIR_OK;
}

/* The thumbnail gets its name once it is whole. Until then it has one of the worker's own: the same
 * picture may be given twice. */
static int write_thumbnail(weir_context *context, const struct picture *picture, const char *path)
{
    char name[PATH_MAX];
    char part[PATH_MAX];
    FILE *out = NULL;
    if (snprintf(name, sizeof(name), "%s.thumb", path) >= PATH_MAX ||
        snprintf(part, sizeof(part), "%s.%ld-%u.part", name, (long)getpid(),
                 (unsigned)weir_context_worker(context)) >= PATH_MAX ||
        (out = fopen(part, "wb")) == NULL) {
        return fail(context, NOT_MADE, "its thumbnail cannot be made");
    }
    int status = scale_down(context, picture, out);
    bool is_written = ferror(out) == 0;
    is_written = fclose(out) == 0 && is_written;
    if (status == WEIR_OK && !(is_written && rename(part, name) == 0)) {
        status = fail(context, NOT_MADE, "its thumbnail cannot be written");
    }
    if (status != WEIR_OK) {
        (void)unlink(part);
    }
    return status;
}

/* The task. */
static int make_thumbnail(weir_context *context, void *payload)
{
    struct picture picture = {fopen(payload, "rb"), 0, 0, 0, 0};
    if (picture.file == NULL) {
        return fail(context, NOT_MADE, "cannot be opened");
    }
    int status = read_header(&picture) ? write_thumbnail(context, &picture, payload)
                 : feof(picture.file)  ? fail(context, CUT_OFF, "cut off")
                                       : fail(context, NOT_MADE, "neither a PPM nor a PGM");
    (void)fclose(picture.file);
    return status;
}

static int64_t decide(weir_context *context, weir_envelope *envelope,
                      const struct weir_failure *failure, void *payload)
{
    (void)context;
    (void)envelope;
    (void)payload;
    return failure->status == CUT_OFF ? WEIR_RETRY : WEIR_DROP;
}

struct count {
    atomic_int left;
    atomic_int made;
};

/* Told once of each picture, whatever became of it. The last one ends the pool: before that, a
 * drain would drop the retries that wait. */
static void tell_end(const struct weir_ended *ended, void *arg)
{
    struct count *count = arg;
    bool is_made = ended->reason == WEIR_ENDED_DONE;
    printf("%s: %s%s%s\n", (const char *)weir_envelope_payload(ended->envelope),
           weir_ended_reason_text(ended->reason), *ended->explanation != '\0' ? ": " : "",
           ended->explanation);
    atomic_fetch_add(&count->made, is_made ? 1 : 0);
    if (atomic_fetch_sub(&count->left, 1) == 1) {
        (void)weir_pool_end(ended->pool, WEIR_END_DRAIN, 0, 0);
    }
}

static enum weir_status send_picture(weir_pool *pool, char *path)
{
    const struct weir_envelope_options options = {
        .payload = path,
        .invoke = make_thumbnail,
        .failure = decide,
        .retry = {.attempts = 3, .base_ns = WEIR_MS(200)}};
    weir_envelope *envelope = NULL;
    enum weir_status status = weir_envelope_new(&options, &envelope, NULL);
    if (status == WEIR_OK) {
        status = weir_pool_send(pool, envelope);
    }
    weir_envelope_unref(envelope);
    return status;
}

/* Until no worker is left. Signals are read here, so that no handler interrupts anything. */
static enum weir_status serve(weir_pool *pool, int signal_fd)
{
    struct pollfd polled[2] = {{.fd = signal_fd, .events = POLLIN}, {.events = POLLIN}};
    enum weir_end_mode mode = WEIR_END_FINISH;
    int timeout_ms = -1;
    enum weir_status status = weir_pool_fd(pool, &polled[1].fd);
    while (status == WEIR_OK) {
        int ready = poll(polled, 2, timeout_ms);
        if (ready < 0) {
            status = errno == EINTR ? WEIR_OK : WEIR_EIO;
            continue;
        }
        if (polled[1].revents != 0) {
            break;
        }
        struct signalfd_siginfo signal;
        if (ready > 0 && read(signal_fd, &signal, sizeof(signal)) < 0) {
            status = WEIR_EIO;
        }
        (void)weir_pool_end(pool, mode, 0, 0);
        printf(mode == WEIR_END_FINISH ? "finishing; once more to stop\n" : "stopping\n");
        timeout_ms = mode == WEIR_END_FINISH ? PATIENCE_MS : -1;
        mode = WEIR_END_STOP;
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: thumbnailer FILE...\n");
        return 64;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL); /* the workers inherit it */
    int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
    if (signal_fd < 0) {
        perror("thumbnailer: signalfd");
        return 1;
    }
    struct count count = {argc - 1, 0};
    const struct weir_pool_options options = {.workers = 2, .ended = tell_end, .ended_arg = &count};
    weir_pool *pool = NULL;
    enum weir_status status = weir_pool_new(&options, &pool, NULL);
    for (int i = 1; i < argc && status == WEIR_OK; i++) {
        status = send_picture(pool, argv[i]); /* they wait for the start */
    }
    if (status == WEIR_OK) {
        status = weir_pool_start(pool);
    }
    if (status == WEIR_OK) {
        status = serve(pool, signal_fd);
    }
    weir_pool_free(pool);
    (void)close(signal_fd);
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "thumbnailer: %s\n", weir_status_text((int)status));
    }
    return status != WEIR_OK || count.made < argc - 1;
}
