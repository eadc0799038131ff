/*
 * print.c - prints tasks to stdout.
 */
#include "cli/print.h"

#include "base/clock.h"
#include "cli/table.h"
#include "cli/text.h"
#include "model/backoff.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/times.h"
#include "wire/wire.h"

#define NOTE_MIN 12 /* columns: the beginning of an error */

const char *fa_print_error_message(struct fa_arena *arena, const struct faina_task *task)
{
    struct fa_json error;

    if (!task->error)
        return NULL;
    /* It was valid when it was stored, but the file may be damaged. */
    if (fa_json_check(fa_str(task->error), FA_JSON_DEPTH_MAX + 1, "error", FAINA_INTERNAL, NULL) !=
        FAINA_OK)
        return task->error;
    error = fa_json_value(fa_str(task->error));
    if (error.type == FA_JSON_STRING)
        return fa_json_text(error, arena);
    return fa_json_member_text(error, "message", arena);
}

static const char *attempt_of(struct fa_arena *arena, const struct faina_task *task)
{
    if (task->max_attempts <= 0)
        return fa_arena_printf(arena, "attempt %lld", (long long)task->attempts);
    return fa_arena_printf(arena, "attempt %lld of %lld", (long long)task->attempts,
                           (long long)task->max_attempts);
}

static const char *pending_note(struct fa_arena *arena, const struct faina_task *task)
{
    int64_t now_us = fa_clock_now_us();
    const char *attempts = "";

    if (task->attempts > 0)
        attempts = fa_arena_printf(arena, "%s made", attempt_of(arena, task));
    if (task->run_at_us > now_us)
        return fa_arena_printf(arena, "%s%sdue %s", attempts, attempts[0] ? ", " : "",
                               fa_text_due(arena, task->run_at_us, now_us));
    return attempts;
}

const char *fa_print_note(struct fa_arena *arena, const struct faina_task *task)
{
    const char *message = fa_print_error_message(arena, task);

    switch (task->status) {
    case FAINA_PENDING:
        return pending_note(arena, task);
    case FAINA_CLAIMED:
        return attempt_of(arena, task);
    case FAINA_RUNNING:
        if (task->progress > 0)
            return fa_arena_printf(arena, "%s, %d %%", attempt_of(arena, task), task->progress);
        return attempt_of(arena, task);
    case FAINA_BLOCKED:
        return "waits for other tasks";
    case FAINA_BACKGROUND:
        return fa_arena_printf(arena, "ends %s at the latest",
                               fa_text_due(arena, task->expires_us, fa_clock_now_us()));
    case FAINA_DEAD_LETTER:
        return fa_arena_printf(arena, "after %s%s%s",
                               fa_text_plural(arena, task->attempts, "attempt"),
                               message ? ": " : "", message ? message : "");
    case FAINA_FAILED:
        return message ? message : "";
    case FAINA_COMPLETED:
    case FAINA_CANCELLED:
    case FAINA_STATUS_COUNT:
        break;
    }
    return "";
}

void fa_print_task_json(struct fa_cli *cli, const struct faina_task *task)
{
    struct fa_out_json json;

    fa_out_json_begin(cli, &json);
    fa_wire_put_task(&json.writer, task);
    fa_out_json_end(cli, &json);
}

void fa_print_change(struct fa_cli *cli, const struct faina_task *task)
{
    struct fa_arena scratch = {0};
    enum fa_style style = fa_style_of(task->status);
    const char *note;

    if (cli->format != FA_CLI_TABLE) {
        fa_print_task_json(cli, task);
        return;
    }
    note = fa_text_clean(&scratch, fa_print_note(&scratch, task));
    fa_outf(cli, "%s%s%s %s%s%s%s\n", fa_style_on(cli, style), faina_status_name(task->status),
            fa_style_off(cli, style), task->id, note[0] ? " (" : "", note, note[0] ? ")" : "");
    fa_arena_finish(&scratch);
}

/* ------------------------------------------------------------------------------------------
 * A record
 */

static const char *join(struct fa_arena *arena, const char *const *texts, size_t count)
{
    return count == 0 ? NULL : fa_text_join(arena, texts, count, ", ");
}

static const char *time_and(struct fa_arena *arena, int64_t us, const char *note)
{
    char text[FA_TIME_SIZE];

    if (us == 0)
        return NULL;
    fa_time_format(us, text);
    return fa_arena_printf(arena, "%s (%s)", text, note);
}

/* "2030-01-31T12:00:00.000000Z (4 min ago)" */
static const char *time_and_age(struct fa_arena *arena, int64_t us)
{
    return time_and(arena, us, fa_text_age(arena, us, fa_clock_now_us()));
}

/* "2030-01-31T12:00:00.000000Z (in 4 min)" */
static const char *time_and_due(struct fa_arena *arena, int64_t us)
{
    return time_and(arena, us, fa_text_due(arena, us, fa_clock_now_us()));
}

/* How long it ran, or has been running. */
static const char *run_time(struct fa_arena *arena, const struct faina_task *task)
{
    int64_t end_us = task->completed_us;
    char text[FA_TIME_SIZE];

    if (task->started_us == 0 || (end_us == 0 && !fa_status_uses_resources(task->status)))
        return NULL;
    if (end_us == 0)
        end_us = fa_clock_now_us();
    fa_duration_format(end_us - task->started_us, text);
    return fa_arena_strdup(arena, text);
}

/* A name that only repeats the type isn't printed. */
static bool has_own_name(const struct faina_task *task)
{
    return task->name && strcmp(task->name, task->type) != 0;
}

/* The state, unless it only repeats the status. */
static const char *own_state(const struct faina_task *task)
{
    if (!task->state || strcasecmp(task->state, faina_status_name(task->status)) == 0 ||
        (task->status == FAINA_PENDING && strcmp(task->state, "Queued") == 0))
        return "";
    return task->state;
}

/* "10 s, then 3 times as long each time, at most 1 h"; NULL: the default. */
static const char *retry_of(struct fa_arena *arena, const struct faina_task *task)
{
    struct faina_retry_policy standard = fa_backoff_policy((struct faina_retry_policy){0});
    struct faina_retry_policy own = fa_backoff_policy(task->retry);
    char base[FA_TIME_SIZE], max[FA_TIME_SIZE];

    if (own.base_ms == standard.base_ms && own.factor == standard.factor &&
        own.max_ms == standard.max_ms)
        return NULL;
    fa_duration_format(own.base_ms * 1000, base);
    fa_duration_format(own.max_ms * 1000, max);
    return fa_arena_printf(arena, "%s, then %g times as long each time, at most %s", base,
                           own.factor, max);
}

/* How long the waits between all attempts of a task that waits can take; NULL: no limit. */
static const char *retries_of(struct fa_arena *arena, const struct faina_task *task)
{
    int64_t total_ms = fa_backoff_total_ms(task->retry, task->max_attempts);
    char total[FA_TIME_SIZE];

    if (total_ms <= 0 || total_ms > FA_DURATION_MS_MAX || task->attempts == 0 ||
        fa_status_is_ended(task->status))
        return NULL;
    fa_duration_format(total_ms * 1000, total);
    return fa_arena_printf(arena, "the waits between all attempts take up to %s", total);
}

static void print_record(struct fa_cli *cli, const struct faina_task *task)
{
    struct fa_arena *arena = &cli->arena;
    const char *note = fa_print_note(arena, task);
    const char *id_or_null = task->parent_id[0] ? task->parent_id : NULL;

    fa_record_line(cli, "id", FA_PLAIN, task->id);
    fa_record_line(cli, "type", FA_PLAIN, task->type);
    if (has_own_name(task))
        fa_record_line(cli, "name", FA_PLAIN, task->name);
    fa_record_line(cli, "namespace", FA_PLAIN, task->ns);
    fa_record_line(cli, "status", fa_style_of(task->status),
                   fa_arena_printf(arena, "%s%s%s%s", faina_status_name(task->status),
                                   note[0] ? " (" : "", note, note[0] ? ")" : ""));
    if (own_state(task)[0])
        fa_record_line(cli, "state", FA_PLAIN, task->state);
    fa_record_line(cli, "priority", FA_PLAIN, fa_arena_printf(arena, "%d", task->priority));
    fa_record_line(cli, "attempts", FA_PLAIN,
                   task->max_attempts > 0
                       ? fa_arena_printf(arena, "%lld of %lld", (long long)task->attempts,
                                         (long long)task->max_attempts)
                       : fa_arena_printf(arena, "%lld, no limit", (long long)task->attempts));
    fa_record_line(cli, "retry", FA_PLAIN, retry_of(arena, task));
    fa_record_line(cli, "retries", FA_PLAIN, retries_of(arena, task));
    fa_record_line(cli, "key", FA_PLAIN, task->idempotency_key);
    fa_record_line(cli, "keyScope", FA_PLAIN, task->key_scope);
    fa_record_line(cli, "inputHash", FA_PLAIN, task->input_hash);
    fa_record_line(cli, "input", FA_PLAIN, task->input);
    fa_record_line(cli, "output", FA_PLAIN, task->output);
    fa_record_line(cli, "error", FA_RED, task->error);
    fa_record_line(cli, "metadata", FA_PLAIN, task->metadata);
    fa_record_line(cli, "spec", FA_PLAIN, task->spec);
    fa_record_line(cli, "resources", FA_PLAIN, join(arena, task->resources, task->resource_count));
    fa_record_line(cli, "dependsOn", FA_PLAIN,
                   join(arena, task->depends_on, task->depends_on_count));
    fa_record_line(cli, "parent", FA_PLAIN, id_or_null);
    fa_record_line(cli, "team", FA_PLAIN, task->team_id[0] ? task->team_id : NULL);
    fa_record_line(cli, "group", FA_PLAIN, task->group);
    fa_record_line(cli, "createdBy", FA_PLAIN, task->created_by);
    if (task->origin)
        fa_record_line(
            cli, "origin", FA_PLAIN,
            fa_arena_printf(&cli->arena, "%s of %s version %lld%s%s", task->origin->trigger,
                            task->origin->workflow, (long long)task->origin->version,
                            task->origin->event_id[0] ? ", event " : "", task->origin->event_id));
    fa_record_line(cli, "worker", FA_PLAIN, task->worker_id);
    fa_record_line(cli, "lease until", FA_PLAIN, time_and_due(arena, task->lease_expires_us));
    fa_record_line(cli, "run at", FA_PLAIN, time_and_due(arena, task->run_at_us));
    if (task->timeout_ms > 0) {
        char timeout[FA_TIME_SIZE];

        fa_duration_format(task->timeout_ms * 1000, timeout);
        fa_record_line(cli, "timeout", FA_PLAIN, timeout);
    }
    fa_record_line(cli, "start by", FA_PLAIN, time_and_due(arena, task->start_by_us));
    fa_record_line(cli, "expires", FA_PLAIN, time_and_due(arena, task->expires_us));
    fa_record_line(cli, "created", FA_PLAIN, time_and_age(arena, task->created_us));
    fa_record_line(cli, "claimed", FA_PLAIN, time_and_age(arena, task->claimed_us));
    fa_record_line(cli, "started", FA_PLAIN, time_and_age(arena, task->started_us));
    fa_record_line(cli, "ended", FA_PLAIN, time_and_age(arena, task->completed_us));
    fa_record_line(cli, "run time", FA_PLAIN, run_time(arena, task));
    fa_record_line(cli, "version", FA_PLAIN,
                   fa_arena_printf(arena, "%lld", (long long)task->version));
}

void fa_print_task(struct fa_cli *cli, const struct faina_task *task)
{
    if (cli->format == FA_CLI_TABLE)
        print_record(cli, task);
    else
        fa_print_task_json(cli, task);
}

/* ------------------------------------------------------------------------------------------
 * A table
 */

/* The text for the column NOTE: the error, the progress or the state; "" when there is none. */
static const char *note_of(struct fa_arena *arena, const struct faina_task *task)
{
    const char *message = fa_print_error_message(arena, task);
    const char *state = own_state(task);

    if (message)
        return message;
    if (fa_status_is_held(task->status) && task->progress > 0)
        return fa_arena_printf(arena, "%d %%%s%s", task->progress, state[0] ? " " : "", state);
    return state;
}

/* The optional columns of a table of tasks. */
struct extras {
    bool has_ns, has_due, has_notes, has_names;
};

static bool is_delayed(const struct faina_task *task, int64_t now_us)
{
    return task->status == FAINA_PENDING && task->run_at_us > now_us;
}

static struct extras find_extras(const struct fa_cli *cli, const struct faina_task *tasks,
                                 size_t count, int64_t now_us)
{
    struct extras extras = {.has_ns = fa_cli_is_all_namespaces(cli)};
    struct fa_arena scratch = {0};

    for (size_t i = 0; i < count; i++) {
        extras.has_due |= is_delayed(&tasks[i], now_us);
        extras.has_notes |= note_of(&scratch, &tasks[i])[0] != '\0';
        extras.has_names |= has_own_name(&tasks[i]);
    }
    fa_arena_finish(&scratch);
    return extras;
}

static void add_row(struct fa_table *table, const struct faina_task *task, struct extras extras,
                    struct fa_short_ids ids, int64_t now_us)
{
    struct fa_arena *arena = &table->arena;

    fa_table_add(table, FA_PLAIN, fa_short_id(ids, task->id, arena));
    fa_table_add(table, fa_style_of(task->status), faina_status_name(task->status));
    /* The clock of the process that stored it may be ahead. */
    fa_table_add(
        table, FA_PLAIN,
        fa_text_roughly(arena, task->created_us < now_us ? task->created_us : now_us, now_us));
    fa_table_add(table, FA_PLAIN,
                 extras.has_ns ? fa_arena_printf(arena, "%s/%s", task->ns, task->type)
                               : task->type);
    if (extras.has_due)
        fa_table_add(table, FA_PLAIN,
                     is_delayed(task, now_us) ? fa_text_roughly(arena, task->run_at_us, now_us)
                                              : NULL);
    if (task->max_attempts > 0)
        fa_table_addf(table, "%lld/%lld", (long long)task->attempts, (long long)task->max_attempts);
    else
        fa_table_addf(table, "%lld", (long long)task->attempts);
    if (extras.has_notes)
        fa_table_add(table, FA_PLAIN, note_of(arena, task));
    if (extras.has_names)
        fa_table_add(table, FA_PLAIN, has_own_name(task) ? task->name : "");
}

struct fa_short_ids fa_task_ids_of(struct fa_cli *cli, const struct faina_task *tasks, size_t count)
{
    struct fa_arena scratch = {0};
    const char **ids = fa_arena_zero(&scratch, count + 1, sizeof(*ids));
    struct fa_short_ids how;

    for (size_t i = 0; i < count; i++)
        ids[i] = tasks[i].id;
    how = fa_short_ids_of(cli, ids, count);
    fa_arena_finish(&scratch);
    return how;
}

void fa_print_task_table(struct fa_cli *cli, const struct faina_task *tasks, size_t count,
                         struct fa_short_ids ids, size_t row_max)
{
    int64_t now_us = fa_clock_now_us();
    struct extras extras = find_extras(cli, tasks, count, now_us);
    struct fa_column columns[8] = {
        {"ID", 0},
        {"STATUS", 0},
        {"AGE", 0},
        {extras.has_ns ? "NAMESPACE/TYPE" : "TYPE", FA_COLUMN_FLEXIBLE},
    };
    size_t column_count = 4;
    struct fa_table table;

    if (extras.has_due)
        columns[column_count++] = (struct fa_column){"DUE", 0};
    columns[column_count++] = (struct fa_column){"TRIES", FA_COLUMN_RIGHT};
    if (extras.has_notes)
        columns[column_count++] = (struct fa_column){"NOTE", FA_COLUMN_FLEXIBLE, NOTE_MIN};
    if (extras.has_names)
        columns[column_count++] = (struct fa_column){"NAME", FA_COLUMN_FLEXIBLE};
    fa_table_init(&table, columns, column_count);
    for (size_t i = 0; i < count; i++)
        add_row(&table, &tasks[i], extras, ids, now_us);
    fa_table_print(&table, cli, row_max);
    fa_table_finish(&table);
}
