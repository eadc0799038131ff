/*
 * verb_operate.c - db status, db migrate, db purge, bench, version.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/progress.h"
#include "cli/scratch.h"
#include "cli/table.h"
#include "cli/text.h"
#include "model/limits.h"
#include "model/times.h"
#include "api/address.h"
#include "wire/wire.h"

#include <limits.h>
#include <unistd.h>

static int get_info(struct fa_cli *cli, struct fa_service *service, struct fa_service_info *info)
{
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_service_info(service, false, &cli->arena, info, &err) == FAINA_OK)
        return FA_EXIT_OK;
    return fa_cli_fail(cli, &err);
}

/* ------------------------------------------------------------------------------------------
 * db status
 */

static void put_migrations(struct fa_json_writer *w, const struct fa_service_info *info)
{
    fa_json_key(w, "migrations");
    fa_json_begin_array(w);
    for (size_t i = 0; i < info->migration_count; i++) {
        fa_json_begin_object(w);
        fa_json_set_str(w, "id", info->migrations[i].id);
        fa_json_set_str(w, "description", info->migrations[i].description);
        fa_json_key(w, "executedAt");
        fa_wire_put_time(w, info->migrations[i].executed_us);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
}

static void print_status_json(struct fa_cli *cli, const struct fa_service_info *info)
{
    struct fa_out_json json;
    struct fa_json_writer *w = &json.writer;

    fa_out_json_begin(cli, &json);
    fa_json_begin_object(w);
    fa_json_set_str(w, "engine", info->engine);
    fa_json_set_str(w, "location", info->location);
    fa_json_set_str(w, "engineVersion", info->engine_version);
    fa_json_set_int(w, "schemaVersion", info->schema_version);
    fa_json_key(w, "sizeBytes");
    if (info->size_bytes >= 0)
        fa_json_put_int(w, info->size_bytes);
    else
        fa_json_put_null(w);
    put_migrations(w, info);
    fa_json_end_object(w);
    fa_out_json_end(cli, &json);
}

int fa_verb_db_status(struct fa_cli *cli)
{
    struct fa_service_info info;
    struct fa_arena *arena = &cli->arena;
    int code = fa_cli_open(cli);

    if (code == FA_EXIT_OK)
        code = get_info(cli, cli->service, &info);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->format != FA_CLI_TABLE) {
        print_status_json(cli, &info);
        return code;
    }
    fa_record_line(cli, "engine", FA_PLAIN,
                   fa_arena_printf(arena, "%s %s", info.engine,
                                   info.engine_version ? info.engine_version : ""));
    fa_record_line(cli, "location", FA_PLAIN, info.location);
    fa_record_line(cli, "schema", FA_PLAIN,
                   fa_arena_printf(arena, "version %d", info.schema_version));
    fa_record_line(cli, "size", FA_PLAIN, fa_text_size(arena, info.size_bytes));
    for (size_t i = 0; i < info.migration_count; i++)
        fa_record_line(
            cli, i == 0 ? "migrations" : "", FA_PLAIN,
            fa_arena_printf(arena, "%s  %s  (%s)", info.migrations[i].id,
                            info.migrations[i].description,
                            fa_text_age(arena, info.migrations[i].executed_us, fa_clock_now_us())));
    return code;
}

/* ------------------------------------------------------------------------------------------
 * db migrate
 */

/* The migrations that were applied, or would be. */
struct steps {
    const char **ids, **descriptions;
    size_t count;
};

static void print_steps(struct fa_cli *cli, const struct steps *steps, int version, bool is_dry)
{
    struct fa_out_json json;

    if (cli->format == FA_CLI_TABLE) {
        for (size_t i = 0; i < steps->count; i++)
            fa_outf(cli, "%s %s  %s\n", is_dry ? "would apply" : "applied", steps->ids[i],
                    steps->descriptions[i]);
        if (steps->count == 0)
            fa_outf(cli, "up to date: schema version %d\n", version);
        return;
    }
    fa_out_json_begin(cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_set_int(&json.writer, "schemaVersion", version);
    fa_json_key(&json.writer, is_dry ? "wouldApply" : "applied");
    fa_json_begin_array(&json.writer);
    for (size_t i = 0; i < steps->count; i++)
        fa_json_put_str(&json.writer, steps->ids[i]);
    fa_json_end_array(&json.writer);
    fa_json_end_object(&json.writer);
    fa_out_json_end(cli, &json);
}

/* Prints the store's migrations that were applied since `since_us`. */
static void print_since(struct fa_cli *cli, const struct fa_service_info *info, int64_t since_us,
                        bool is_dry)
{
    struct steps steps = {
        .ids = fa_arena_zero(&cli->arena, info->migration_count + 1, sizeof(char *)),
        .descriptions = fa_arena_zero(&cli->arena, info->migration_count + 1, sizeof(char *)),
    };

    for (size_t i = 0; i < info->migration_count; i++) {
        if (info->migrations[i].executed_us < since_us)
            continue;
        steps.ids[steps.count] = info->migrations[i].id;
        steps.descriptions[steps.count++] = info->migrations[i].description;
    }
    print_steps(cli, &steps, info->schema_version, is_dry);
}

/* On PostgreSQL an administrator may have to apply the migrations: the SQL script is printed,
 * unless -o asks for JSON. */
static int dry_run_script(struct fa_cli *cli, const char *url)
{
    struct fa_service_plan plan;
    struct fa_out_json json;
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_service_plan(url, &cli->arena, &plan, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (!cli->has_format || cli->format == FA_CLI_TABLE) {
        if (plan.step_count > 0)
            fa_outf(cli, "%s", plan.script);
        else
            fa_outf(cli, "-- up to date: schema version %d\n", plan.schema_version);
        return FA_EXIT_OK;
    }
    fa_out_json_begin(cli, &json);
    fa_json_begin_object(&json.writer);
    fa_json_set_int(&json.writer, "schemaVersion", plan.schema_version + (int)plan.step_count);
    fa_json_key(&json.writer, "wouldApply");
    fa_json_begin_array(&json.writer);
    for (size_t i = 0; i < plan.step_count; i++)
        fa_json_put_str(&json.writer, plan.ids[i]);
    fa_json_end_array(&json.writer);
    fa_json_set_str(&json.writer, "sql", plan.step_count > 0 ? plan.script : NULL);
    fa_json_end_object(&json.writer);
    fa_out_json_end(cli, &json);
    return FA_EXIT_OK;
}

/* Migrates a copy of the store and prints the migrations that were applied to it. */
static int dry_run(struct fa_cli *cli)
{
    struct fa_service_info info;
    struct fa_service *service = NULL;
    struct faina_error err;
    struct fa_scratch scratch;
    const char *url;
    int64_t since_us = fa_clock_now_us();
    int code;

    fa_error_clear(&err);
    if (fa_cli_url(cli, &url, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (fa_address_is_postgres(url))
        return dry_run_script(cli, url);
    if (fa_scratch_copy(&scratch, url, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (fa_service_open(&service, scratch.url, NULL, &err) != FAINA_OK)
        code = fa_cli_fail(cli, &err);
    else
        code = get_info(cli, service, &info);
    if (code == FA_EXIT_OK)
        print_since(cli, &info, since_us, true);
    fa_service_close(service);
    fa_scratch_remove(&scratch);
    return code;
}

/* The server's clock may differ from this one, so the missing migrations are read first. */
static int migrate_postgres(struct fa_cli *cli, const char *url)
{
    struct fa_service_plan plan;
    struct faina_error err;
    int code;

    fa_error_clear(&err);
    if (fa_service_plan(url, &cli->arena, &plan, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    code = fa_cli_open(cli);
    if (code == FA_EXIT_OK)
        print_steps(cli, &(struct steps){plan.ids, plan.descriptions, plan.step_count},
                    plan.schema_version + (int)plan.step_count, false);
    return code;
}

int fa_verb_db_migrate(struct fa_cli *cli)
{
    struct fa_service_info info;
    struct faina_error err;
    int64_t since_us = fa_clock_now_us();
    const char *url;
    int code;

    if (fa_flag_is_given(cli, "dry-run"))
        return dry_run(cli);
    fa_error_clear(&err);
    if (fa_cli_url(cli, &url, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    if (fa_address_is_postgres(url))
        return migrate_postgres(cli, url);
    code = fa_cli_open(cli);
    if (code == FA_EXIT_OK)
        code = get_info(cli, cli->service, &info);
    if (code == FA_EXIT_OK)
        print_since(cli, &info, since_us, false);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * db purge
 */

static int read_purge(struct fa_cli *cli, struct faina_purge *purge)
{
    int64_t age_ms = 0;
    int code = fa_flag_statuses(cli, &purge->statuses);

    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "older-than", &age_ms);
    if (code != FA_EXIT_OK)
        return code;
    purge->ns = fa_cli_is_all_namespaces(cli) ? NULL : cli->ns;
    purge->type = fa_flag(cli, "type");
    if (fa_flag(cli, "older-than"))
        purge->ended_before_us = fa_clock_now_us() - age_ms * 1000;
    /* Without flags only the tasks that rm has removed from view are purged. */
    purge->deleted_only = fa_flag_is_given(cli, "deleted") ||
                          (purge->statuses == 0 && !purge->type && !fa_flag(cli, "older-than"));
    purge->limit = FA_LIST_LIMIT_MAX;
    return FA_EXIT_OK;
}

/* The tasks for the confirmation. The store counts neither by age nor tasks removed from view. */
static int describe_purge(struct fa_cli *cli, const struct faina_purge *purge, const char **out)
{
    const unsigned ended = 1u << FAINA_COMPLETED | 1u << FAINA_FAILED | 1u << FAINA_DEAD_LETTER |
                           1u << FAINA_CANCELLED;
    int64_t count = 0;
    int code = fa_count_matches(cli, purge->ns ? purge->ns : "*",
                                purge->statuses ? purge->statuses : ended, purge->type, &count);

    if (purge->deleted_only)
        *out = "the tasks that were removed from view";
    else
        *out = fa_arena_printf(&cli->arena, "%s%s, and those removed from view",
                               purge->ended_before_us ? "up to " : "",
                               fa_text_plural(&cli->arena, count, "ended task"));
    return code;
}

static int confirm_purge(struct fa_cli *cli, const struct faina_purge *purge)
{
    const char *what;
    int code = fa_cli_open(cli);

    if (code != FA_EXIT_OK || fa_flag_is_given(cli, "yes"))
        return code;
    code = describe_purge(cli, purge, &what);
    if (code != FA_EXIT_OK)
        return code;
    return fa_cli_confirm(
        cli, fa_arena_printf(&cli->arena, "Remove %s, permanently and with their history?", what));
}

int fa_verb_db_purge(struct fa_cli *cli)
{
    struct faina_purge purge = {0};
    struct fa_progress progress;
    int64_t removed = 0, round;
    int code = read_purge(cli, &purge);

    if (code == FA_EXIT_OK)
        code = confirm_purge(cli, &purge);
    if (code != FA_EXIT_OK)
        return code;
    fa_progress_start(&progress, cli, "Purging", 0);
    do {
        struct fa_op op = {.kind = FA_OP_PURGE, .purge = &purge};
        code = fa_cli_run(cli, &op);
        round = code == FA_EXIT_OK ? op.count : 0;
        removed += round;
        fa_progress_show(&progress, removed);
    } while (round > 0);
    fa_progress_stop(&progress);
    if (code != FA_EXIT_OK)
        return code;
    if (cli->format == FA_CLI_TABLE)
        fa_outf(cli, "purged %s\n", fa_text_plural(&cli->arena, removed, "task"));
    else
        fa_outf(cli, "{\"purged\":%lld}\n", (long long)removed);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * bench, version
 */

int fa_verb_bench(struct fa_cli *cli)
{
    char path[PATH_MAX], **argv = fa_arena_zero(&cli->arena, cli->arg_count + 2, sizeof(*argv));
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - sizeof "-bench");

    argv[0] = fa_arena_strdup(&cli->arena, "faina-bench");
    for (size_t i = 0; i < cli->arg_count; i++)
        argv[i + 1] = fa_arena_strdup(&cli->arena, cli->args[i]);
    if (len > 0) {
        snprintf(path + len, sizeof path - (size_t)len, "-bench");
        execv(path, argv);
    }
    fprintf(stderr,
            "faina: the program faina-bench is not installed beside faina. `make install` installs "
            "it; `make` in the sources builds build/faina-bench.\n");
    return FA_EXIT_FAILURE;
}

int fa_verb_version(struct fa_cli *cli)
{
    /* Scripts expect one plain line, even in a pipe. */
    if (fa_cli_wants_json(cli))
        fa_outf(cli,
                "{\"name\":\"faina\",\"version\":\"%s\",\"engines\":[\"sqlite\",\"memory\","
                "\"postgres\"]}\n",
                FAINA_VERSION);
    else
        fa_outf(cli, "faina %s\n", FAINA_VERSION);
    return FA_EXIT_OK;
}
