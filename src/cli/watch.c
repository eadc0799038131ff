/*
 * watch.c - `faina watch`: looks at the newest tasks again and again, and shows what changed.
 *
 * The store is let go between two looks, so that others can work in it. What changed is found by
 * the version of each task, which grows with every change.
 *
 * Ctrl-C: the signals are blocked and waited for, so that the end comes between two looks and never
 * in the middle of one.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/print.h"
#include "cli/text.h"
#include "model/limits.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_MS_DEFAULT 1000
#define INTERVAL_MS_MIN 50
#define SCREEN_SIZE (256 * 1024)

struct seen {
    char id[FAINA_ID_SIZE];
    int64_t version;
};

struct watch {
    struct fa_cli *cli;
    struct faina_query query;
    int64_t interval_ms;
    struct seen *seen; /* as the last look found it; NULL before the first */
    size_t seen_count;
};

static void block_signals(sigset_t *signals)
{
    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
}

/* Sleeps; true: a signal asks for the end. */
static bool sleep_or_end(const sigset_t *signals, int64_t ms)
{
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    return sigtimedwait(signals, NULL, &time) > 0;
}

static bool is_news(const struct watch *watch, const struct faina_task *task)
{
    for (size_t i = 0; i < watch->seen_count; i++)
        if (strcmp(watch->seen[i].id, task->id) == 0)
            return watch->seen[i].version != task->version;
    return true;
}

static void remember(struct watch *watch, const struct faina_tasks *tasks)
{
    free(watch->seen);
    watch->seen = fa_alloc_zero(tasks->count + 1, sizeof(*watch->seen));
    watch->seen_count = tasks->count;
    for (size_t i = 0; i < tasks->count; i++) {
        memcpy(watch->seen[i].id, tasks->items[i].id, FAINA_ID_SIZE);
        watch->seen[i].version = tasks->items[i].version;
    }
}

/* Prints what is new since the last look, oldest first. The first look only remembers. */
static void print_news(struct watch *watch, const struct faina_tasks *tasks)
{
    for (size_t i = tasks->count; watch->seen && i > 0; i--)
        if (is_news(watch, &tasks->items[i - 1]))
            fa_print_task_json(watch->cli, &tasks->items[i - 1]);
    remember(watch, tasks);
}

static int screen_rows(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 6 ? size.ws_row : 24;
}

/* "12 pending, 2 running, 1,204 completed" */
static void print_counts(struct fa_cli *cli, const struct faina_stats *stats)
{
    bool is_first = true;

    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++) {
        char count[FA_TEXT_COUNT_SIZE];
        enum fa_style style = fa_style_of(status);

        if (stats->by_status[status] == 0)
            continue;
        fa_outf(cli, "%s%s%s %s%s", is_first ? "" : ", ", fa_style_on(cli, style),
                fa_text_count(stats->by_status[status], count), faina_status_name(status),
                fa_style_off(cli, style));
        is_first = false;
    }
    fa_outf(cli, "%s\n\n", is_first ? "no tasks" : "");
}

static void draw(struct watch *watch, const struct faina_tasks *tasks,
                 const struct faina_stats *stats)
{
    struct fa_cli *cli = watch->cli;

    if (cli->out_is_tty)
        fa_outf(cli, "\033[H\033[2J");
    else if (watch->seen)
        fa_outf(cli, "\n");
    print_counts(cli, stats);
    if (tasks->count > 0)
        fa_print_task_table(cli, tasks->items, tasks->count, (size_t)screen_rows() - 4);
    fflush(stdout);
}

/* One look. The first must succeed; later the store may be busy for a while. */
static int look(struct watch *watch)
{
    struct fa_cli *cli = watch->cli;
    struct fa_arena arena = {0};
    struct fa_op ops[2] = {
        {.kind = FA_OP_LIST, .query = &watch->query, .arena = &arena},
        {.kind = FA_OP_STATS, .arena = &arena},
    };
    struct faina_error err;
    enum faina_code code = fa_cli_try_open(cli, &err);
    int exit_code = FA_EXIT_OK;

    ops[1].name.ns = cli->ns;
    if (code == FAINA_OK) {
        fa_service_run(cli->service, ops, FA_COUNT(ops));
        fa_cli_close(cli);
        code = ops[0].code != FAINA_OK ? ops[0].code : ops[1].code;
        err = ops[0].code != FAINA_OK ? ops[0].error : ops[1].error;
    }
    if (code == FAINA_OK && cli->format == FA_CLI_TABLE) {
        draw(watch, ops[0].tasks, ops[1].stats);
        remember(watch, ops[0].tasks);
    } else if (code == FAINA_OK) {
        print_news(watch, ops[0].tasks);
        fflush(stdout);
    } else if (code != FAINA_UNAVAILABLE || !watch->seen) {
        exit_code = fa_cli_fail(cli, &err);
    }
    fa_arena_finish(&arena);
    return exit_code;
}

int fa_verb_watch(struct fa_cli *cli)
{
    struct watch watch = {.cli = cli, .interval_ms = INTERVAL_MS_DEFAULT};
    int64_t limit = FA_LIST_LIMIT_MAX;
    sigset_t signals;
    int code = fa_flag_statuses(cli, &watch.query.statuses);

    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "limit", 1, FA_LIST_LIMIT_MAX, &limit);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "interval", &watch.interval_ms);
    if (code != FA_EXIT_OK)
        return code;
    if (watch.interval_ms < INTERVAL_MS_MIN)
        return fa_cli_usage(cli, "--interval is %d ms at least", INTERVAL_MS_MIN);
    watch.query.ns = cli->ns;
    watch.query.limit = (int)limit;
    watch.query.type = fa_flag(cli, "type");
    watch.query.team_id = fa_flag(cli, "team");
    watch.query.parent_id = fa_flag(cli, "parent");
    watch.query.brief = cli->format == FA_CLI_TABLE;
    block_signals(&signals);
    setvbuf(stdout, NULL, _IOFBF, SCREEN_SIZE); /* a screen in one write doesn't flicker */
    do {
        code = look(&watch);
    } while (code == FA_EXIT_OK && !fa_out_is_broken(cli) &&
             !sleep_or_end(&signals, watch.interval_ms));
    free(watch.seen);
    return code;
}
