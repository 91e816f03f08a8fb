/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include <inttypes.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <weir/duration.h>

#include "cli/report.h"

/* The same signal within this time is the first one. */
#define SAME_NS WEIR_MS(200)

void signals_block(struct signals *signals, bool is_hup_reload)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    (void)sigemptyset(&signals->taken);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction action;
        bool is_ignored = sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        if (!is_ignored || (is_hup_reload && numbers[i] == SIGHUP)) {
            (void)sigaddset(&signals->taken, numbers[i]);
        }
    }
    sigset_t blocked = signals->taken;
    /* The reader of our messages may end. The jobs go on, and the write fails. */
    (void)sigaddset(&blocked, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &blocked, &signals->before);
    (void)signal(SIGCHLD, SIG_DFL);
    report_never_wait();
    signals->fd = signalfd(-1, &signals->taken, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_read(const struct signals *signals)
{
    struct signalfd_siginfo info;
    return read(signals->fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo
                                                                           : 0;
}

bool signals_count(struct signals *signals, int number, int64_t now_ns)
{
    if (signals->stops == 1 && number == signals->first && now_ns - signals->first_ns < SAME_NS) {
        return false;
    }
    if (signals->stops++ == 0) {
        signals->first = number;
        signals->first_ns = now_ns;
    }
    return true;
}

void signals_tell(const struct signals *signals, uint64_t running)
{
    if (signals->stops == 1) {
        (void)report(0,
                     "stopping; %" PRIu64 " running jobs go on to their end, or are ended by one "
                     "more signal",
                     running);
    } else if (signals->stops == 2) {
        (void)report(0, "ending %" PRIu64 " running jobs", running);
    }
}
