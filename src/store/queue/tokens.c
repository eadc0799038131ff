/* tokens.c - access tokens of the HTTP interface: hashes and scopes. */
#include "store/read/lookup.h"
#include "store/queue/ops.h"
#include "store/read/pages.h"
#include "store/txn/row_check.h"

enum faina_code fa_do_token_put(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_token *token = fa_arena_zero(op->arena, 1, sizeof(*token));
    enum faina_code code;

    *token = *op->token;
    fa_id_format(fa_id_free(unit->ids, unit->now_us), token->id);
    token->created_us = unit->now_us;
    code = fa_db_one(unit->source.db, FA_SQL_TOKEN_PUT,
                     (struct fa_value[]){fa_value_text(token->id), fa_value_text(token->name),
                                         fa_value_text(token->hash), fa_value_int(token->scopes),
                                         fa_value_text(token->namespaces),
                                         fa_value_int(token->created_us),
                                         fa_value_int_or_null(token->expires_us)},
                     7, NULL, NULL, &op->error);
    if (code != FAINA_OK)
        return code;
    token->name = fa_arena_strdup(op->arena, token->name);
    token->hash = fa_arena_strdup(op->arena, token->hash);
    token->namespaces = fa_arena_strdup(op->arena, token->namespaces);
    op->token_answer = token;
    return FAINA_OK;
}

struct token_list {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_pager pager;
    struct fa_token *items;
    size_t count, size;
};

static void sink_token(void *ctx, size_t row, const struct fa_value *c)
{
    static const struct fa_form form = {"token", "xxxnJtT",
                                        "id name hash scopes namespaces created_us expires_us"};
    struct token_list *list = ctx;
    bool is_valid_row =
        fa_source_check(list->source, &form, c, &c[0], list->arena) && c[3].i <= FA_SCOPE_ALL;
    struct fa_token *token;

    (void)row;
    if (!fa_pager_take_row(&list->pager, c, 7))
        return;
    list->items =
        fa_arena_grow(list->arena, list->items, list->count, &list->size, sizeof(*list->items));
    token = &list->items[list->count++];
    *token = (struct fa_token){0};
    if (c[0].kind == FA_TEXT && c[0].text.len < sizeof(token->id))
        memcpy(token->id, c[0].text.ptr, c[0].text.len);
    if (!is_valid_row) { /* listed, since a server without tokens may be open; allows nothing */
        token->name = "(damaged)";
        token->hash = "";
        token->namespaces = "[]";
        token->expires_us = 1;
        return;
    }
    token->name = fa_value_dup(&c[1], list->arena);
    token->hash = fa_value_dup(&c[2], list->arena);
    token->scopes = (unsigned)fa_value_as_int(&c[3]) & FA_SCOPE_ALL;
    token->namespaces = fa_value_dup(&c[4], list->arena);
    token->created_us = fa_value_as_int(&c[5]);
    token->expires_us = fa_value_as_int(&c[6]);
}

static bool is_valid(const struct fa_token *token, int64_t now_us)
{
    return token->expires_us == 0 || token->expires_us > now_us;
}

/* Refuses to remove the last valid token. */
static enum faina_code check_last(struct fa_unit *unit, struct fa_op *op)
{
    struct token_list list = {.source = &unit->source, .arena = &unit->arena}; /* pages.h, G3 */
    struct fa_value params[] = {fa_value_text(NULL), fa_pager_next(&list.pager)};
    enum faina_code code =
        fa_db_one(unit->source.db, FA_SQL_TOKEN_LIST, params, 2, sink_token, &list, &op->error);
    bool is_found = false, has_other = false, is_last = false;

    for (size_t i = 0; code == FAINA_OK && i < list.count; i++) {
        bool is_this = strcmp(list.items[i].id, op->id) == 0;

        is_found |= is_this;
        has_other |= !is_this && is_valid(&list.items[i], unit->now_us);
        is_last |= is_this && (list.count == 1 || is_valid(&list.items[i], unit->now_us));
    }
    if (code == FAINA_OK && is_found && is_last && !has_other)
        code = fa_error_set(&op->error, FAINA_CONFLICT,
                            "this is the last valid token, and without it other machines have no "
                            "access any more: to revoke it anyway, use --force (force=true)");
    return code;
}

enum faina_code fa_do_token_remove(struct fa_unit *unit, struct fa_op *op)
{
    struct fa_value id = fa_value_text(op->id);
    bool found = false;
    enum faina_code code = op->force ? FAINA_OK : check_last(unit, op);

    if (code == FAINA_OK)
        code = fa_db_one(unit->source.db, FA_SQL_TOKEN_DELETE, &id, 1, fa_sink_found, &found,
                         &op->error);
    if (code == FAINA_OK && !found)
        code = fa_error_set(&op->error, FAINA_NOT_FOUND, "there is no token %.64s", op->id);
    return code;
}

enum faina_code fa_read_tokens(struct fa_source *source, struct fa_op *op)
{
    struct token_list list = {
        .source = source, .arena = op->arena, .pager = fa_pager_of_part(&op->part)};
    const char *after, *last;
    enum faina_code code = fa_cursor_read(op->part.cursor, op->arena, &after, 1, &op->error);

    if (code == FAINA_OK && op->part.cursor == NULL)
        after = NULL; /* not "": an empty id is damaged, and listed (sink_token) */
    while (code == FAINA_OK) {
        struct fa_value params[] = {fa_value_text(after), fa_pager_next(&list.pager)};

        code = fa_db_one(source->db, FA_SQL_TOKEN_LIST, params, 2, sink_token, &list, &op->error);
        if (code != FAINA_OK || !fa_pager_goes_on(&list.pager))
            break;
        last = list.items[list.count - 1].id;
        if (after != NULL && strcmp(last, after) <= 0)
            break; /* a damaged id: nothing can be found after it */
        after = last;
    }
    if (code != FAINA_OK)
        return code;
    if (list.pager.has_more)
        op->next_cursor =
            fa_cursor_write(op->arena, (const char *[]){list.items[list.count - 1].id}, 1);
    op->tokens = fa_arena_zero(op->arena, 1, sizeof(*op->tokens));
    op->tokens->items = list.items;
    op->tokens->count = list.count;
    return FAINA_OK;
}
