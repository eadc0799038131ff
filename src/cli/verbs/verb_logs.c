/*
 * verb_logs.c - `faina logs`: the stderr output of handlers.
 *
 * A worker stores the log of an attempt in the event "attempt". That event doesn't contain the
 * attempt's number, so the events are read from the first one on: each claim begins an attempt,
 * unless the task only resumes after its subtasks. A released claim doesn't count.
 */
#include "cli/verbs.h"

#include "cli/text.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/times.h"

/* The time in which a worker held the task, from the claim on. */
struct hold {
    int64_t number; /* of the attempt; that of the previous hold when it resumed the task */
    bool is_counted;
    const char *worker;
    const char *end;                 /* the event that ended it; NULL: the task is still held */
    const struct faina_event *event; /* "attempt"; NULL: there is no log */
};

struct history {
    struct hold *holds;
    size_t count;
    int64_t attempts; /* how many were counted */
    bool is_held;     /* the last hold hasn't ended */
    bool is_resumed;  /* the next hold is no new attempt */
};

static void begin_hold(struct history *history, const struct faina_event *event)
{
    struct hold *hold = &history->holds[history->count++];

    hold->is_counted = !history->is_resumed;
    history->attempts += hold->is_counted;
    hold->number = history->attempts;
    hold->worker = event->worker_id;
    history->is_held = true;
    history->is_resumed = false;
}

static void end_hold(struct history *history, const struct faina_event *event)
{
    struct hold *hold = &history->holds[history->count - 1];

    hold->end = event->what;
    history->is_held = false;
    if (strcmp(event->what, "released") != 0)
        return;
    history->is_resumed = !hold->is_counted;
    history->attempts -= hold->is_counted;
}

/* The log is stored when its process has ended. Another worker may hold the task by then. */
static void add_log(struct history *history, const struct faina_event *event)
{
    /* It was valid when it was stored, but the file may be damaged. */
    if (!event->detail || fa_json_check(fa_str(event->detail), FA_JSON_DEPTH_MAX + 1, "detail",
                                        FAINA_INTERNAL, NULL) != FAINA_OK)
        return;
    for (size_t i = history->count; i > 0; i--) {
        struct hold *hold = &history->holds[i - 1];

        if (hold->event == NULL && hold->worker && event->worker_id &&
            strcmp(hold->worker, event->worker_id) == 0) {
            hold->event = event;
            return;
        }
    }
    /* The claim's event was removed. */
    history->holds[history->count++] =
        (struct hold){.number = history->attempts, .end = "", .event = event};
}

static bool is_word(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

/* Reads the events, which are sorted newest first. */
static void read_history(struct fa_arena *arena, const struct faina_events *events,
                         int64_t attempts_made, struct history *history)
{
    *history =
        (struct history){.holds = fa_arena_zero(arena, events->count + 1, sizeof(*history->holds))};
    for (size_t i = events->count; i > 0; i--) {
        const struct faina_event *event = &events->items[i - 1];

        if (is_word(event->what, "attempt"))
            add_log(history, event);
        else if (is_word(event->what, "claimed") ||
                 (is_word(event->what, "started") && !history->is_held))
            begin_hold(history, event);
        else if (history->is_held && !fa_status_is_held(event->status))
            end_hold(history, event);
        if (is_word(event->what, "unblocked"))
            history->is_resumed = history->count > 0;
    }
    /* Events of the first attempts were removed. */
    for (size_t i = 0; i < history->count && history->attempts < attempts_made; i++)
        history->holds[i].number += attempts_made - history->attempts;
    if (history->attempts < attempts_made)
        history->attempts = attempts_made;
}

/* ------------------------------------------------------------------------------------------
 * Printing
 */

static const char *end_of(const struct hold *hold)
{
    if (!hold->end)
        return "still running";
    if (is_word(hold->end, "retry_scheduled") || is_word(hold->end, "dead_letter"))
        return "failed";
    if (is_word(hold->end, "blocked"))
        return "made subtasks";
    return hold->end;
}

/* "attempt 1, failed, exit code 1, 2030-01-31T12:00:00.000000Z" */
static const char *heading_of(struct fa_arena *arena, const struct hold *hold)
{
    struct fa_json detail = fa_json_value(fa_str(hold->event->detail)), number;
    const char *text = fa_arena_printf(arena, "attempt %lld", (long long)hold->number);
    char time[FA_TIME_SIZE];

    if (end_of(hold)[0])
        text = fa_arena_printf(arena, "%s, %s", text, end_of(hold));
    if (fa_json_member(detail, "exitCode", &number) && number.type == FA_JSON_NUMBER)
        text =
            fa_arena_printf(arena, "%s, exit code %.*s", text, (int)number.raw.len, number.raw.ptr);
    if (fa_json_member(detail, "signal", &number) && number.type == FA_JSON_NUMBER)
        text = fa_arena_printf(arena, "%s, signal %.*s", text, (int)number.raw.len, number.raw.ptr);
    fa_time_format(hold->event->at_us, time);
    return fa_arena_printf(arena, "%s, %s", text, time);
}

/* On a terminal only newlines and tabs are printed as control characters. */
static void print_clean(struct fa_cli *cli, const char *log)
{
    struct fa_arena scratch = {0};

    while (*log) {
        size_t len = strcspn(log, "\n\t"), shown = len;

        if (log[len] == '\n' && len > 0 && log[len - 1] == '\r')
            shown--;
        fa_outf(cli, "%s", fa_text_clean(&scratch, fa_arena_copy(&scratch, log, shown)));
        if (log[len])
            fa_out(cli, log + len, 1);
        log += len + (log[len] != '\0');
        fa_arena_reset(&scratch);
    }
    fa_arena_finish(&scratch);
}

static const char *log_of(struct fa_arena *arena, const struct hold *hold)
{
    return fa_json_member_text(fa_json_value(fa_str(hold->event->detail)), "log", arena);
}

static void print_log(struct fa_cli *cli, const struct hold *hold, bool is_last)
{
    const char *log = log_of(&cli->arena, hold);
    struct fa_json cut;

    if (!log || !log[0])
        return;
    if (cli->out_is_tty)
        print_clean(cli, log);
    else
        fa_outf(cli, "%s", log);
    if (log[strlen(log) - 1] != '\n' && (cli->out_is_tty || !is_last))
        fa_outf(cli, "\n");
    if (!fa_json_member(fa_json_value(fa_str(hold->event->detail)), "logIsCut", &cut) ||
        cut.type != FA_JSON_TRUE)
        return;
    fflush(stdout);
    fa_cli_note(cli, "Attempt %lld wrote more; only the end of its log is stored.",
                (long long)hold->number);
}

static void put_item(struct fa_json_writer *w, struct fa_arena *arena, const struct hold *hold)
{
    static const char *const members[] = {"exitCode",    "signal", "seconds", "cpuSeconds",
                                          "memoryBytes", "log",    "logIsCut"};
    struct fa_json detail = fa_json_value(fa_str(hold->event->detail));
    char time[FA_TIME_SIZE];

    fa_time_format(hold->event->at_us, time);
    fa_json_begin_object(w);
    fa_json_set_int(w, "attempt", hold->number);
    fa_json_set_str(w, "event", hold->end && hold->end[0] ? hold->end : NULL);
    fa_json_set_str(w, "at", time);
    fa_json_set_str(w, "workerId", hold->event->worker_id);
    for (size_t i = 0; i < FA_COUNT(members); i++)
        fa_json_set_raw(w, members[i], fa_json_member_raw(detail, members[i], arena));
    fa_json_end_object(w);
}

/* Prints why there is no log. */
static void explain_no_log(struct fa_cli *cli, const struct history *history,
                           const struct hold *holds, size_t count, size_t logged)
{
    if (history->attempts == 0)
        fa_cli_note(cli, "No log: there has been no attempt yet.");
    else if (logged > 0)
        fa_cli_note(cli, "No log: the handler wrote nothing to stderr.");
    else if (count > 0 && !holds[count - 1].end)
        fa_cli_note(cli, "No log yet: it is stored when the attempt has ended.");
    else
        fa_cli_note(cli, "No log: only handlers of \"faina worker\" and \"faina serve\" have one, "
                         "not workers over HTTP or verbs used by hand.");
}

/* The holds of attempt number `wanted` (0: all). */
static size_t pick(const struct history *history, int64_t wanted, struct hold *out)
{
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++)
        if (wanted == 0 || history->holds[i].number == wanted)
            out[count++] = history->holds[i];
    return count;
}

static void print_text(struct fa_cli *cli, const struct history *history, struct hold *holds,
                       size_t count, bool has_headings)
{
    size_t logged = 0, written = 0, left;

    for (size_t i = 0; i < count; i++) {
        const char *log = holds[i].event ? log_of(&cli->arena, &holds[i]) : NULL;

        logged += holds[i].event != NULL;
        written += log && log[0];
    }
    if (written == 0) {
        explain_no_log(cli, history, holds, count, logged);
        return;
    }
    left = logged;
    for (size_t i = 0; i < count && !fa_out_is_broken(cli); i++) {
        if (!holds[i].event)
            continue;
        left--;
        if (has_headings && logged > 1)
            fa_outf(cli, "%s==> %s <==%s\n", fa_style_on(cli, FA_BOLD),
                    fa_text_clean(&cli->arena, heading_of(&cli->arena, &holds[i])),
                    fa_style_off(cli, FA_BOLD));
        print_log(cli, &holds[i], left == 0);
    }
}

static void print_json(struct fa_cli *cli, const struct hold *holds, size_t count)
{
    struct fa_out_list list;

    fa_out_list_begin(cli, &list, "items");
    for (size_t i = 0; i < count; i++)
        if (holds[i].event)
            put_item(fa_out_list_item(&list), &cli->arena, &holds[i]);
    fa_out_list_end(&list);
}

int fa_verb_logs(struct fa_cli *cli)
{
    struct fa_op get = {.kind = FA_OP_GET, .id = cli->args[0]};
    struct fa_op op = {.kind = FA_OP_EVENTS, .id = cli->args[0]};
    struct history history;
    struct hold *holds;
    int64_t wanted = 0;
    size_t count;
    int code = fa_flag_int(cli, "attempt", 1, INT64_MAX, &wanted);

    op.page.limit = FA_LIST_LIMIT_MAX;
    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &get);
    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    read_history(&cli->arena, op.events, get.task->attempts, &history);
    if (wanted > history.attempts) {
        struct faina_error err;

        fa_error_set(&err, FAINA_NOT_FOUND, "task %s has no attempt %lld: there %s", op.id,
                     (long long)wanted,
                     history.attempts == 0 ? "was none yet"
                     : history.attempts == 1
                         ? "was 1"
                         : fa_arena_printf(&cli->arena, "were %lld", (long long)history.attempts));
        return fa_cli_fail(cli, &err);
    }
    holds = fa_arena_zero(&cli->arena, history.count + 1, sizeof(*holds));
    count = pick(&history, wanted, holds);
    if (fa_cli_wants_json(cli))
        print_json(cli, holds, count);
    else
        print_text(cli, &history, holds, count, wanted == 0);
    return code;
}
