/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The public functions of transactions: each checks its arguments once, then calls the backend. */
#include <weir/transaction.h>

#include "base/alloc.h"
#include "base/error.h"
#include "jobs/broker.h"

struct weir_transaction {
    weir_broker *broker;
    void *own; /* the backend's */
};

enum weir_status weir_transaction_new(weir_broker *broker, struct sqlite3 *connection,
                                      weir_transaction **ret_transaction,
                                      struct weir_error *ret_error)
{
    enum weir_status status =
        weiri_broker_enter_for(broker, WEIRI_WRITES | WEIRI_CAN(TRANSACTIONS),
                               connection == NULL ? "connection" : "ret_transaction",
                               connection != NULL && ret_transaction != NULL, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    const struct weir_allocator *allocator = &broker->config.allocator;
    weir_transaction *transaction = weiri_alloc(allocator, sizeof(*transaction));
    if (transaction == NULL) {
        return weiri_fail(ret_error, WEIR_ENOMEM, "out of memory");
    }
    *transaction = (weir_transaction){.broker = broker};
    status = broker->ops->transaction_open(broker->store, connection, &transaction->own, ret_error);
    if (status != WEIR_OK) {
        weiri_release(allocator, transaction, sizeof(*transaction));
        return status;
    }
    weiri_broker_attach(broker);
    *ret_transaction = transaction;
    return WEIR_OK;
}

/* The checks of the calls on a transaction, then the step. */
static enum weir_status run(const weir_transaction *transaction, enum weiri_transaction_step step,
                            struct weir_error *ret_error)
{
    if (weiri_check_given("transaction", transaction, ret_error) != WEIR_OK) {
        return WEIR_EINVAL;
    }
    enum weir_status status = weiri_broker_enter(transaction->broker, WEIRI_WRITES, ret_error);
    return status == WEIR_OK ? transaction->broker->ops->transaction_step(transaction->own, step,
                                                                          NULL, NULL, ret_error)
                             : status;
}

enum weir_status weir_transaction_begin(weir_transaction *transaction, struct weir_error *ret_error)
{
    return run(transaction, WEIRI_TRANSACTION_BEGIN, ret_error);
}

enum weir_status weir_transaction_put(weir_transaction *transaction, const char *tube,
                                      const struct weir_body *bodies, size_t count,
                                      const struct weir_put_options *options,
                                      struct weir_job_id *ret_ids, struct weir_error *ret_error)
{
    struct weiri_put put;
    enum weir_status status = run(transaction, WEIRI_TRANSACTION_CHECK, ret_error);
    if (status != WEIR_OK) {
        return status;
    }
    weir_broker *broker = transaction->broker;
    status = weiri_broker_enter_put(broker, tube, bodies, count, options, &put, ret_error);
    if (status == WEIR_OK) {
        status = broker->ops->transaction_step(transaction->own, WEIRI_TRANSACTION_PUT, &put,
                                               ret_ids, ret_error);
    }
    if (put.each != NULL) {
        weiri_release(&broker->config.allocator, put.each, count * sizeof(*put.each));
    }
    return status;
}

enum weir_status weir_transaction_commit(weir_transaction *transaction,
                                         struct weir_error *ret_error)
{
    return run(transaction, WEIRI_TRANSACTION_COMMIT, ret_error);
}

void weir_transaction_rollback(weir_transaction *transaction)
{
    if (transaction != NULL && weiri_broker_is_ours(transaction->broker)) {
        (void)transaction->broker->ops->transaction_step(
            transaction->own, WEIRI_TRANSACTION_ROLLBACK, NULL, NULL, NULL);
    }
}

void weir_transaction_free(weir_transaction *transaction)
{
    if (transaction != NULL && weiri_broker_is_ours(transaction->broker)) {
        weir_broker *broker = transaction->broker;
        (void)broker->ops->transaction_step(transaction->own, WEIRI_TRANSACTION_FREE, NULL, NULL,
                                            NULL);
        weiri_release(&broker->config.allocator, transaction, sizeof(*transaction));
        weiri_broker_detach(broker);
    }
}
