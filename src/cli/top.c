/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
#include <curses.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <term.h>
#include <unistd.h>

#include <weir/admin.h>
#include <weir/clock.h>
#include <weir/duration.h>
#include <weir/feature.h>

#include "cli/arguments.h"
#include "cli/moment.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/store.h"
#include "cli/top_model.h"
#include "cli/top_running.h"

enum {
    OPTION_INTERVAL = OPTION_OWN
};

#define INTERVAL_DEFAULT WEIR_SECONDS(1)
#define KEYS "q quit  arrows select  s sort  / filter  p pause, resume  k kick  r running"
#define RUNNING_KEYS "q quit  / filter  r tubes"
/* Jobs kicked in one transaction, so that others can write in between. */
#define STEP 1000

static const struct poptOption top_options[] = {
    OPTION_VALUE("interval", 'n', OPTION_INTERVAL, "Time between two readings (default: 1s)",
                 "DURATION"),
    POPT_TABLEEND,
};

static const char *const titles[TOP_SORTS] = {"TUBE",  "DELAYED", "READY",   "RESERVED", "BURIED",
                                              "PUT/S", "DONE/S",  "RETRY/S", "OLDEST"};
static const int widths[TOP_SORTS] = {0, 7, 6, 8, 6, 6, 6, 7, 7};
#define WIDTH 61 /* Of all but the first. */

enum asking {
    ASKING_NOTHING,
    ASKING_FILTER,
    ASKING_KICK
};

struct top {
    int64_t interval_ns;
    int64_t lock_wait_ns;
    weir_broker *broker; /* Read only: looking waits for nobody. */
    const char *url;
    struct top_sample samples[2]; /* The last reading, and the one before. */
    struct top_sample view;       /* The last one, filtered and in order. */
    int last;
    enum top_sort sort;
    enum asking asking;
    bool is_running; /* Shows the jobs that run instead. */
    struct top_running running;
    char filter[64];
    char selected[WEIR_TUBE_SIZE_MAX + 1]; /* A tube; "": the first. */
    bool is_out_of_memory;
    bool has_failed; /* The last reading. */
    pthread_mutex_t mutex;
    char message[512]; /* Guarded by the mutex: the broker's threads log. */
};

static int set_option(int option, const char *name, const char *text, void *arg)
{
    struct top *top = arg;
    (void)option;
    return read_duration(name, text, WEIR_MS(100), &top->interval_ns);
}

static void __attribute__((format(printf, 2, 3))) say(struct top *top, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    (void)pthread_mutex_lock(&top->mutex);
    (void)vsnprintf(top->message, sizeof(top->message), format, values);
    (void)pthread_mutex_unlock(&top->mutex);
    va_end(values);
}

static void keep_warning(enum weir_log_level level, const char *message, void *arg)
{
    if (level <= WEIR_LOG_WARNING) {
        say(arg, "%s", message);
    }
}

/* --- reading --- */

static int keep_run_time(const struct weir_job *job, void *arg)
{
    *(int64_t *)arg = job->run_at_ns;
    return 1;
}

static int add_tube(const struct weir_tube_counts *counts, void *arg)
{
    struct top *top = arg;
    int64_t run_at_ns = 0;
    int64_t now_ns = moment_now();
    const struct weir_job_filter one = {
        .tube = counts->tube, .state = WEIR_JOB_READY, .first = 1, .no_bodies = 1};
    bool is_known =
        counts->ready > 0 &&
        weir_broker_list(top->broker, &one, keep_run_time, &run_at_ns, NULL) == WEIR_OK &&
        run_at_ns > 0 && run_at_ns < now_ns;
    top->is_out_of_memory =
        !top_add(&top->samples[top->last], counts, is_known ? now_ns - run_at_ns : 0);
    return top->is_out_of_memory;
}

/* What the screen shows of the last reading. */
static void make_view(struct top *top)
{
    top->is_out_of_memory = top->is_out_of_memory ||
                            !top_view(&top->samples[top->last], top->filter, top->sort, &top->view);
    if (top->is_running) {
        top_running_read(&top->running, top->broker, &top->view);
    }
}

static void read_broker(struct top *top)
{
    struct weir_error error = {0};
    int before = top->last;
    top->last = 1 - before;
    struct top_sample *sample = &top->samples[top->last];
    sample->count = 0;
    sample->at_ns = weir_clock_now(weir_clock_monotonic());
    enum weir_status status = weir_broker_tubes(top->broker, NULL, add_tube, top, &error);
    if (status != WEIR_OK) {
        top->last = before; /* What was read last stays on the screen. */
        top->has_failed = true;
        say(top, "%s", error.text);
        return;
    }
    if (top->has_failed) {
        top->has_failed = false;
        say(top, "%s", "");
    }
    top_rate(sample, &top->samples[before]);
    make_view(top);
}

/* --- the screen --- */

static size_t selected_index(const struct top *top)
{
    for (size_t i = 0; i < top->view.count; i++) {
        if (strcmp(top->view.rows[i].counts.tube, top->selected) == 0) {
            return i;
        }
    }
    return 0;
}

/* Cells that are too long move the rest, and a space stays between them. */
static void draw_line(int y, const char *const cells[TOP_SORTS])
{
    char line[1024];
    int name = COLS - WIDTH > 8 ? COLS - WIDTH : 8;
    int size = snprintf(line, sizeof(line), "%-*.*s", name, name, cells[0]);
    for (int i = 1; i < TOP_SORTS && size >= 0 && (size_t)size < sizeof(line); i++) {
        size += snprintf(line + size, sizeof(line) - (size_t)size, " %*s", widths[i], cells[i]);
    }
    (void)mvaddnstr(y, 0, line, COLS);
}

static void draw_row(int y, const struct top_row *row)
{
    const struct weir_tube_counts *counts = &row->counts;
    const uint64_t numbers[] = {counts->delayed, counts->ready, counts->reserved, counts->buried};
    char texts[TOP_SORTS][32] = {""};
    const char *const cells[TOP_SORTS] = {counts->tube, texts[1], texts[2], texts[3], texts[4],
                                          texts[5],     texts[6], texts[7], texts[8]};
    for (size_t i = 0; i < 4; i++) {
        (void)snprintf(texts[TOP_DELAYED + i], sizeof(texts[0]), "%" PRIu64, numbers[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        if (row->rates[i] >= 0) {
            (void)snprintf(texts[TOP_PUT + i], sizeof(texts[0]), "%.1f", row->rates[i]);
        }
    }
    if (counts->paused_until_ns != 0) {
        (void)strcpy(texts[TOP_OLDEST], "paused");
    } else if (row->oldest_ns > 0) {
        int64_t unit = row->oldest_ns < WEIR_SECONDS(3600) ? WEIR_SECONDS(1) : WEIR_SECONDS(60);
        (void)weir_duration_format(row->oldest_ns - row->oldest_ns % unit, texts[TOP_OLDEST],
                                   sizeof(texts[0]));
    }
    draw_line(y, cells);
}

static void draw_tubes(const struct top *top, size_t space)
{
    char line[256];
    size_t selected = selected_index(top);
    size_t first = selected >= space ? selected - space + 1 : 0;
    (void)snprintf(line, sizeof(line), "weir top: %zu of %zu tubes, by %s%s%s", top->view.count,
                   top->samples[top->last].count, titles[top->sort],
                   top->filter[0] != '\0' ? ", with " : "", top->filter);
    (void)mvaddnstr(0, 0, line, COLS);
    (void)standout();
    draw_line(1, titles);
    (void)standend();
    for (size_t i = first; i < top->view.count && i - first < space; i++) {
        (void)(i == selected ? standout() : standend());
        draw_row((int)(i - first) + 2, &top->view.rows[i]);
        (void)standend();
    }
}

static void draw_running(const struct top *top, size_t space)
{
    char line[1024];
    int64_t now_ns = moment_now();
    (void)snprintf(line, sizeof(line), "weir top: %zu jobs run%s%s", top->running.count,
                   top->filter[0] != '\0' ? ", in tubes with " : "", top->filter);
    (void)mvaddnstr(0, 0, line, COLS);
    for (size_t i = 0; i <= top->running.count && i <= space; i++) {
        top_running_line(&top->running, (int)i - 1, COLS, now_ns, line, sizeof(line));
        (void)(i == 0 ? standout() : standend());
        (void)mvaddnstr((int)i + 1, 0, line, COLS);
    }
    (void)standend();
}

static void draw(struct top *top)
{
    char line[sizeof(top->message) + 80];
    size_t space = LINES > 3 ? (size_t)LINES - 3 : 0;
    (void)erase();
    if (top->is_running) {
        draw_running(top, space);
    } else {
        draw_tubes(top, space);
    }
    const char *keys = top->is_running ? RUNNING_KEYS : KEYS;
    (void)pthread_mutex_lock(&top->mutex);
    (void)snprintf(line, sizeof(line), "%s", top->message[0] != '\0' ? top->message : keys);
    (void)pthread_mutex_unlock(&top->mutex);
    if (top->asking == ASKING_FILTER) {
        (void)snprintf(line, sizeof(line), "filter: %s", top->filter);
    }
    (void)mvaddnstr(LINES - 1, 0, line, COLS);
    (void)refresh();
}

/* --- keys --- */

/* Changes a tube, on a broker that is open for no longer than that. */
static void change(struct top *top, const struct weir_tube_counts *counts, bool is_kick)
{
    struct weir_broker_options options = {0};
    struct weir_error error = {0};
    weir_broker *broker = NULL;
    uint64_t kicked = 0;
    options.flags = WEIR_BROKER_EXISTING;
    options.busy_ns = top->lock_wait_ns;
    options.log = keep_warning;
    options.log_arg = top;
    enum weir_status status = weir_broker_open(top->url, &options, &broker, &error);
    if (status == WEIR_OK && !is_kick) {
        int64_t duration_ns = counts->paused_until_ns != 0 ? 0 : WEIR_FOREVER;
        status = weir_broker_pause(broker, counts->tube, duration_ns, &error);
    }
    for (size_t step = 1; is_kick && status == WEIR_OK && step > 0 && kicked < counts->buried;) {
        uint64_t left = counts->buried - kicked;
        status = weir_broker_kick(broker, counts->tube, left < STEP ? (size_t)left : STEP, &step,
                                  &error);
        kicked += status == WEIR_OK ? step : 0;
    }
    weir_broker_close(broker);
    if (status != WEIR_OK) {
        say(top, "%s: %s", counts->tube, error.text);
    } else if (is_kick) {
        say(top, "%s: kicked %" PRIu64, counts->tube, kicked);
    } else {
        say(top, "%s: %s", counts->tube, counts->paused_until_ns != 0 ? "resumed" : "paused");
    }
}

static void edit_filter(struct top *top, int key)
{
    size_t size = strlen(top->filter);
    if (key == '\n' || key == KEY_ENTER) {
        top->asking = ASKING_NOTHING;
    } else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && size > 0) {
        top->filter[size - 1] = '\0';
    } else if (key > ' ' && key < 127 && size + 1 < sizeof(top->filter)) {
        top->filter[size] = (char)key;
        top->filter[size + 1] = '\0';
    }
    make_view(top);
}

/* Does what a key is for. False: ends. */
static bool press(struct top *top, int key, bool *ret_is_changed)
{
    size_t index = selected_index(top);
    const struct weir_tube_counts none = {.tube = ""};
    struct weir_tube_counts tube = index < top->view.count ? top->view.rows[index].counts : none;
    if (top->asking == ASKING_FILTER) {
        edit_filter(top, key);
        return true;
    }
    say(top, "%s", "");
    if (top->asking == ASKING_KICK) {
        top->asking = ASKING_NOTHING;
        /* The tube that was asked about may be gone, and another one be selected. */
        *ret_is_changed = (key == 'y' || key == 'Y') && strcmp(tube.tube, top->selected) == 0;
        if (*ret_is_changed) {
            change(top, &tube, true);
        }
        return true;
    }
    if (key == 'r') {
        top->is_running = !top->is_running;
        make_view(top);
    } else if (key == '/') {
        top->asking = ASKING_FILTER;
    }
    if (top->is_running || key == 'r') {
        return key != 'q'; /* No tube is selected. */
    }
    size_t next = key == KEY_DOWN ? index + 1 : key == KEY_UP && index > 0 ? index - 1 : index;
    (void)strcpy(top->selected,
                 next < top->view.count ? top->view.rows[next].counts.tube : tube.tube);
    if (key == 's' || key == 'S') {
        top->sort = (top->sort + (key == 's' ? 1 : TOP_SORTS - 1)) % TOP_SORTS;
        make_view(top);
    } else if (key == 'p' && tube.tube[0] != '\0') {
        change(top, &tube, false);
        *ret_is_changed = true;
    } else if (key == 'k' && tube.buried > 0) {
        top->asking = ASKING_KICK;
        say(top, "%s: kick %" PRIu64 " buried? (y/n)", tube.tube, tube.buried);
    }
    return key != 'q';
}

/* Until a key, a signal or the terminal ends it. */
static void run_screen(struct top *top, int signals)
{
    weir_clock *clock = weir_clock_monotonic();
    int64_t next_ns = 0;
    bool goes_on = true;
    while (goes_on && !top->is_out_of_memory) {
        int64_t start_ns = weir_clock_now(clock);
        if (start_ns >= next_ns) {
            read_broker(top);
            next_ns = top_next(start_ns, weir_clock_now(clock), top->interval_ns,
                               weir_broker_can(top->broker, WEIR_CAN_LIST));
        }
        draw(top);
        struct pollfd polls[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                 {.fd = signals, .events = POLLIN}};
        int64_t left_ms = (next_ns - weir_clock_now(clock)) / WEIR_MS(1) + 1;
        (void)poll(polls, 2, left_ms < 0 ? 0 : left_ms > 60000 ? 60000 : (int)left_ms);
        goes_on = polls[1].revents == 0 && (polls[0].revents & ~POLLIN) == 0;
        bool is_changed = false;
        /* After a change the next key is for what it has made. */
        for (int key = ERR; goes_on && !is_changed && (key = getch()) != ERR;) {
            goes_on = press(top, key, &is_changed);
        }
        next_ns = is_changed ? 0 : next_ns;
    }
}

static int act(struct arguments *arguments, void *arg)
{
    struct top *top = arg;
    struct store store;
    struct signals signals;
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1) {
        return report(EX_USAGE, "standard input and output: no terminal; expected one, or use "
                                "`weir stats`");
    }
    arguments->log = keep_warning;
    arguments->log_arg = top;
    top->lock_wait_ns = arguments->lock_wait_ns;
    signals_block(&signals, false);
    int code = store_open(&store, arguments, STORE_READ);
    if (code == EX_OK) {
        /* From here on standard error is the screen: warnings are shown in its last line. */
        top->broker = store.broker;
        top->url = store.url;
        /* newterm() keeps some memory where it fails, so that the terminal is looked up first. */
        int problem = 0;
        bool is_known =
            setupterm(NULL, STDOUT_FILENO, &problem) == OK && del_curterm(cur_term) == OK;
        SCREEN *screen = is_known ? newterm(NULL, stdout, stdin) : NULL;
        if (screen == NULL) {
            const char *name = getenv("TERM");
            code = report(EX_USAGE, "$TERM: %s: no such terminal is known; expected e.g. xterm",
                          quote(name == NULL ? "" : name).text);
        } else {
            (void)cbreak();
            (void)noecho();
            (void)curs_set(0);
            (void)keypad(stdscr, true);
            (void)nodelay(stdscr, true);
            run_screen(top, signals.fd);
            (void)endwin();
            delscreen(screen);
            code = top->is_out_of_memory ? report_status(WEIR_ENOMEM, "tubes", NULL) : EX_OK;
        }
    }
    store_close(&store);
    (void)close(signals.fd);
    return code;
}

static int run_top(const struct command *command, int argc, char **argv)
{
    struct top top = {.interval_ns = INTERVAL_DEFAULT, .mutex = PTHREAD_MUTEX_INITIALIZER};
    int code = arguments_run(command, argc, argv, set_option, act, &top);
    free(top.samples[0].rows);
    free(top.samples[1].rows);
    free(top.view.rows);
    return code;
}

const struct command command_top = {
    .name = "top",
    .operands = "",
    .summary = "watch the tubes on a full screen; pause them and kick their jobs",
    .examples = "  weir top\n"
                "  weir top --interval 5s --broker beanstalk://a:11300,b:11300\n",
    .options = top_options,
    .run = run_top,
};
