/*
 * verb_bulk.c - `faina submit --bulk`: a task per line, a transaction per thousand lines.
 *
 * A line that is refused is reported with its number and doesn't stop the others. When the store
 * itself fails, the rest is not submitted: the message names the first line that is not stored, so
 * that the user can continue from there.
 */
#include "cli/verbs/verb_submit.h"

#include "cli/progress.h"
#include "cli/text.h"
#include "cli/verbs.h"
#include "model/codes.h"
#include "wire/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define BATCH 1000

struct bulk {
    struct fa_cli *cli;
    const struct faina_submit *defaults;
    const char *type; /* for lines without one; NULL: each line must have one */
    FILE *file;
    const char *file_name;

    /* The batch. It also contains the refused lines, so that reports keep the order. */
    struct fa_arena arena;
    struct entry {
        int64_t line;
        struct fa_op *op; /* NULL: refused while it was parsed */
        struct faina_error error;
    } entries[BATCH];
    size_t count;
    struct faina_submit submits[BATCH];
    struct fa_op ops[BATCH];
    size_t op_count;

    int64_t line, stored, existing, refused;
    int exit_code; /* once the store has failed */
    struct fa_progress progress;
};

/* "line 4, column 2: ...": the message's own "at line 1, column 2" is cut off. */
static void report(struct bulk *bulk, int64_t line, const struct faina_error *err)
{
    const char *message = err->message[0] ? err->message : fa_code_sentence(err->code);
    const char *position = strstr(message, " at line 1, column ");
    int len = position && err->line == 1 ? (int)(position - message) : (int)strlen(message);

    fa_progress_stop(&bulk->progress);
    fprintf(stderr, "faina: line %lld", (long long)line);
    if (err->line == 1 && err->column > 0)
        fprintf(stderr, ", column %d", err->column);
    fprintf(stderr, ": %s\n",
            fa_text_clean(&bulk->arena, fa_arena_printf(&bulk->arena, "%.*s", len, message)));
    bulk->refused++;
}

/* The store failed, not the line: the next lines would fail, too. */
static bool is_store_error(enum faina_code code)
{
    return code == FAINA_UNAVAILABLE || code == FAINA_STORE_CLOSED || code == FAINA_INTERNAL;
}

static void print_stored(struct bulk *bulk, const struct fa_op *op, int64_t line)
{
    struct fa_cli *cli = bulk->cli;
    struct fa_out_json json;

    if (!cli->has_format || cli->format == FA_CLI_TABLE) {
        fa_outf(cli, "%s\n", op->task_id);
    } else if (cli->format == FA_CLI_JSONL) {
        fa_out_json_begin(cli, &json);
        fa_json_begin_object(&json.writer);
        fa_json_set_int(&json.writer, "line", line);
        fa_json_set_str(&json.writer, "id", op->task_id);
        fa_json_set_bool(&json.writer, "existing", op->existing);
        fa_json_end_object(&json.writer);
        fa_out_json_end(cli, &json);
    }
}

/* Prints the result of one line. False: the store has failed. */
static bool print_result(struct bulk *bulk, const struct entry *entry)
{
    const struct fa_op *op = entry->op;

    if (!op) {
        report(bulk, entry->line, &entry->error);
    } else if (op->code == FAINA_OK) {
        bulk->stored += !op->existing;
        bulk->existing += op->existing;
        print_stored(bulk, op, entry->line);
    } else if (!is_store_error(op->code)) {
        report(bulk, entry->line, &op->error);
    } else {
        fa_progress_stop(&bulk->progress);
        bulk->exit_code = fa_cli_fail(bulk->cli, &op->error);
        fa_cli_note(bulk->cli, "faina: nothing from line %lld on is stored",
                    (long long)entry->line);
        return false;
    }
    return true;
}

/* Submits the batch and prints each line's result. */
static void flush_batch(struct bulk *bulk)
{
    fa_service_run(bulk->cli->service, bulk->ops, bulk->op_count);
    if (bulk->cli->out_is_tty)
        fa_progress_stop(&bulk->progress);
    for (size_t i = 0; i < bulk->count && print_result(bulk, &bulk->entries[i]); i++)
        ;
    fflush(stdout);
    bulk->count = 0;
    bulk->op_count = 0;
    fa_arena_reset(&bulk->arena);
    fa_progress_show(&bulk->progress, bulk->line);
}

/* The flags are the defaults of the fields that a line leaves out. */
static void apply_defaults(const struct bulk *bulk, struct faina_submit *submit)
{
    const struct faina_submit *defaults = bulk->defaults;

    if (!submit->ns)
        submit->ns = defaults->ns;
    if (!submit->name)
        submit->name = defaults->name;
    if (!submit->type)
        submit->type = bulk->type;
    if (submit->priority == 0 && !submit->has_priority) {
        submit->priority = defaults->priority;
        submit->has_priority = defaults->has_priority;
    }
    if (submit->max_attempts == 0)
        submit->max_attempts = defaults->max_attempts;
    if (submit->retry.base_ms == 0 && submit->retry.factor == 0 && submit->retry.max_ms == 0)
        submit->retry = defaults->retry;
    if (submit->delay_ms == 0 && submit->run_at_us == 0) {
        submit->delay_ms = defaults->delay_ms;
        submit->run_at_us = defaults->run_at_us;
    }
    if (submit->timeout_ms == 0)
        submit->timeout_ms = defaults->timeout_ms;
    if (submit->start_by_ms == 0 && submit->start_by_us == 0) {
        submit->start_by_ms = defaults->start_by_ms;
        submit->start_by_us = defaults->start_by_us;
    }
    if (!submit->idempotency_key)
        submit->dedupe_input |= defaults->dedupe_input;
    if (submit->idempotency_key || submit->dedupe_input) {
        if (!submit->key_scope)
            submit->key_scope = defaults->key_scope;
        if (submit->on_duplicate == FAINA_ON_DUPLICATE_RETURN)
            submit->on_duplicate = defaults->on_duplicate;
    }
    if (!submit->metadata)
        submit->metadata = defaults->metadata;
    if (!submit->spec)
        submit->spec = defaults->spec;
    if (!submit->team_id)
        submit->team_id = defaults->team_id;
    if (!submit->group)
        submit->group = defaults->group;
    if (!submit->created_by)
        submit->created_by = defaults->created_by;
    if (!submit->resources) {
        submit->resources = defaults->resources;
        submit->resource_count = defaults->resource_count;
    }
    if (!submit->depends_on) {
        submit->depends_on = defaults->depends_on;
        submit->depends_on_count = defaults->depends_on_count;
    }
}

static void add_line(struct bulk *bulk, const char *text, size_t len)
{
    struct faina_submit *submit = &bulk->submits[bulk->op_count];
    struct entry *entry = &bulk->entries[bulk->count];

    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
        len--;
    if (len == 0)
        return;
    entry->line = bulk->line;
    entry->op = NULL;
    fa_error_clear(&entry->error);
    bulk->count++;
    if (fa_wire_read_submit((struct fa_bytes){text, len}, &bulk->arena, submit, &entry->error) ==
        FAINA_OK) {
        apply_defaults(bulk, submit);
        entry->op = &bulk->ops[bulk->op_count++];
        *entry->op = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = submit, .arena = &bulk->arena};
    }
    if (bulk->count == BATCH)
        flush_batch(bulk);
}

/* How many lines the file has; 0 when it is a pipe. */
static int64_t count_lines(FILE *file)
{
    struct stat info;
    char chunk[64 * 1024];
    int64_t lines = 0;
    size_t got;

    if (fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode) || ftello(file) != 0)
        return 0;
    while ((got = fread(chunk, 1, sizeof(chunk), file)) > 0)
        for (const char *at = chunk; (at = memchr(at, '\n', got - (size_t)(at - chunk))); at++)
            lines++;
    rewind(file);
    return lines;
}

static void read_lines(struct bulk *bulk)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len;

    while (bulk->exit_code == FA_EXIT_OK && !fa_out_is_broken(bulk->cli) &&
           (len = getline(&line, &size, bulk->file)) >= 0) {
        bulk->line++;
        add_line(bulk, line, (size_t)len);
    }
    if (bulk->exit_code == FA_EXIT_OK)
        flush_batch(bulk);
    free(line);
}

/* The totals: a line on stderr, and with -o json an object on stdout. */
static void summarise(struct bulk *bulk)
{
    struct fa_cli *cli = bulk->cli;
    struct fa_arena *arena = &cli->arena;
    double seconds = fa_progress_seconds(&bulk->progress);
    char rate[FA_TEXT_COUNT_SIZE];

    if (cli->has_format && cli->format == FA_CLI_JSON && bulk->exit_code == FA_EXIT_OK) {
        struct fa_out_json json;
        fa_out_json_begin(cli, &json);
        fa_json_begin_object(&json.writer);
        fa_json_set_int(&json.writer, "submitted", bulk->stored);
        fa_json_set_int(&json.writer, "existing", bulk->existing);
        fa_json_set_int(&json.writer, "refused", bulk->refused);
        fa_json_end_object(&json.writer);
        fa_out_json_end(cli, &json);
    }
    fa_cli_note(cli, "stored %s, %lld already existed, %lld refused, in %.1f s (%s/s)",
                fa_text_plural(arena, bulk->stored, "task"), (long long)bulk->existing,
                (long long)bulk->refused, seconds,
                fa_text_count((int64_t)((double)(bulk->stored + bulk->existing) / seconds), rate));
}

/* Finds the file and the type among the arguments. */
static int find_source(struct fa_cli *cli, struct bulk *bulk)
{
    const char *path = fa_flag(cli, "bulk");
    size_t words = cli->arg_count;

    if (words == 2 && path)
        return fa_cli_usage(cli, "\"%.100s\" is one argument too many", cli->args[1]);
    if (words == 2 ||
        (words == 1 && !path && (strcmp(cli->args[0], "-") == 0 || cli->args[0][0] == '@'))) {
        path = cli->args[words - 1];
        words--;
    }
    if (words == 1)
        bulk->type = cli->args[0];
    if (!path || strcmp(path, "-") == 0) {
        bulk->file = stdin;
        bulk->file_name = "stdin";
        if (cli->in_is_tty && cli->err_is_tty)
            fa_cli_note(cli, "Reading tasks from the terminal, one JSON object per line; Ctrl-D "
                             "ends.");
        return FA_EXIT_OK;
    }
    path += path[0] == '@';
    bulk->file = fopen(path, "re");
    bulk->file_name = path;
    if (!bulk->file && errno == ENOENT && words == 0)
        return fa_cli_usage(cli,
                            "there is no file %.200s; a type comes before --bulk: "
                            "faina submit TYPE --bulk FILE",
                            path);
    if (!bulk->file)
        return fa_cli_usage(cli, "%.200s could not be opened: %s", path, strerror(errno));
    return FA_EXIT_OK;
}

int fa_submit_bulk(struct fa_cli *cli, const struct faina_submit *defaults)
{
    struct bulk *bulk;
    int code;

    if (defaults->idempotency_key || fa_flag_is_given(cli, "wait"))
        return fa_cli_usage(cli, "--%s is for one task; it can't go with --bulk",
                            defaults->idempotency_key ? "key" : "wait");
    bulk = fa_alloc_zero(1, sizeof(*bulk));
    bulk->cli = cli;
    bulk->defaults = defaults;
    code = find_source(cli, bulk);
    if (code == FA_EXIT_OK)
        code = fa_cli_open(cli);
    if (code != FA_EXIT_OK)
        goto out;
    fa_progress_start(&bulk->progress, cli, "Submitting", count_lines(bulk->file));
    read_lines(bulk);
    fa_progress_stop(&bulk->progress);
    code = bulk->exit_code;
    if (code == FA_EXIT_OK && ferror(bulk->file)) {
        struct faina_error err;
        fa_error_set(&err, FAINA_INTERNAL, "%.200s could not be read: %s", bulk->file_name,
                     strerror(errno));
        code = fa_cli_fail(cli, &err);
    }
    summarise(bulk);
    if (code == FA_EXIT_OK && bulk->refused > 0)
        code = FA_EXIT_FAILURE;
out:
    if (bulk->file && bulk->file != stdin)
        fclose(bulk->file);
    fa_arena_finish(&bulk->arena);
    free(bulk);
    return code;
}
