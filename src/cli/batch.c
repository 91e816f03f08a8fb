/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/report.h"
#include "cli/table.h"
#include "view/timestamp.h"

void batch_init(struct batch *batch, const char *tube, const struct weir_put_options *options,
                enum batch_output output)
{
    memset(batch, 0, sizeof(*batch));
    batch->tube = tube;
    batch->options = options;
    batch->output = output;
    /* Ids on the terminal show the progress already. */
    batch->progress = output == BATCH_QUIET || isatty(STDOUT_FILENO) != 1;
}

void batch_fini(struct batch *batch)
{
    report_progress_end();
    free(batch->bytes);
}

static void show_progress(const struct batch *batch)
{
    if (batch->progress && report_progress_due()) {
        report_progress(true, "tube %s: %" PRIu64 " jobs put", quote(batch->tube).text,
                        batch->put_count);
    }
}

static bool reserve(struct batch *batch, size_t size)
{
    size_t needed = batch->size + size;
    if (needed <= batch->capacity) {
        return true;
    }
    size_t capacity = needed + needed / 2;
    char *bytes = realloc(batch->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    batch->bytes = bytes;
    batch->capacity = capacity;
    return true;
}

int batch_add(struct batch *batch, weir_broker *broker, const void *body, size_t size)
{
    bool full = batch->count == BATCH_JOBS_MAX ||
                (batch->count > 0 && batch->size + size > BATCH_BYTES_MAX);
    if (full) {
        int code = batch_flush(batch, broker);
        if (code != EX_OK) {
            return code;
        }
    }
    /* One byte at least, so that an empty body has an address. */
    if (!reserve(batch, size + 1)) {
        return report_status(WEIR_ENOMEM, "jobs", NULL);
    }
    memcpy(batch->bytes + batch->size, body, size);
    batch->size += size;
    batch->sizes[batch->count++] = size;
    return EX_OK;
}

static bool print_id(const struct batch *batch, const char *id)
{
    if (batch->output == BATCH_IDS) {
        return puts(id) >= 0;
    }
    char run_at[TIMESTAMP_SIZE];
    timestamp_write(batch->options->run_at_ns, run_at);
    /* s*: NULL leaves it out. */
    return table_print_json(json_pack("{s:s, s:s, s:s*}", "id", id, "tube", batch->tube, "run_at",
                                      batch->options->run_at_ns != 0 ? run_at : NULL));
}

static int print_ids(const struct batch *batch, const struct weir_job_id *ids)
{
    bool printed = true;
    for (size_t i = 0; printed && i < batch->count; i++) {
        printed = print_id(batch, ids[i].text);
    }
    if (printed && fflush(stdout) == 0) {
        return EX_OK;
    }
    const char *why = strerror(errno);
    const char *last = ids[batch->count - 1].text;
    if (batch->put_count == 1) {
        return report(EX_IOERR, "standard output: %s; one job was put: %s", why, last);
    }
    return report(EX_IOERR,
                  "standard output: %s; the first %" PRIu64
                  " jobs were put, the last of them as %s",
                  why, batch->put_count, last);
}

/* Says why a put failed, what was put before it, and whether it may have been put all the same. */
static int refuse(const struct batch *batch, enum weir_status status,
                  const struct weir_error *error)
{
    const char *text = error->text[0] != '\0' ? error->text : weir_status_text((int)status);
    char state[128] = "";
    int length = 0;
    if (batch->put_count > 0) {
        length = snprintf(state, sizeof(state), "; the first %" PRIu64 " jobs were put",
                          batch->put_count);
    }
    if (status == WEIR_EIO) {
        (void)snprintf(state + length, sizeof(state) - (size_t)length,
                       "; whether the next %zu were put is not known", batch->count);
    }
    return report(report_exit_code(status), "tube %s: %s%s", quote(batch->tube).text, text, state);
}

int batch_flush(struct batch *batch, weir_broker *broker)
{
    if (batch->count == 0) {
        return EX_OK;
    }
    struct weir_body *bodies = calloc(batch->count, sizeof(*bodies));
    struct weir_job_id *ids =
        batch->output != BATCH_QUIET ? calloc(batch->count, sizeof(*ids)) : NULL;
    int code = EX_OK;
    if (bodies == NULL || (ids == NULL && batch->output != BATCH_QUIET)) {
        code = report_status(WEIR_ENOMEM, "jobs", NULL);
    } else {
        const char *at = batch->bytes;
        for (size_t i = 0; i < batch->count; i++) {
            bodies[i] = (struct weir_body){at, batch->sizes[i], NULL};
            at += batch->sizes[i];
        }
        struct weir_error error = {0};
        enum weir_status status =
            weir_broker_put(broker, batch->tube, bodies, batch->count, batch->options, ids, &error);
        if (status == WEIR_OK) {
            batch->put_count += batch->count;
            code = ids != NULL ? print_ids(batch, ids) : EX_OK;
            show_progress(batch);
        } else {
            code = refuse(batch, status, &error);
        }
    }
    free(bodies);
    free(ids);
    batch->count = 0;
    batch->size = 0;
    return code;
}
