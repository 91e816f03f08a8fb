/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "base/futex.h"

#include "base/sync.h"

#include "support/explorer/choose.h"
#include "support/explorer/engine.h"

/* The functions of base/futex.h on the explorer. Threads that sleep on a word are found by its
 * address alone, as in the kernel: a wake-up may come after the word's end, and then wakes no
 * thread, or another one for no reason. */

static bool sleeps_on(const struct explorer_thread *thread, const void *word)
{
    return thread->state == EXPLORER_WAITING && thread->object == word;
}

/* The kernel compares and goes to sleep in one step. */
bool weiri_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t limit_ns)
{
    explorer_point();
    if (atomic_load_explicit(word, memory_order_relaxed) != expected) {
        explorer_trace("finds a word changed, does not sleep");
        return true;
    }
    if (limit_ns <= explorer.now_ns) {
        explorer_trace("sleeps on a word until now");
        return false;
    }
    if (explorer.spurious && explorer_choose_rare()) {
        explorer_trace("sleeps on a word and wakes for no reason");
        return true;
    }
    explorer_trace("sleeps on a word");
    explorer_block(EXPLORER_WAITING, (const void *)word, limit_ns);
    bool in_time = !explorer_self()->timed_out;
    explorer_trace("wakes%s", in_time ? "" : " at its limit");
    return in_time;
}

/* The order of wake-ups is not promised: the chooser decides. */
void weiri_futex_wake(_Atomic uint32_t *word, int count)
{
    explorer_point();
    for (; count > 0; count--) {
        unsigned sleepers[EXPLORER_THREADS_MAX];
        unsigned found = 0;
        for (unsigned i = 0; i < explorer.count; i++) {
            if (sleeps_on(&explorer.threads[i], (const void *)word)) {
                sleepers[found++] = i;
            }
        }
        if (found == 0) {
            explorer_trace("wakes a word where nobody sleeps");
            return;
        }
        unsigned woken = sleepers[found > 1 ? explorer_choose_value(found) : 0];
        explorer_wake(woken);
        explorer_trace("wakes %s", explorer.threads[woken].name);
    }
}
