/*
 * verb_logs.c - `faina logs`: the stderr output of handlers.
 *
 * When an attempt has ended, its worker stores the log in the event "attempt". Before that, and if
 * the worker was killed, the parts that were stored so far are read.
 */
#include "cli/verbs.h"

#include "cli/text.h"
#include "model/attempts.h"
#include "model/limits.h"
#include "model/times.h"

#include <time.h>

#define PARTS_MAX 100 /* attempts without a note whose log is read */

/* ------------------------------------------------------------------------------------------
 * Printing
 */

static bool is_word(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

static const char *end_of(const struct fa_hold *hold)
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
static const char *heading_of(struct fa_arena *arena, const struct fa_hold *hold)
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

static const char *log_of(struct fa_arena *arena, const struct fa_hold *hold)
{
    return fa_json_member_text(fa_json_value(fa_str(hold->event->detail)), "log", arena);
}

static void print_log(struct fa_cli *cli, const struct fa_hold *hold, bool is_last)
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

static void put_item(struct fa_json_writer *w, struct fa_arena *arena, const struct fa_hold *hold)
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
static void explain_no_log(struct fa_cli *cli, const struct fa_attempts *history,
                           const struct fa_hold *holds, size_t count, size_t logged)
{
    if (history->attempts == 0)
        fa_cli_note(cli, "No log: there has been no attempt yet.");
    else if (logged > 0)
        fa_cli_note(cli, "No log: the handler wrote nothing to stderr.");
    else if (count > 0 && !holds[count - 1].end)
        fa_cli_note(cli, "No log yet: the attempt runs, and has written nothing so far.");
    else
        fa_cli_note(cli, "No log: handlers of \"faina worker\" and \"faina serve\" have one, and "
                         "workers that send lines to /tasks/{id}/log.");
}

/* The holds of attempt number `wanted` (0: all). */
static size_t pick(const struct fa_attempts *history, int64_t wanted, struct fa_hold *out)
{
    size_t count = 0;

    for (size_t i = 0; i < history->count; i++)
        if (wanted == 0 || history->holds[i].number == wanted)
            out[count++] = history->holds[i];
    return count;
}

static void print_text(struct fa_cli *cli, const struct fa_attempts *history, struct fa_hold *holds,
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

static void print_json(struct fa_cli *cli, const struct fa_hold *holds, size_t count)
{
    struct fa_out_list list;

    fa_out_list_begin(cli, &list, "items");
    for (size_t i = 0; i < count; i++)
        if (holds[i].event)
            put_item(fa_out_list_item(&list), &cli->arena, &holds[i]);
    fa_out_list_end(&list);
}

/* The log of an attempt that runs, or whose worker was killed, in the form of a note. */
static void read_parts(struct fa_cli *cli, const char *id, struct fa_hold *hold)
{
    struct fa_op op = {.kind = FA_OP_LOG, .id = id, .arena = &cli->arena};
    struct faina_event *event;
    struct fa_json_writer w;
    struct fa_buf detail;

    op.log.attempt = hold->number;
    fa_service_run(cli->service, &op, 1);
    if (op.code != FAINA_OK || op.log_answer->text[0] == '\0')
        return;
    fa_buf_init(&detail, SIZE_MAX / 2);
    fa_json_writer_init(&w, &detail, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "log", op.log_answer->text);
    fa_json_set_bool(&w, "logIsCut", op.log_answer->is_cut);
    fa_json_end_object(&w);
    event = fa_arena_zero(&cli->arena, 1, sizeof(*event));
    event->at_us = hold->claimed_us;
    event->worker_id = hold->worker;
    event->detail = fa_arena_copy(&cli->arena, detail.ptr, detail.len);
    hold->event = event;
    fa_buf_finish(&detail);
}

#define FOLLOW_INTERVAL_US 250000

/* Prints the log of an attempt as it grows, until the attempt has ended. */
static int follow(struct fa_cli *cli, int64_t attempt)
{
    struct fa_log_place place = {0};
    int code = FA_EXIT_OK;
    bool is_open = true;

    while (code == FA_EXIT_OK && is_open && !fa_out_is_broken(cli)) {
        struct fa_arena arena = {0};
        struct fa_op op = {.kind = FA_OP_LOG, .id = cli->args[0], .arena = &arena};

        op.log.attempt = attempt;
        code = fa_cli_run(cli, &op);
        if (code == FA_EXIT_OK) {
            const char *rest = fa_log_rest(&place, op.log_answer);

            attempt = op.log_answer->attempt;
            is_open = op.log_answer->is_open;
            if (cli->out_is_tty)
                print_clean(cli, rest);
            else
                fa_outf(cli, "%s", rest);
            fflush(stdout);
        }
        fa_arena_finish(&arena);
        if (code == FA_EXIT_OK && is_open)
            nanosleep(&(struct timespec){.tv_nsec = FOLLOW_INTERVAL_US * 1000L}, NULL);
    }
    return code;
}

int fa_verb_logs(struct fa_cli *cli)
{
    struct fa_op get = {.kind = FA_OP_GET, .id = cli->args[0]};
    struct fa_op op = {.kind = FA_OP_EVENTS, .id = cli->args[0]};
    struct fa_attempts history;
    struct fa_hold *holds;
    int64_t wanted = 0;
    size_t count;
    int code = fa_flag_int(cli, "attempt", 1, INT64_MAX, &wanted);

    op.page.limit = FA_LIST_LIMIT_MAX;
    if (code == FA_EXIT_OK && fa_flag_is_given(cli, "follow"))
        return follow(cli, wanted);
    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &get);
    op.id = get.id;
    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    fa_attempts_read(&cli->arena, op.events, get.task->attempts, &history);
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
    for (size_t i = count > PARTS_MAX ? count - PARTS_MAX : 0; i < count; i++)
        if (!holds[i].event && (!holds[i].end || holds[i].end[0]))
            read_parts(cli, op.id, &holds[i]);
    if (fa_cli_wants_json(cli))
        print_json(cli, holds, count);
    else
        print_text(cli, &history, holds, count, wanted == 0);
    return code;
}
