/*
 * isolate.c - see isolate.h.
 *
 * What is due is listed, and the list is run in halves: a half that fails is halved again, until it
 * is a single item. One bad item among a thousand takes about twenty transactions, once.
 */
#include "sql/isolate.h"

#include "base/clock.h"
#include "sql/chores/scope.h"

#define ISOLATE_US 2000000 /* the operations of users wait meanwhile */

struct isolation {
    struct fa_writer *writer;
    struct fa_chore_scope scope;
    int64_t until_us; /* by the monotonic clock */
};

/* A1. Others than INTERNAL are the store's. */
static bool may_be_an_item(enum faina_code code)
{
    return code == FAINA_INTERNAL;
}

static enum faina_code run_half(struct isolation *isolation, size_t from, size_t to)
{
    struct fa_chore_scope *scope = &isolation->scope;
    struct faina_error err = {0};
    enum faina_code code;

    if (from == to || fa_clock_mono_us() > isolation->until_us)
        return FAINA_OK;
    scope->from = from;
    scope->to = to;
    code = fa_writer_run_part(isolation->writer, scope, &err);
    if (code == FAINA_OK || !may_be_an_item(code))
        return code;
    if (to - from == 1) {
        const struct fa_chore_item *item = &scope->items[from];

        fa_aside_report(isolation->writer->engine->aside, item->kind, item->key, NULL, err.message,
                        fa_db_now(isolation->writer->db));
        return FAINA_OK;
    }
    code = run_half(isolation, from, from + (to - from) / 2);
    return code == FAINA_OK ? run_half(isolation, from + (to - from) / 2, to) : code;
}

/* Stores what was set aside. Where a task's event can't be noted, without one. */
static void store(struct isolation *isolation)
{
    struct fa_writer *writer = isolation->writer;
    enum faina_code code;

    isolation->scope.from = isolation->scope.to = 0;
    code = fa_writer_run_part(writer, &isolation->scope, NULL);
    if (may_be_an_item(code)) {
        writer->is_quiet = true;
        code = fa_writer_run_part(writer, &isolation->scope, NULL);
        writer->is_quiet = false;
    }
    (void)code; /* it stays to be stored */
}

void fa_isolate_chores(struct fa_writer *writer)
{
    struct fa_arena arena = {0};
    struct isolation isolation = {.writer = writer,
                                  .scope = {.is_listing = true, .arena = &arena},
                                  .until_us = fa_clock_mono_us() + ISOLATE_US};
    enum faina_code code = fa_writer_run_part(writer, &isolation.scope, NULL);

    isolation.scope.is_listing = false;
    if (code == FAINA_OK)
        code = run_half(&isolation, 0, isolation.scope.count);
    if (fa_aside_is_pending(writer->engine->aside))
        store(&isolation);
    (void)code; /* the store's failures are those of the next transaction, too */
    fa_arena_finish(&arena);
}
