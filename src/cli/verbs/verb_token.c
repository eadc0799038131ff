/*
 * verb_token.c - tokens of the HTTP interface: create, list, revoke.
 */
#include "cli/verbs.h"

#include "base/clock.h"
#include "cli/table.h"
#include "model/times.h"
#include "service/token.h"

/* The namespaces of --namespace as a JSON array; NULL: all. */
static const char *named_namespaces(struct fa_cli *cli)
{
    struct fa_json_writer w;
    const char *at = cli->ns;
    struct fa_buf text;
    const char *json;

    if (!cli->ns || fa_cli_is_all_namespaces(cli))
        return NULL;
    fa_buf_init(&text, (size_t)64 * 1024);
    fa_json_writer_init(&w, &text, 0);
    fa_json_begin_array(&w);
    while (*at) {
        size_t len = strcspn(at, ",");

        fa_json_put_bytes(&w, (struct fa_bytes){at, len});
        at += len + (at[len] == ',');
    }
    fa_json_end_array(&w);
    json = fa_arena_copy(&cli->arena, text.ptr, text.len);
    fa_buf_finish(&text);
    return json;
}

static void print_token(struct fa_cli *cli, const struct fa_token *token, const char *secret)
{
    struct fa_out_json json;

    fa_out_json_begin(cli, &json);
    fa_token_put(&json.writer, token, secret);
    fa_out_json_end(cli, &json);
}

static bool is_expired(const struct fa_token *token)
{
    return token->expires_us != 0 && token->expires_us <= fa_clock_now_us();
}

/* Whether it allows creating tokens over HTTP. */
static bool is_admin(const struct fa_token *token)
{
    return token->scopes & FA_SCOPE_ADMIN && !token->namespaces && !is_expired(token);
}

/* Whether there is an admin token once `added` is stored. Called before it is stored, because the
 * first token may end this program's access to a server. True when tokens can't be listed. */
static bool has_admin(struct fa_cli *cli, const struct fa_token *added)
{
    struct fa_op op = {.kind = FA_OP_TOKEN_LIST, .arena = &cli->arena};

    if (is_admin(added))
        return true;
    fa_service_run(cli->service, &op, 1);
    if (op.code != FAINA_OK)
        return true;
    for (size_t i = 0; i < op.tokens->count; i++)
        if (is_admin(&op.tokens->items[i]))
            return true;
    return false;
}

int fa_verb_token_create(struct fa_cli *cli)
{
    char secret[FA_TOKEN_SIZE], hash[FA_SHA256_HEX_SIZE];
    struct fa_token token = {.hash = hash, .namespaces = named_namespaces(cli)};
    struct fa_op op = {.kind = FA_OP_TOKEN_PUT, .token = &token};
    const char *const *scopes;
    struct faina_error err;
    int64_t expires_ms = 0;
    bool has_admin_token;
    size_t count;
    int code;

    if (!fa_flag(cli, "scope"))
        return fa_cli_usage(
            cli, "--scope is missing: one or more of read,view,submit,work,operate,admin");
    code = fa_flag_names(cli, "scope", &scopes, &count);
    if (code == FA_EXIT_OK)
        code = fa_flag_duration(cli, "expires", &expires_ms);
    if (code != FA_EXIT_OK)
        return code;
    if (fa_flag(cli, "expires") && expires_ms == 0)
        return fa_cli_usage(cli, "--expires must be longer than 0; without it a token never "
                                 "expires");
    if (fa_scope_parse(scopes, count, &token.scopes, &err) != FAINA_OK)
        return fa_cli_usage(cli, "%s", err.message);
    token.name = fa_flag(cli, "name") ? fa_flag(cli, "name") : "token";
    if (expires_ms > 0)
        token.expires_us = fa_clock_now_us() + expires_ms * 1000;
    if (fa_token_make(secret, hash, &err) != FAINA_OK)
        return fa_cli_fail(cli, &err);
    code = fa_cli_open(cli);
    if (code != FA_EXIT_OK)
        return code;
    has_admin_token = has_admin(cli, &token);
    code = fa_cli_run(cli, &op);
    if (code != FA_EXIT_OK)
        return code;
    if (fa_cli_wants_json(cli)) {
        print_token(cli, op.token_answer, secret);
    } else {
        fa_outf(cli, "%s\n", secret);
        fa_cli_note(cli, "The token is shown only once. Its id is %s.", op.token_answer->id);
    }
    fflush(stdout);
    if (!has_admin_token)
        fa_cli_note(cli, "Warning: no token has the scope admin for all namespaces, so tokens "
                         "can't be created or revoked over HTTP.\n"
                         "To create one, on the machine of the store: faina token create --scope "
                         "admin");
    return code;
}

static const char *scopes_text(struct fa_arena *arena, unsigned scopes)
{
    const char *text = "";

    for (size_t i = 0; fa_scope_name(i); i++)
        if (scopes & 1u << i)
            text = fa_arena_printf(arena, "%s%s%s", text, text[0] ? "," : "", fa_scope_name(i));
    return text;
}

static void add_row(struct fa_table *table, const void *item)
{
    const struct fa_token *token = item;
    bool has_ended = is_expired(token);
    char time[FA_TIME_SIZE] = "never";

    if (token->expires_us != 0)
        fa_time_format(token->expires_us, time);
    fa_table_add(table, FA_PLAIN, token->id);
    fa_table_add(table, FA_PLAIN, token->name);
    fa_table_add(table, FA_PLAIN, scopes_text(&table->arena, token->scopes));
    fa_table_add(table, FA_PLAIN, token->namespaces ? token->namespaces : "all");
    fa_table_add(table, has_ended ? FA_RED : FA_PLAIN, has_ended ? "expired" : time);
}

static const struct fa_list_view token_view = {
    .shape = &fa_shape_tokens,
    .none = "No tokens.",
    .columns = {{"ID", 0},
                {"NAME", FA_COLUMN_FLEXIBLE},
                {"SCOPES", 0},
                {"NAMESPACES", FA_COLUMN_FLEXIBLE},
                {"EXPIRES", 0}},
    .add_row = add_row,
};

int fa_verb_token_ls(struct fa_cli *cli)
{
    struct fa_op op = {.kind = FA_OP_TOKEN_LIST};

    return fa_list_items(cli, &op, &token_view, false);
}

int fa_verb_token_revoke(struct fa_cli *cli)
{
    int code = FA_EXIT_OK;

    for (size_t i = 0; i < cli->arg_count && code == FA_EXIT_OK; i++) {
        struct fa_op op = {.kind = FA_OP_TOKEN_REMOVE,
                           .id = cli->args[i],
                           .force = fa_flag_is_given(cli, "force")};

        code = fa_cli_run(cli, &op);
        if (code != FA_EXIT_OK)
            break;
        if (cli->format == FA_CLI_TABLE)
            fa_outf(cli, "revoked token %s\n", cli->args[i]);
    }
    if (code == FA_EXIT_OK && cli->format != FA_CLI_TABLE)
        fa_outf(cli, "{\"deleted\":%zu}\n", cli->arg_count);
    return code;
}
