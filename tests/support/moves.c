/*
 * moves.c - see moves.h.
 */
#include "support/moves.h"

#include <stdlib.h>

#define TRIES 4
#define LEASE_MS (24LL * 3600 * 1000)
#define BIG_INPUT 70000

/* The state of one task after a move. */
struct promise {
    int32_t number, parent;
    struct fa_l_state state;
};

/* clang-format off */
#define STATE(s, a, o) {FAINA_##s, a, o}
#define GONE {FA_L_ABSENT, 0, -1}
/* clang-format on */

void fa_l_copy(struct fa_l *to, const struct fa_l *from)
{
    *to = *from;
    to->entries = fa_alloc((size_t)from->size * sizeof(struct fa_l_entry));
    if (from->count > 0)
        memcpy(to->entries, from->entries, (size_t)from->count * sizeof(struct fa_l_entry));
}

static void note(struct fa_moves *moves, char kind, const struct promise *promises, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fa_l_note(&moves->ledger, &(struct fa_l_record){.number = promises[i].number,
                                                        .parent = promises[i].parent,
                                                        .kind = kind,
                                                        .uses_gpu = promises[i].number == 0,
                                                        .state = promises[i].state});
}

/* Tries until it is acknowledged. */
static void move(struct fa_moves *moves, const struct fa_op *op, const struct promise *promises,
                 size_t count)
{
    for (int attempt = 0; attempt < TRIES; attempt++) {
        enum faina_code code;

        note(moves, 'i', promises, count);
        code = fa_t_run(moves->t, op);
        if (code == FAINA_OK) {
            note(moves, 'a', promises, count);
            return;
        }
        CHECK(moves->is_remote ? fa_l_is_away(code) : code == FAINA_UNAVAILABLE,
              "%s is refused with %s (%s)", fa_op_name(op->kind), faina_code_name(code),
              moves->t->op.error.message);
        if (!fa_l_is_unknown(&moves->t->op.error))
            note(moves, 'n', promises, count);
        moves->refused++;
        CHECK(moves->on_refusal != NULL, "%s is refused: %s", fa_op_name(op->kind),
              moves->t->op.error.message);
        moves->on_refusal(moves->ctx, moves);
    }
    fa_t_fail(__FILE__, __LINE__, "%s is refused again and again: %s", fa_op_name(op->kind),
              moves->t->op.error.message);
}

static void submit(struct fa_moves *moves, int32_t number, const char *input, bool uses_gpu)
{
    const char *gpu = "gpu";
    char key[32];
    struct faina_submit task = {.type = "kept",
                                .idempotency_key = key,
                                .input = input,
                                .resources = &gpu,
                                .resource_count = uses_gpu};

    fa_l_key(number, key);
    move(moves, &(struct fa_op){.kind = FA_OP_SUBMIT, .submit = &task},
         &(struct promise){number, -1, STATE(PENDING, 0, -1)}, 1);
    memcpy(moves->ids[number], moves->t->op.task_id, FAINA_ID_SIZE);
}

static void start(struct fa_moves *moves, int32_t number, int32_t parent)
{
    move(moves,
         &(struct fa_op){
             .kind = FA_OP_START, .id = moves->ids[number], .by = BY("w"), .lease_ms = LEASE_MS},
         &(struct promise){number, parent, STATE(RUNNING, 1, -1)}, 1);
}

static void complete(struct fa_moves *moves, int32_t number, const char *output)
{
    move(moves,
         &(struct fa_op){
             .kind = FA_OP_COMPLETE, .id = moves->ids[number], .by = BY("w"), .output = output},
         &(struct promise){number, -1, STATE(COMPLETED, 1, (int16_t)fa_t_int(output))}, 1);
}

/* Task 3 blocks on 4 and 5, and continues after them. */
static void block_and_resume(struct fa_moves *moves)
{
    struct faina_submit children[] = {{.type = "child", .name = "n4"},
                                      {.type = "child", .name = "n5"}};
    static const struct promise blocked[] = {{3, -1, STATE(BLOCKED, 1, -1)},
                                             {4, 3, STATE(PENDING, 0, -1)},
                                             {5, 3, STATE(PENDING, 0, -1)}};
    static const struct promise resumed[] = {{5, 3, STATE(COMPLETED, 1, -1)},
                                             {3, -1, STATE(PENDING, 1, -1)}};

    move(
        moves,
        &(struct fa_op){
            .kind = FA_OP_BLOCK, .id = moves->ids[3], .by = BY("w"), .block = {children, 2, false}},
        blocked, 3);
    move(moves, &(struct fa_op){.kind = FA_OP_CHILDREN, .id = moves->ids[3]}, NULL, 0);
    CHECK_INT(moves->t->op.tasks->count, 2);
    for (size_t i = 0; i < 2; i++)
        memcpy(moves->ids[4 + i], moves->t->op.tasks->items[i].id, FAINA_ID_SIZE);
    start(moves, 4, 3);
    move(moves, &(struct fa_op){.kind = FA_OP_COMPLETE, .id = moves->ids[4], .by = BY("w")},
         &(struct promise){4, 3, STATE(COMPLETED, 1, -1)}, 1);
    start(moves, 5, 3);
    move(moves, &(struct fa_op){.kind = FA_OP_COMPLETE, .id = moves->ids[5], .by = BY("w")},
         resumed, 2);
}

static void fail_and_delete(struct fa_moves *moves)
{
    struct faina_failure failure = {.message = "no", .permanent = true};

    move(moves, &(struct fa_op){.kind = FA_OP_FAIL, .id = moves->ids[6], .failure = &failure},
         &(struct promise){6, -1, STATE(FAILED, 0, -1)}, 1);
    move(moves,
         &(struct fa_op){.kind = FA_OP_DELETE, .id = moves->ids[6], .removal = {.purge = true}},
         &(struct promise){6, -1, GONE}, 1);
}

void fa_moves_run(struct fa_moves *moves)
{
    char *big = fa_alloc(BIG_INPUT + 1);

    memset(big, 'x', BIG_INPUT);
    big[0] = big[BIG_INPUT - 1] = '"';
    big[BIG_INPUT] = '\0';
    move(moves, &(struct fa_op){.kind = FA_OP_RESOURCE_SET, .resource = {"gpu", 2}}, NULL, 0);
    submit(moves, 0, "{\"a\":1}", true);
    submit(moves, 3, NULL, false);
    submit(moves, 6, "[]", false);
    move(moves,
         &(struct fa_op){
             .kind = FA_OP_CLAIM, .id = moves->ids[0], .by = BY("w"), .lease_ms = LEASE_MS},
         &(struct promise){0, -1, STATE(CLAIMED, 1, -1)}, 1);
    start(moves, 0, -1);
    start(moves, 3, -1);
    complete(moves, 0, "17");
    block_and_resume(moves);
    fail_and_delete(moves);
    submit(moves, 9, big, false);
    start(moves, 3, -1);
    complete(moves, 3, "4");
    move(moves, &(struct fa_op){.kind = FA_OP_CANCEL, .id = moves->ids[9]},
         &(struct promise){9, -1, STATE(CANCELLED, 0, -1)}, 1);
    free(big);
}
