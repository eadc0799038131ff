/*
 * verb_schedule.c - schedules: list, set, pause, remove, run, next times.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/print.h"
#include "cli/table.h"
#include "cli/text.h"
#include "model/limits.h"
#include "model/times.h"
#include "wire/schedule_body.h"
#include "wire/wire.h"

#define NEXT_DEFAULT 10
#define NEXT_MAX 1000
#define PAUSE_TRIES 5

/* ------------------------------------------------------------------------------------------
 * Listing
 */

static const char *time_text(struct fa_arena *arena, int64_t us)
{
    char text[FA_TIME_SIZE];

    if (us == 0)
        return NULL;
    fa_time_format(us, text);
    return fa_arena_strdup(arena, text);
}

static const char *jitter_text(struct fa_arena *arena, int64_t ms)
{
    char text[FA_TIME_SIZE];

    if (ms == 0)
        return NULL;
    fa_duration_format(ms * 1000, text);
    return fa_arena_printf(arena, "up to %s", text);
}

static void print_job(struct fa_cli *cli, const struct fa_cron_job *job)
{
    if (cli->format == FA_CLI_TABLE) {
        fa_record_line(cli, "name", FA_PLAIN, job->name);
        fa_record_line(cli, "namespace", FA_PLAIN, job->ns);
        fa_record_line(cli, "schedule", FA_PLAIN, job->schedule);
        fa_record_line(cli, "timezone", FA_PLAIN, job->timezone);
        fa_record_line(cli, "task", FA_PLAIN, job->task);
        fa_record_line(cli, "catch up", FA_PLAIN, fa_catch_up_name(job->catch_up));
        fa_record_line(cli, "overlap", FA_PLAIN, fa_overlap_name(job->overlap));
        fa_record_line(cli, "jitter", FA_PLAIN, jitter_text(&cli->arena, job->jitter_ms));
        fa_record_line(cli, "next", job->is_paused ? FA_YELLOW : FA_PLAIN,
                       job->is_paused ? "paused" : time_text(&cli->arena, job->next_us));
        fa_record_line(cli, "last", FA_PLAIN, time_text(&cli->arena, job->last_us));
        fa_record_line(cli, "problem", FA_RED, job->problem);
        return;
    }
    fa_out_shape(cli, &fa_shape_cron, job);
}

static void add_row(struct fa_table *table, const void *item)
{
    const struct fa_cron_job *job = item;
    int64_t now_us = fa_clock_now_us();

    fa_table_add(table, FA_PLAIN, job->name);
    fa_table_add(table, FA_PLAIN, job->schedule);
    fa_table_add(table, FA_PLAIN, job->timezone);
    if (job->is_paused)
        fa_table_add(table, FA_YELLOW, "paused");
    else
        fa_table_add(table, FA_PLAIN, fa_text_due(&table->arena, job->next_us, now_us));
    fa_table_add(table, FA_PLAIN, fa_text_age(&table->arena, job->last_us, now_us));
    fa_table_add(table, FA_PLAIN, job->task);
    fa_table_add(table, FA_RED, job->problem);
}

static const struct fa_list_view job_view = {
    .shape = &fa_shape_crons,
    .none = "No schedules.",
    .columns = {{"NAME", 0},
                {"SCHEDULE", 0},
                {"ZONE", 0},
                {"NEXT", 0},
                {"LAST", 0},
                {"TASK", FA_COLUMN_FLEXIBLE},
                {"PROBLEM", FA_COLUMN_FLEXIBLE}},
    .add_row = add_row,
};

int fa_verb_cron_ls(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_CRON_LIST, .id = cli->arg_count > 0 ? cli->args[0] : NULL};
    int code;

    op.name.ns = cli->ns;
    if (!op.id || cli->format != FA_CLI_TABLE)
        return fa_list_items(cli, &op, &job_view, op.id != NULL);
    code = fa_cli_run(cli, &op);
    if (code == FA_EXIT_OK)
        print_job(cli, &op.crons->items[0]);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Changing
 */

static void put_number(struct fa_cli *cli, struct fa_json_writer *w, const char *key,
                       const char *flag, int64_t value)
{
    if (!fa_flag(cli, flag))
        return;
    fa_json_key(w, key);
    fa_json_put_int(w, value);
}

static void put_retry(struct fa_json_writer *w, struct faina_retry_policy retry)
{
    if (retry.base_ms == 0)
        return;
    fa_json_key(w, "retry");
    fa_json_begin_object(w);
    fa_json_key(w, "base");
    fa_wire_put_duration(w, retry.base_ms);
    if (retry.factor != 0)
        fa_json_set_double(w, "factor", retry.factor);
    if (retry.max_ms != 0) {
        fa_json_key(w, "max");
        fa_wire_put_duration(w, retry.max_ms);
    }
    fa_json_end_object(w);
}

/* The arguments and flags as the body of a submit. */
static int make_task(struct fa_cli *cli, const char **out)
{
    const char *input = NULL, *metadata = NULL, *const *resources = NULL;
    int64_t priority = 0, attempts = 0, delay_ms = 0;
    struct faina_retry_policy retry = {0};
    size_t resource_count = 0;
    struct fa_json_writer w;
    struct fa_buf text;
    int code = fa_arg_json(cli, 3, "input", &input);

    if (code == FA_EXIT_OK)
        code = fa_flag_json(cli, "metadata", &metadata);
    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "priority", FA_PRIORITY_MIN, FA_PRIORITY_MAX, &priority);
    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "max-attempts", 0, FA_ATTEMPTS_MAX, &attempts);
    if (code == FA_EXIT_OK)
        code = fa_flag_retry(cli, &retry);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "delay", &delay_ms);
    if (code == FA_EXIT_OK)
        code = fa_flag_names(cli, "resource", &resources, &resource_count);
    if (code != FA_EXIT_OK)
        return code;
    fa_buf_init(&text, SIZE_MAX / 2);
    fa_json_writer_init(&w, &text, 0);
    fa_json_begin_object(&w);
    fa_json_opt_str(&w, "type", cli->args[2]);
    fa_json_opt_str(&w, "name", fa_flag(cli, "name"));
    fa_json_opt_raw(&w, "input", input);
    put_number(cli, &w, "priority", "priority", priority);
    put_number(cli, &w, "maxAttempts", "max-attempts", attempts);
    put_retry(&w, retry);
    fa_json_opt_str(&w, "delay", fa_flag(cli, "delay"));
    fa_json_opt_strs(&w, "resources", resources, resource_count);
    fa_json_opt_raw(&w, "metadata", metadata);
    fa_json_end_object(&w);
    *out = fa_arena_copy(&cli->arena, text.ptr, text.len);
    fa_buf_finish(&text);
    return FA_EXIT_OK;
}

int fa_verb_cron_set(struct fa_cli *cli)
{
    struct fa_cron_job job = {.ns = cli->ns,
                              .name = cli->args[0],
                              .schedule = cli->args[1],
                              .timezone = fa_flag(cli, "timezone"),
                              .is_paused = fa_flag_is_given(cli, "paused")};
    struct fa_op op = {.kind = FA_OP_CRON_PUT, .cron = &job};
    struct faina_error err;
    int code;

    fa_error_clear(&err);
    if (fa_catch_up_parse(fa_flag(cli, "catch-up"), &job.catch_up, &err) != FAINA_OK)
        return fa_cli_usage(cli, "--catch-up is none, one or all; not \"%.40s\"",
                            fa_flag(cli, "catch-up"));
    if (fa_overlap_parse(fa_flag(cli, "overlap"), &job.overlap, &err) != FAINA_OK)
        return fa_cli_usage(cli, "--overlap is allow, skip or cancel; not \"%.40s\"",
                            fa_flag(cli, "overlap"));
    code = fa_flag_duration(cli, "jitter", &job.jitter_ms);
    if (code == FA_EXIT_OK)
        code = make_task(cli, &job.task);
    if (code == FA_EXIT_OK && fa_cron_check(&job, FA_INPUT_SIZE_CEILING, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (code == FA_EXIT_OK)
        code = fa_cli_run(cli, &op);
    if (code == FA_EXIT_OK)
        print_job(cli, op.cron_answer);
    return code;
}

int fa_verb_cron_rm(struct fa_cli *cli)
{
    struct fa_op *ops = fa_arena_zero(&cli->arena, cli->arg_count, sizeof(*ops));

    for (size_t i = 0; i < cli->arg_count; i++) {
        ops[i] = (struct fa_op){.kind = FA_OP_CRON_REMOVE, .id = cli->args[i]};
        ops[i].name.ns = cli->ns;
    }
    return fa_cli_remove(cli, ops, "removed schedule");
}

/* Reads the schedule and writes it with the new `paused`. Retries when it was changed between the
 * two. The result is in *op. */
static void set_paused(struct fa_cli *cli, const char *name, bool is_paused, struct fa_op *op)
{
    struct fa_cron_job *job;

    for (int i = 0; i < PAUSE_TRIES; i++) {
        *op = (struct fa_op){.kind = FA_OP_CRON_LIST, .id = name, .arena = &cli->arena};
        op->name.ns = cli->ns;
        fa_service_run(cli->service, op, 1);
        if (op->code != FAINA_OK)
            return;
        job = &op->crons->items[0];
        if (job->is_paused == is_paused) {
            op->cron_answer = job;
            return;
        }
        job->is_paused = is_paused;
        *op = (struct fa_op){.kind = FA_OP_CRON_PUT, .cron = job, .arena = &cli->arena};
        op->by.version = job->version;
        fa_service_run(cli->service, op, 1);
        if (op->code != FAINA_VERSION_CONFLICT)
            return;
    }
}

static void print_paused(struct fa_cli *cli, const struct fa_cron_job *job)
{
    if (job->is_paused)
        fa_outf(cli, "paused schedule %s\n", job->name);
    else
        fa_outf(cli, "resumed schedule %s, next %s\n", job->name,
                job->next_us == 0 ? "never"
                                  : fa_text_due(&cli->arena, job->next_us, fa_clock_now_us()));
}

static int pause_or_resume(struct fa_cli *cli, bool is_paused)
{
    struct fa_op *ops = fa_arena_zero(&cli->arena, cli->arg_count, sizeof(*ops));
    bool is_table = cli->format == FA_CLI_TABLE;
    struct fa_out_list list = {0};
    int code = fa_cli_open(cli);

    if (code != FA_EXIT_OK)
        return code;
    for (size_t i = 0; i < cli->arg_count; i++)
        set_paused(cli, cli->args[i], is_paused, &ops[i]);
    if (!is_table && fa_cli_count_done(ops, cli->arg_count) > 0)
        fa_out_list_begin(cli, &list, cli->arg_count > 1 ? "items" : NULL);
    for (size_t i = 0; i < cli->arg_count; i++) {
        if (ops[i].code != FAINA_OK)
            continue;
        if (is_table)
            print_paused(cli, ops[i].cron_answer);
        else
            fa_shape_put(fa_out_list_item(&list), &fa_shape_cron, ops[i].cron_answer);
    }
    if (!is_table && fa_cli_count_done(ops, cli->arg_count) > 0)
        fa_out_list_end(&list);
    return fa_cli_fail_refused(cli, ops, cli->arg_count);
}

int fa_verb_cron_pause(struct fa_cli *cli)
{
    return pause_or_resume(cli, true);
}

int fa_verb_cron_resume(struct fa_cli *cli)
{
    return pause_or_resume(cli, false);
}

int fa_verb_cron_run(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_CRON_RUN, .id = cli->args[0]};
    int code;

    op.name.ns = cli->ns;
    op.wants_task = fa_cli_wants_json(cli);
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (op.wants_task)
        fa_print_task_json(cli, op.task);
    else
        fa_outf(cli, "%s\n", op.task_id);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * The next times
 */

/* A schedule contains spaces or begins with @. A name can, too: then only `cron ls` finds it. */
static bool is_schedule(const char *word)
{
    return word[0] == '@' || strchr(word, ' ');
}

static int find_job(struct fa_cli *cli, struct fa_cron_job *job)
{
    struct fa_op op = {.kind = FA_OP_CRON_LIST, .id = cli->args[0]};
    int code;

    if (is_schedule(cli->args[0])) {
        job->schedule = cli->args[0];
        job->timezone = fa_flag(cli, "timezone");
        return FA_EXIT_OK;
    }
    if (fa_flag(cli, "timezone"))
        return fa_cli_usage(cli, "--timezone is for a SCHEDULE; %.100s has its own", cli->args[0]);
    op.name.ns = cli->ns;
    code = fa_cli_run(cli, &op);
    if (code == FA_EXIT_OK)
        *job = op.crons->items[0];
    return code;
}

static void print_times(struct fa_cli *cli, const struct fa_zone *zone, const int64_t *times,
                        size_t count)
{
    const struct fa_column columns[] = {{"TIME (UTC)", 0}, {fa_zone_name(zone), 0}, {"WHEN", 0}};
    int64_t now_us = fa_clock_now_us();
    struct fa_table table;

    fa_table_init(&table, columns, FA_COUNT(columns));
    for (size_t i = 0; i < count; i++) {
        int64_t local_us = fa_zone_to_local(zone, times[i] / 1000000) * 1000000;
        const char *local = time_text(&table.arena, local_us);

        fa_table_add(&table, FA_PLAIN, time_text(&table.arena, times[i]));
        fa_table_add(&table, FA_PLAIN,
                     fa_arena_printf(&table.arena, "%.10s %.8s", local, local + 11));
        fa_table_add(&table, FA_PLAIN, fa_text_due(&table.arena, times[i], now_us));
    }
    fa_table_print(&table, cli, 0);
    fa_table_finish(&table);
}

static void print_times_json(struct fa_cli *cli, const int64_t *times, size_t count)
{
    struct fa_out_list list;

    fa_out_list_begin(cli, &list, "items");
    for (size_t i = 0; i < count; i++)
        fa_json_put_str(fa_out_list_item(&list), time_text(&cli->arena, times[i]));
    fa_out_list_end(&list);
}

int fa_verb_cron_next(struct fa_cli *cli)
{
    int64_t times[NEXT_MAX], wanted = NEXT_DEFAULT, at_us = fa_clock_now_us();
    struct fa_cron_job job = {0};
    struct fa_zone *zone = NULL;
    struct faina_error err;
    struct fa_cron cron;
    size_t count = 0;
    int code = fa_flag_int(cli, "count", 1, NEXT_MAX, &wanted);

    if (code == FA_EXIT_OK)
        code = find_job(cli, &job);
    if (code != FA_EXIT_OK)
        return code;
    fa_error_clear(&err);
    if (fa_cron_times(&job, &cron, &zone, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    while (count < (size_t)wanted && fa_cron_next(&cron, zone, at_us, &at_us))
        times[count++] = at_us;
    if (job.is_paused)
        fa_cli_note(cli, "It is paused: these are the times it would have.");
    if (cli->format == FA_CLI_TABLE)
        print_times(cli, zone, times, count);
    else
        print_times_json(cli, times, count);
    fa_zone_close(zone);
    return code;
}
