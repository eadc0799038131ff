/*
 * fuzz_match.c - a match expression, a line break, and JSON: it compiles or is refused with a
 * place, and runs on any data.
 *
 *   - A refusal has a line, a column and a sentence in UTF-8.
 *   - NOT ( expression ) says the opposite, and is decided by the same clause.
 *   - The clause that decided says by itself what it said inside.
 *   - What matches, or is refused on the data, is selected by an index.
 */
#include "json/json.h"
#include "base/utf8.h"
#include "model/limits.h"
#include "model/match_index.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* Whether the expression could be run. */
static bool run(struct fa_bytes source, struct fa_bytes json, struct fa_arena *arena,
                struct fa_match_verdict *out)
{
    const struct fa_match *match;
    struct fa_match_data data;
    struct faina_error err = {0};
    uint64_t selected = 0;

    if (fa_match_compile(source, arena, &match, &err) != FAINA_OK) {
        require(fa_utf8_is_valid(fa_str(err.message)));
        require(source.len > FA_MATCH_SIZE_MAX || (err.line >= 1 && err.column >= 1));
        return false;
    }
    fa_match_data_init(&data, json);
    fa_match_index_select(fa_match_index_make(&match, 1, arena), &data, &selected);
    if (fa_match_run(match, &data, out, &err) != FAINA_OK) {
        require(selected == 1);
        return false;
    }
    require(selected == 1 || !out->is_match);
    return true;
}

static void check_relations(struct fa_bytes source, struct fa_bytes json, struct fa_arena *arena)
{
    struct fa_match_verdict plain, opposite, clause;
    struct fa_bytes part;
    const char *negated = fa_arena_printf(arena, "NOT (%.*s\n)", (int)source.len, source.ptr);

    if (!run(source, json, arena, &plain))
        return;
    require(plain.from < plain.to);
    require(plain.to <= source.len);
    part = (struct fa_bytes){source.ptr + plain.from, plain.to - plain.from};
    require(run(part, json, arena, &clause));
    require(clause.is_match == plain.clause_holds);
    if (run(fa_str(negated), json, arena, &opposite)) {
        require(opposite.is_match != plain.is_match);
        require(opposite.from == plain.from + strlen("NOT ("));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_arena arena = {0};
    const char *text = (const char *)data;
    const char *split = size ? memrchr(text, '\n', size) : NULL;
    struct fa_bytes source = {text, split ? (size_t)(split - text) : size};
    struct fa_bytes json = FA_LIT("{\"a\":1,\"b\":{\"c\":[\"x\",null]},\"d\":\"\\u0041bc\"}");

    if (split) {
        struct fa_bytes rest = {split + 1, size - source.len - 1};

        if (fa_json_check(rest, FA_JSON_DEPTH_MAX, "x", FAINA_INVALID_REQUEST, NULL) == FAINA_OK)
            json = rest;
    }
    check_relations(source, json, &arena);
    fa_arena_finish(&arena);
    return 0;
}
