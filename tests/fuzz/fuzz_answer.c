/*
 * fuzz_answer.c - what a server may answer to each kind of operation: an answer, or a refusal with
 * a sentence. The first byte picks the operation, the second the status.
 */
#include "base/utf8.h"
#include "client/encode.h"

#include <stdlib.h>

#define ID "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void require_text(const char *text)
{
    if (text)
        require(fa_utf8_is_valid(fa_str(text)));
}

/* What must hold for every task, whoever sent it. */
static void check_task(const struct faina_task *task)
{
    require(task->id[0] && task->ns && task->type && task->name);
    require((unsigned)task->status < FAINA_STATUS_COUNT);
    require_text(task->state);
    require_text(task->input);
    for (size_t i = 0; i < task->depends_on_count; i++)
        require(task->depends_on[i] != NULL);
}

static void check_op(const struct fa_op *op)
{
    if (op->code != FAINA_OK) {
        require((unsigned)op->code < FAINA_CODE_COUNT);
        require(fa_utf8_is_valid(fa_str(op->error.message)));
        return;
    }
    if (op->kind == FA_OP_GET || (op->wants_task && op->kind == FA_OP_SUBMIT))
        check_task(op->task);
    for (size_t i = 0;
         (op->kind == FA_OP_LIST || op->kind == FA_OP_CLAIM_NEXT) && i < op->tasks->count; i++)
        check_task(&op->tasks->items[i]);
}

static struct fa_op make_op(uint8_t choice, struct fa_arena *arena)
{
    static const struct faina_submit submit = {.type = "t"};
    static const struct faina_worker worker = {.id = "w"};
    static const struct fa_emitted_query query = {.id = "e"};
    static const struct faina_held held[] = {{.id = ID, .fence = 1}, {.id = "x"}};
    struct fa_op op = {.kind = choice % FA_OP_COUNT, .wants_task = choice & 128, .arena = arena};

    op.id = ID;
    if (op.kind == FA_OP_AUDIT_ADD) /* it is never sent */
        op.kind = FA_OP_GET;
    if (op.kind == FA_OP_SUBMIT)
        op.submit = &submit;
    if (op.kind == FA_OP_EMITTED_LIST)
        op.emitted_query = &query;
    if (op.kind == FA_OP_WORKER_PUT) {
        op.worker.self = &worker;
        op.worker.held = held;
        op.worker.held_count = 2;
    }
    return op;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 201, 204, 304, 400, 404, 409, 500};
    struct fa_arena arena = {0};
    struct fa_op ops[2];
    struct fa_call call;

    if (size < 2)
        return 0;
    ops[0] = make_op(data[0], &arena);
    ops[1] = make_op(FA_OP_SUBMIT, &arena);
    fa_call_init(&call, "GET");
    call.status = statuses[data[1] % FA_COUNT(statuses)];
    fa_buf_add(&call.answer, (const char *)data + 2, size - 2);
    fa_decode_one(&ops[0], &call, "http://server");
    check_op(&ops[0]);
    ops[0] = make_op(FA_OP_SUBMIT, &arena);
    call.code = FAINA_OK;
    fa_decode_many(ops, 1 + data[0] % 2, &call, "http://server");
    check_op(&ops[0]);
    fa_call_finish(&call);
    fa_arena_finish(&arena);
    return 0;
}
