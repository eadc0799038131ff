/*
 * verb_watch.c - `faina watch`: polls the newest tasks and prints the changes.
 *
 * The store is closed between two polls, so that other processes can open it. A changed task is
 * found by its version, which grows with every change.
 *
 * A terminal shows the table on its alternate screen, which is left at the end, on Ctrl-Z, and
 * before an error is printed.
 *
 * Signals are blocked and waited for between two polls, so they never interrupt one. A change of
 * the terminal's size makes the next poll come at once.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/print.h"
#include "cli/screen.h"
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
#define HELD (1u << FAINA_CLAIMED | 1u << FAINA_RUNNING)

struct seen {
    char id[FAINA_ID_SIZE];
    int64_t version;
};

struct watch {
    struct fa_cli *cli;
    struct faina_query query;
    int64_t interval_ms;
    struct seen *seen; /* the tasks of the last poll; NULL before the first */
    size_t seen_count;
    bool has_screen; /* the terminal has an alternate screen ... */
    bool is_on;      /* ... and shows it */
};

static void show_screen(struct watch *watch, bool is_on)
{
    if (!watch->has_screen || watch->is_on == is_on)
        return;
    watch->is_on = is_on;
    if (is_on)
        fa_screen_enter();
    else
        fa_screen_leave();
}

static void block_signals(sigset_t *signals)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

    sigemptyset(signals);
    for (size_t i = 0; i < FA_COUNT(numbers); i++)
        sigaddset(signals, numbers[i]);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
}

/* Sleeps, and stops on Ctrl-Z. True: a signal is to end the verb. */
static bool sleep_or_end(struct watch *watch, const sigset_t *signals)
{
    struct timespec time = {.tv_sec = (time_t)(watch->interval_ms / 1000),
                            .tv_nsec = (long)(watch->interval_ms % 1000) * 1000000};
    int number = sigtimedwait(signals, NULL, &time);

    if (number == SIGTSTP) {
        show_screen(watch, false);
        raise(SIGSTOP);
    }
    return number > 0 && number != SIGTSTP && number != SIGWINCH;
}

static bool is_changed(const struct watch *watch, const struct faina_task *task)
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

/* Prints the tasks that changed since the last poll, oldest first. The first poll prints none. */
static void print_changes(struct watch *watch, const struct faina_tasks *tasks)
{
    for (size_t i = tasks->count; watch->seen && i > 0; i--)
        if (is_changed(watch, &tasks->items[i - 1]))
            fa_print_task_json(watch->cli, &tasks->items[i - 1]);
    remember(watch, tasks);
}

static int screen_rows(void)
{
    struct winsize size;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 6 ? size.ws_row : 24;
}

/* The terminal may have another width since the last poll. */
static void read_width(struct fa_cli *cli)
{
    struct winsize size;

    if (!getenv("COLUMNS") && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        cli->width = cli->table_width = size.ws_col;
}

/* The result of one poll. */
struct view {
    const struct faina_tasks *tasks; /* the newest */
    const struct faina_tasks *held;  /* the newest that workers hold; NULL: not queried */
    struct faina_task *rows;         /* the held tasks, then the others */
    size_t row_count;
    struct fa_short_ids ids; /* of these rows */
    int64_t by_status[FAINA_STATUS_COUNT];
    int64_t total;
    bool is_partial; /* there are more than `total` */
};

/* Counts the tasks that the flags select. The engine counts by status and type only; with other
 * flags the newest tasks are counted. */
static void count_tasks(const struct watch *watch, const struct faina_stats *stats,
                        struct view *view)
{
    const struct faina_query *query = &watch->query;
    bool is_listed = query->team_id || query->parent_id;

    for (size_t i = 0; is_listed && i < view->tasks->count; i++)
        view->by_status[view->tasks->items[i].status]++;
    for (enum faina_status status = 0; !is_listed && status < FAINA_STATUS_COUNT; status++)
        if (query->statuses == 0 || query->statuses & 1u << status)
            view->by_status[status] = stats->by_status[status];
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        view->total += view->by_status[status];
    view->is_partial = is_listed && view->tasks->next_cursor;
}

/* "12 pending, 2 running, 1,204 completed" */
static void print_counts(struct fa_cli *cli, const struct view *view)
{
    char count[FA_TEXT_COUNT_SIZE];
    bool is_first = true;

    if (view->is_partial)
        fa_outf(cli, "of the newest %s: ", fa_text_count(view->total, count));
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++) {
        enum fa_style style = fa_style_of(status);

        if (view->by_status[status] == 0)
            continue;
        fa_outf(cli, "%s%s%s %s%s", is_first ? "" : ", ", fa_style_on(cli, style),
                fa_text_count(view->by_status[status], count), faina_status_name(status),
                fa_style_off(cli, style));
        is_first = false;
    }
    fa_outf(cli, "%s\n\n", is_first ? "no tasks" : "");
}

/* The two lists may be of different snapshots, so their statuses can't be compared. */
static bool is_in(const struct faina_tasks *tasks, const char *id)
{
    for (size_t i = 0; tasks && i < tasks->count; i++)
        if (strcmp(tasks->items[i].id, id) == 0)
            return true;
    return false;
}

/* Sets the rows, as many as have room. */
static void arrange(struct watch *watch, struct view *view, struct fa_arena *arena)
{
    size_t held = view->held ? view->held->count : 0, room = (size_t)screen_rows() - 4;
    size_t count = 0;

    view->rows = fa_arena_zero(arena, held + view->tasks->count + 1, sizeof(*view->rows));
    for (size_t i = 0; i < held; i++)
        view->rows[count++] = view->held->items[i];
    for (size_t i = 0; i < view->tasks->count; i++)
        if (!is_in(view->held, view->tasks->items[i].id))
            view->rows[count++] = view->tasks->items[i];
    if (count > (size_t)watch->query.limit)
        count = (size_t)watch->query.limit;
    if (count + (view->total > (int64_t)count) > room)
        count = room - 1; /* the last line is "... N more" */
    view->row_count = count;
}

static void draw(struct watch *watch, const struct view *view)
{
    struct fa_cli *cli = watch->cli;
    size_t count = view->row_count;
    char more[FA_TEXT_COUNT_SIZE];

    show_screen(watch, true);
    if (watch->is_on)
        fa_outf(cli, "\033[H\033[2J");
    else if (watch->seen)
        fa_outf(cli, "\n");
    print_counts(cli, view);
    if (count > 0)
        fa_print_task_table(cli, view->rows, count, view->ids, count);
    if (view->total > (int64_t)count)
        fa_outf(cli, "... %s more\n", fa_text_count(view->total - (int64_t)count, more));
    fflush(stdout);
}

/* One poll. The first must succeed; later the store may be in use by another process. */
static int poll_store(struct watch *watch)
{
    struct fa_cli *cli = watch->cli;
    bool is_table = cli->format == FA_CLI_TABLE;
    struct fa_arena arena = {0};
    struct view view = {0};
    struct faina_query held = watch->query;
    struct fa_op ops[3] = {
        {.kind = FA_OP_LIST, .query = &watch->query, .arena = &arena},
        {.kind = FA_OP_STATS, .arena = &arena},
        {.kind = FA_OP_LIST, .query = &held, .arena = &arena},
    };
    size_t op_count = is_table ? 2 : 1;
    struct faina_error err;
    enum faina_code code = fa_cli_try_open(cli, &err);
    int exit_code = FA_EXIT_OK;

    ops[1].name.ns = cli->ns;
    ops[1].name.type = watch->query.type;
    held.statuses = (held.statuses ? held.statuses : HELD) & HELD;
    if (held.limit > screen_rows())
        held.limit = screen_rows();
    /* Held tasks may be older than all tasks of the first list. */
    if (is_table && held.statuses != 0)
        op_count++;
    if (code == FAINA_OK) {
        fa_service_run(cli->service, ops, op_count);
        for (size_t i = 0; i < op_count && code == FAINA_OK; i++) {
            code = ops[i].code;
            err = ops[i].error;
        }
        if (code == FAINA_OK && is_table) {
            read_width(cli);
            view.tasks = ops[0].tasks;
            view.held = op_count > 2 ? ops[2].tasks : NULL;
            count_tasks(watch, ops[1].stats, &view);
            arrange(watch, &view, &arena);
            view.ids = fa_task_ids_of(cli, view.rows, view.row_count);
        }
        fa_cli_close(cli);
    }
    if (code == FAINA_OK && is_table) {
        draw(watch, &view);
        remember(watch, ops[0].tasks);
    } else if (code == FAINA_OK) {
        print_changes(watch, ops[0].tasks);
        fflush(stdout);
    } else if (code != FAINA_UNAVAILABLE || !watch->seen) {
        show_screen(watch, false);
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
    code = fa_cli_task_id(cli, &watch.query.parent_id);
    if (code != FA_EXIT_OK)
        return code;
    watch.has_screen = watch.query.brief && fa_screen_exists(cli);
    block_signals(&signals);
    setvbuf(stdout, NULL, _IOFBF, SCREEN_SIZE); /* one write per screen avoids flicker */
    do {
        code = poll_store(&watch);
    } while (code == FA_EXIT_OK && !fa_out_is_broken(cli) && !sleep_or_end(&watch, &signals));
    show_screen(&watch, false);
    free(watch.seen);
    return code;
}
