/* verb_audit.c - audit ls, verify, export: who did what. */
#include "cli/table.h"
#include "cli/text.h"
#include "cli/verbs.h"

#include "base/clock.h"
#include "json/json.h"
#include "model/audit_entry.h"
#include "model/limits.h"
#include "wire/wire_reports.h"

#include <stdlib.h>

#define FINDINGS_MAX 100 /* that are printed */

/* ------------------------------------------------------------------------------------------
 * audit ls
 */

static void add_entry(struct fa_table *table, const void *item)
{
    const struct fa_audit_entry *entry = item;

    fa_table_addf(table, "%lld", (long long)entry->id);
    fa_table_add(table, FA_DIM, fa_text_roughly(&table->arena, entry->at_us, fa_clock_now_us()));
    fa_table_add(table, FA_PLAIN, entry->who);
    fa_table_add(table, FA_BOLD, entry->act);
    fa_table_add(table, FA_PLAIN, entry->target);
    fa_table_add(table, FA_PLAIN, entry->reason);
}

static const struct fa_list_view view = {
    .shape = &fa_shape_audit,
    .none = "No acts.",
    .columns = {{"ENTRY", FA_COLUMN_RIGHT},
                {"WHEN", 0},
                {"WHO", 0},
                {"ACT", 0},
                {"TARGET", 0},
                {"REASON", FA_COLUMN_FLEXIBLE}},
    .add_row = add_entry,
};

int fa_verb_audit_ls(struct fa_cli *cli)
{
    struct fa_audit_query query = {.who = fa_flag(cli, "who"),
                                   .act = fa_flag(cli, "act"),
                                   .target = fa_flag(cli, "target"),
                                   .cursor = fa_flag(cli, "cursor")};
    struct fa_op op = {.kind = FA_OP_AUDIT_LIST, .audit_query = &query};
    int64_t limit = FA_LIST_LIMIT_DEFAULT;
    int code = fa_flag_time(cli, "from", true, &query.from_us);

    if (code == FA_EXIT_OK)
        code = fa_flag_time(cli, "to", true, &query.to_us);
    if (code == FA_EXIT_OK)
        code = fa_flag_int(cli, "limit", 1, FA_LIST_LIMIT_MAX, &limit);
    if (code != FA_EXIT_OK)
        return code;
    query.limit = (int)limit;
    code = fa_list_items(cli, &op, &view, false);
    if (code == FA_EXIT_OK && cli->format == FA_CLI_TABLE && op.audit->next_cursor)
        fa_cli_note(cli, "There are more: --cursor %s", op.audit->next_cursor);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * All entries
 */

typedef void take_fn(void *ctx, const struct fa_audit_entry *entry);

/* Reads all entries, oldest first. *last is the last page, in `arena`. */
static int read_all(struct fa_cli *cli, struct fa_arena *arena, take_fn *take, void *ctx,
                    const struct fa_audit_list **last)
{
    struct fa_audit_query query = {.ascending = true, .limit = FA_LIST_LIMIT_MAX};
    char *cursor = NULL;
    int code;

    do {
        struct fa_op op = {.kind = FA_OP_AUDIT_LIST, .audit_query = &query, .arena = arena};

        fa_arena_reset(arena);
        query.cursor = cursor;
        code = fa_cli_run(cli, &op);
        if (code != FA_EXIT_OK)
            break;
        for (size_t i = 0; i < op.audit->count; i++)
            take(ctx, &op.audit->items[i]);
        *last = op.audit;
        free(cursor);
        cursor = op.audit->next_cursor ? strdup(op.audit->next_cursor) : NULL;
    } while (cursor && !fa_out_is_broken(cli));
    free(cursor);
    return code;
}

static void print_entry(void *ctx, const struct fa_audit_entry *entry)
{
    fa_shape_put(fa_out_list_item(ctx), &fa_shape_audit_entry, entry);
}

int fa_verb_audit_export(struct fa_cli *cli)
{
    const struct fa_audit_list *last = NULL;
    struct fa_arena arena = {0};
    struct fa_out_list list;
    int code = fa_cli_open(cli);

    if (code != FA_EXIT_OK)
        return code;
    fa_out_list_begin(cli, &list, NULL); /* lines, whatever the format */
    code = read_all(cli, &arena, print_entry, &list, &last);
    fa_out_list_end(&list);
    fa_arena_finish(&arena);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * audit verify
 */

struct verify {
    struct fa_audit_check check;
    const char *findings[FINDINGS_MAX];
    size_t count;
    struct fa_arena *arena; /* of the findings */
    /* --last */
    int64_t wanted_id; /* 0: not given */
    const char *wanted_hash;
    bool has_wanted;
};

static void add_finding(void *ctx, const char *sentence)
{
    struct verify *verify = ctx;

    if (verify->count < FINDINGS_MAX)
        verify->findings[verify->count++] = fa_arena_strdup(verify->arena, sentence);
}

static void check_entry(void *ctx, const struct fa_audit_entry *entry)
{
    struct verify *verify = ctx;

    fa_audit_check_entry(&verify->check, entry);
    if (entry->id == verify->wanted_id && entry->hash &&
        strcmp(entry->hash, verify->wanted_hash) == 0)
        verify->has_wanted = true;
}

static int read_last(struct fa_cli *cli, struct verify *verify)
{
    const char *text = fa_flag(cli, "last");
    char *end;

    if (!text)
        return FA_EXIT_OK;
    verify->wanted_id = strtoll(text, &end, 10);
    if (verify->wanted_id < 1 || *end != ':' || strlen(end + 1) != FA_SHA256_HEX_SIZE - 1)
        return fa_cli_usage(cli, "--last is N:HASH, as audit verify prints it; not \"%.100s\"",
                            text);
    verify->wanted_hash = end + 1;
    return FA_EXIT_OK;
}

/* Each line is an entry. */
static int check_file(struct fa_cli *cli, const char *path, struct verify *verify)
{
    struct fa_bytes text;
    size_t line = 0;
    int code = fa_input_read(cli, fa_arena_printf(&cli->arena, "@%s", path), "--file", &text);

    while (code == FA_EXIT_OK && text.len > 0) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end ? (size_t)(end - text.ptr) : text.len;
        struct fa_bytes json = {text.ptr, len};
        struct fa_audit_entry entry = {0};
        struct faina_error err = {0};

        line++;
        text.ptr += end ? len + 1 : len;
        text.len -= end ? len + 1 : len;
        if (len == 0)
            continue;
        if (fa_json_check(json, FA_JSON_DEPTH_MAX, "entry", FAINA_INVALID_REQUEST, &err) !=
                FAINA_OK ||
            fa_shape_read(fa_json_value(json), &fa_shape_audit_entry, &cli->arena, &entry, &err) !=
                FAINA_OK) {
            fa_cli_note(cli, "faina: line %zu is not an entry of the audit: %s", line, err.message);
            code = FA_EXIT_FAILURE;
        } else {
            check_entry(verify, &entry);
        }
    }
    return code;
}

static int print_result(struct fa_cli *cli, const struct verify *verify)
{
    const struct fa_audit_check *check = &verify->check;
    bool is_good = check->finding_count == 0;
    struct fa_out_json json;

    if (fa_cli_wants_json(cli) || cli->format != FA_CLI_TABLE) {
        fa_out_json_begin(cli, &json);
        fa_json_begin_object(&json.writer);
        fa_json_set_bool(&json.writer, "ok", is_good);
        fa_json_set_int(&json.writer, "entries", check->count);
        fa_json_set_str(&json.writer, "lastHash", check->last_hash[0] ? check->last_hash : NULL);
        fa_json_set_strs(&json.writer, "findings", verify->findings, verify->count);
        fa_json_end_object(&json.writer);
        fa_out_json_end(cli, &json);
        return is_good ? FA_EXIT_OK : FA_EXIT_FAILURE;
    }
    for (size_t i = 0; i < verify->count; i++)
        fa_outf(cli, "%s%s%s\n", fa_style_on(cli, FA_RED), verify->findings[i],
                fa_style_off(cli, FA_RED));
    if (check->finding_count > (int64_t)verify->count)
        fa_outf(cli, "and %lld more\n", (long long)(check->finding_count - (int64_t)verify->count));
    if (is_good && check->count == 0)
        fa_outf(cli, "The audit has no entries.\n");
    else if (is_good)
        fa_outf(cli, "%lld %s, none changed, removed or inserted. Last: %lld:%s\n",
                (long long)check->count, check->count == 1 ? "entry" : "entries",
                (long long)check->last_id, check->last_hash);
    return is_good ? FA_EXIT_OK : FA_EXIT_FAILURE;
}

int fa_verb_audit_verify(struct fa_cli *cli)
{
    struct verify verify = {.check = {.found = add_finding}, .arena = &cli->arena};
    const char *file = fa_flag(cli, "file");
    const struct fa_audit_list *last = NULL;
    struct fa_arena arena = {0};
    int code = read_last(cli, &verify);

    verify.check.ctx = &verify;
    if (code == FA_EXIT_OK && file)
        code = check_file(cli, file, &verify);
    else if (code == FA_EXIT_OK)
        code = read_all(cli, &arena, check_entry, &verify, &last);
    if (code == FA_EXIT_OK && last)
        fa_audit_check_end(&verify.check, last->total, last->last_hash);
    fa_arena_finish(&arena);
    if (code != FA_EXIT_OK)
        return code;
    if (verify.wanted_id > 0 && !verify.has_wanted) {
        verify.check.finding_count++;
        add_finding(&verify, fa_arena_printf(&cli->arena,
                                             "entry %lld is not there with the hash "
                                             "of --last: the chain was made anew",
                                             (long long)verify.wanted_id));
    }
    return print_result(cli, &verify);
}
