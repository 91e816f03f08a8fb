/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */

/* An order and the job that mails its receipt, in one transaction of the program's own: the job
 * exists if and only if the order does, also when the power fails in between. */
#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include <weir/jobs.h>

struct shop {
    weir_broker *broker;
    sqlite3 *db;
    weir_transaction *transaction;
    struct weir_error error;
};

static int open_shop(struct shop *shop)
{
    if (weir_broker_open("sqlite:shop.db?shared=1", NULL, &shop->broker, &shop->error) != WEIR_OK ||
        sqlite3_open("shop.db", &shop->db) != SQLITE_OK ||
        weir_transaction_new(shop->broker, shop->db, &shop->transaction, &shop->error) != WEIR_OK ||
        weir_transaction_begin(shop->transaction, &shop->error) != WEIR_OK) {
        return -1;
    }
    if (sqlite3_exec(
            shop->db,
            "CREATE TABLE IF NOT EXISTS orders(item TEXT, pieces INTEGER CHECK(pieces > 0))", NULL,
            NULL, NULL) != SQLITE_OK) {
        return -1;
    }
    return weir_transaction_commit(shop->transaction, &shop->error) == WEIR_OK ? 0 : -1;
}

static void close_shop(struct shop *shop)
{
    weir_transaction_free(shop->transaction);
    (void)sqlite3_close(shop->db);
    weir_broker_close(shop->broker);
}

static bool insert(sqlite3 *db, const char *item, int pieces)
{
    sqlite3_stmt *statement = NULL;
    bool is_in = sqlite3_prepare_v2(db, "INSERT INTO orders VALUES(?, ?)", -1, &statement, NULL) ==
                     SQLITE_OK &&
                 sqlite3_bind_text(statement, 1, item, -1, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_bind_int(statement, 2, pieces) == SQLITE_OK &&
                 sqlite3_step(statement) == SQLITE_DONE;
    (void)sqlite3_finalize(statement);
    return is_in;
}

/* The job is put first, to show that it goes with the order. */
static enum weir_status order(struct shop *shop, const char *item, int pieces)
{
    char text[100];
    (void)snprintf(text, sizeof(text), "%d %s", pieces, item);
    const struct weir_body body = {text, strlen(text), NULL};
    enum weir_status status = weir_transaction_begin(shop->transaction, &shop->error);
    if (status == WEIR_OK) {
        status =
            weir_transaction_put(shop->transaction, "receipts", &body, 1, NULL, NULL, &shop->error);
    }
    if (status == WEIR_OK && !insert(shop->db, item, pieces)) {
        (void)printf("order refused: %s\n", sqlite3_errmsg(shop->db));
        weir_transaction_rollback(shop->transaction);
        return WEIR_OK;
    }
    return status == WEIR_OK ? weir_transaction_commit(shop->transaction, &shop->error) : status;
}

static int mail(weir_context *context, const struct weir_job *job, void *arg)
{
    (void)context;
    (void)arg;
    (void)printf("receipt: %.*s\n", (int)job->body_size, (const char *)job->body);
    return WEIR_OK;
}

static enum weir_status mail_all(struct shop *shop)
{
    struct weir_consumer_options options = {0};
    options.handler = mail;
    options.flags = WEIR_CONSUMER_UNTIL_EMPTY;
    weir_consumer *consumer = NULL;
    enum weir_status status =
        weir_consumer_new(shop->broker, "receipts", &options, &consumer, &shop->error);
    if (status == WEIR_OK) {
        status = weir_consumer_start(consumer, &shop->error);
    }
    if (status == WEIR_OK) {
        status = weir_consumer_wait(consumer, WEIR_FOREVER, &shop->error);
    }
    weir_consumer_free(consumer);
    return status;
}

int main(void)
{
    struct shop shop = {0};
    if (open_shop(&shop) != 0 || order(&shop, "lamp", 2) != WEIR_OK ||
        order(&shop, "chair", -1) != WEIR_OK || order(&shop, "table", 1) != WEIR_OK ||
        mail_all(&shop) != WEIR_OK) {
        (void)fprintf(stderr, "%s\n", shop.error.text);
        close_shop(&shop);
        return 1;
    }
    close_shop(&shop);
    return 0;
}
