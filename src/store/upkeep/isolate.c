/*
 * isolate.c - see isolate.h.
 *
 * Due items are listed, and the list is run in halves: a half that fails is halved again, down to a
 * single item. One bad item among a thousand takes about twenty transactions, once.
 */
#include "store/upkeep/isolate.h"

#include "base/clock.h"
#include "store/upkeep/chore_scope.h"

#include <string.h>

#define ISOLATE_US 2000000 /* operations of users wait meanwhile */
#define ALONE_MAX 3        /* items that may fail while none succeeds (I3) */

struct isolation {
    struct fa_writer *writer;
    struct fa_chore_scope scope;
    int64_t until_us;  /* by the monotonic clock */
    bool has_success;  /* an item that changes rows has succeeded */
    size_t fail_count; /* items that fail alone: */
    size_t wait_count; /* ... of which so many wait for keys */
    struct failure {
        size_t item;
        const char *reason;
        bool awaits_key;
    } * failures;
    size_t fail_size;
};

/* A1 of set_aside.h. Other codes than INTERNAL are failures of the store, but for keys that open
 * transactions hold. */
static bool may_be_an_item(const struct fa_writer *writer, enum faina_code code)
{
    return code == FAINA_INTERNAL || (code != FAINA_OK && writer->db->awaits_key);
}

static void add_failure(struct isolation *isolation, size_t item, const char *reason)
{
    isolation->failures =
        fa_arena_grow(isolation->scope.arena, isolation->failures, isolation->fail_count,
                      &isolation->fail_size, sizeof(*isolation->failures));
    isolation->failures[isolation->fail_count++] = (struct failure){
        item, fa_arena_strdup(isolation->scope.arena, reason), isolation->writer->db->awaits_key};
    isolation->wait_count += isolation->writer->db->awaits_key;
}

/* I3 */
static void report_failures(struct isolation *isolation)
{
    struct fa_writer *writer = isolation->writer;

    bool are_many = isolation->fail_count - isolation->wait_count > ALONE_MAX;

    for (size_t i = 0; i < isolation->fail_count; i++) {
        const struct failure *failure = &isolation->failures[i];
        const struct fa_chore_item *item = &isolation->scope.items[failure->item];

        if (failure->awaits_key)
            fa_aside_put_off(writer->engine->aside, item->kind, item->key, failure->reason,
                             fa_db_now(writer->db));
        else if (isolation->has_success || !are_many)
            fa_aside_report(writer->engine->aside, item->kind, item->key, NULL, failure->reason,
                            fa_db_now(writer->db));
    }
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
    for (size_t i = from; code == FAINA_OK && i < to; i++)
        isolation->has_success |= strcmp(scope->items[i].kind, FA_ASIDE_CHORE) != 0;
    if (code == FAINA_OK || !may_be_an_item(isolation->writer, code))
        return code;
    if (to - from == 1) {
        add_failure(isolation, from, err.message);
        return FAINA_OK;
    }
    code = run_half(isolation, from, from + (to - from) / 2);
    return code == FAINA_OK ? run_half(isolation, from + (to - from) / 2, to) : code;
}

/* Stores the items that were set aside; without events of tasks, if these can't be stored. */
static void store(struct isolation *isolation)
{
    struct fa_writer *writer = isolation->writer;
    enum faina_code code;

    isolation->scope.from = isolation->scope.to = 0;
    isolation->scope.is_storing = true;
    code = fa_writer_run_part(writer, &isolation->scope, NULL);
    if (may_be_an_item(writer, code)) {
        writer->is_quiet = true;
        code = fa_writer_run_part(writer, &isolation->scope, NULL);
        writer->is_quiet = false;
    }
    (void)code; /* a later transaction stores them */
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
    report_failures(&isolation);
    if (fa_aside_is_pending(writer->engine->aside))
        store(&isolation);
    (void)code; /* a failure of the store will fail the next transaction, too */
    fa_arena_finish(&arena);
}
