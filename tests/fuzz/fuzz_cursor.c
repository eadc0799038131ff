/*
 * fuzz_cursor.c - cursors of lists, of the log and of events: any text is either the place that
 * some answer named, or refused with a sentence; and an answer's own cursor is never refused.
 */
#include "base/utf8.h"
#include "model/limits.h"
#include "service/service.h"

#include <stdlib.h>

#define TASKS 5

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct fa_service *service;

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void close_service(void)
{
    fa_service_close(service);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct fa_arena arena = {0};
    struct faina_error err;

    (void)argc;
    (void)argv;
    require(fa_service_open(&service, "memory:", NULL, &err) == FAINA_OK);
    atexit(close_service);
    for (int i = 0; i < TASKS; i++) {
        struct faina_submit submit = {.type = "t"};
        struct fa_op op = {.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &arena};

        fa_service_run(service, &op, 1);
        require(op.code == FAINA_OK);
    }
    fa_arena_finish(&arena);
    return 0;
}

/* False: it was refused, as it should be. */
static bool run(struct fa_op *op)
{
    fa_service_run(service, op, 1);
    if (op->code == FAINA_OK)
        return true;
    require(op->code == FAINA_INVALID_REQUEST);
    require(op->error.message[0] && fa_utf8_is_valid(fa_str(op->error.message)));
    return false;
}

static void check_list(const char *cursor, struct fa_arena *arena)
{
    struct faina_query query = {.cursor = cursor, .limit = 2};
    struct fa_op op = {.kind = FA_OP_LIST, .query = &query, .arena = arena};

    for (size_t pages = 0; run(&op); pages++) {
        require(op.tasks->count <= 2 && pages <= TASKS);
        if (!op.tasks->next_cursor)
            return;
        query.cursor = op.tasks->next_cursor;
    }
    require(query.cursor == cursor);
}

static void check_log(const char *cursor, struct fa_arena *arena)
{
    struct fa_op op = {.kind = FA_OP_FOLLOW, .arena = arena};

    op.page.cursor = cursor;
    op.page.limit = 2;
    if (!run(&op))
        return;
    require(op.followed->count <= 2 && op.followed->next);
    op.page.cursor = op.followed->next;
    require(run(&op));
}

static void check_events(const char *cursor, struct fa_arena *arena)
{
    struct fa_emitted_query query = {.cursor = cursor, .limit = 2};
    struct fa_op op = {.kind = FA_OP_EMITTED_LIST, .emitted_query = &query, .arena = arena};

    (void)run(&op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_arena arena = {0};
    const char *cursor = fa_arena_copy(&arena, (const char *)data, size);

    check_list(cursor, &arena);
    check_log(cursor, &arena);
    check_events(cursor, &arena);
    fa_arena_finish(&arena);
    return 0;
}
