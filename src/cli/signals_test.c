/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include <weir/duration.h>

#include "support/harness.h"

TEST(counts, "the first signal, once more within 200 ms, is one; another one counts at once")
{
    struct signals signals = {.fd = -1};
    CHECK(signals_count(&signals, SIGTERM, WEIR_SECONDS(5)));
    CHECK(!signals_count(&signals, SIGTERM, WEIR_SECONDS(5)));
    CHECK(!signals_count(&signals, SIGTERM, WEIR_SECONDS(5) + WEIR_MS(199)));
    CHECK_INT(signals.stops, ==, 1);
    CHECK(signals_count(&signals, SIGTERM, WEIR_SECONDS(5) + WEIR_MS(200)));
    CHECK_INT(signals.stops, ==, 2);
    CHECK(signals_count(&signals, SIGTERM, WEIR_SECONDS(5) + WEIR_MS(200)));
    signals = (struct signals){.fd = -1};
    CHECK(signals_count(&signals, SIGTERM, WEIR_SECONDS(5)));
    CHECK(signals_count(&signals, SIGINT, WEIR_SECONDS(5)));
    CHECK_INT(signals.stops, ==, 2);
}
