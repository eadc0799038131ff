/*
 * test_submit.c - what a submit stores, and when it stores nothing (design.md 4).
 */
#include "support/ops.h"

#include "base/clock.h"
#include "base/hash.h"

#include <stdlib.h>

static void test_submit__defaults(struct fa_t *t)
{
    int64_t before_us = fa_clock_now_us();
    const char *id = fa_t_submit(t, .type = "mail.send");
    const struct faina_task *task = fa_t_task(t, id);

    CHECK_STATUS(task->status, FAINA_PENDING);
    CHECK_STR(task->ns, "default");
    CHECK_STR(task->type, "mail.send");
    CHECK_STR(task->name, "mail.send");
    CHECK_STR(task->state, "Queued");
    CHECK_INT(task->phase, FAINA_PHASE_START);
    CHECK_INT(task->progress, 0);
    CHECK_INT(task->priority, 0);
    CHECK_INT(task->attempts, 0);
    CHECK_INT(task->max_attempts, 4);
    CHECK_INT(task->version, 1);
    CHECK_INT(task->fence, 0);
    CHECK_STR(task->input, NULL);
    CHECK_STR(task->output, NULL);
    CHECK_STR(task->error, NULL);
    CHECK_STR(task->metadata, "{}");
    CHECK_STR(task->spec, "{}");
    CHECK_STR(task->idempotency_key, NULL);
    CHECK_STR(task->input_hash, NULL);
    CHECK_STR(task->worker_id, NULL);
    CHECK_STR(task->parent_id, "");
    CHECK_STR(task->team_id, "");
    CHECK_STR(task->created_by, NULL);
    CHECK_INT(task->depends_on_count, 0);
    CHECK_INT(task->resource_count, 0);
    CHECK_INT(task->claimed_us, 0);
    CHECK_INT(task->started_us, 0);
    /* The engine's clock may be another machine's; here it is ours. */
    CHECK(task->created_us >= before_us - 1000 && task->created_us <= fa_clock_now_us() + 1000,
          "created at %lld, it was %lld", (long long)task->created_us, (long long)before_us);
}

static void test_submit__keeps_every_field(struct fa_t *t)
{
    const char *resources[] = {"gpu", "disk", "gpu"};
    const char *needs = fa_t_submit(t, .type = "first");
    const char *id;
    const struct faina_task *task;

    CHECK_OK(t, fa_t_team_put(t, &(struct faina_team){.ns = "acme", .name = "red"}));
    id = fa_t_submit(t, .ns = "acme", .type = "mail.send", .name = "to Ann",
                     .input = "{\"b\": 1,\n \"a\": 9007199254740993}", .metadata = "{\"n\": 2.50}",
                     .spec = "{\"x\": 1}", .priority = -7, .max_attempts = 9,
                     .idempotency_key = "k 1", .depends_on = &needs, .depends_on_count = 1,
                     .resources = resources, .resource_count = 3,
                     .retry = {.base_ms = 5, .factor = 1.5, .max_ms = 700},
                     .team_id = t->op.team_answer->id, .created_by = "ann");
    CHECK_STR(t->task->id, id);
    for (int pass = 0; pass < 2; pass++) {
        task = pass == 0 ? t->task : fa_t_task(t, id);
        CHECK_STATUS(task->status, FAINA_BLOCKED);
        CHECK_STR(task->ns, "acme");
        CHECK_STR(task->type, "mail.send");
        CHECK_STR(task->name, "to Ann");
        CHECK_STR(task->input, "{\"b\": 1,\n \"a\": 9007199254740993}");
        CHECK_STR(task->metadata, "{\"n\": 2.50}");
        CHECK_STR(task->spec, "{\"x\": 1}");
        CHECK_INT(task->priority, -7);
        CHECK_INT(task->max_attempts, 9);
        CHECK_STR(task->idempotency_key, "k 1");
        CHECK_INT(task->depends_on_count, 1);
        CHECK_STR(task->depends_on[0], needs);
        CHECK_INT(task->resource_count, 2);
        CHECK_STR(task->resources[0], "disk");
        CHECK_STR(task->resources[1], "gpu");
        CHECK_INT(task->retry.base_ms, 5);
        CHECK_TRUE(task->retry.factor > 1.49 && task->retry.factor < 1.51);
        CHECK_INT(task->retry.max_ms, 700);
        CHECK_TRUE(strlen(task->team_id) == 36);
        CHECK_STR(task->created_by, "ann");
        CHECK_TRUE(!task->existing && !task->input_mismatch);
    }
}

static void test_submit__name_alone_has_type_default(struct fa_t *t)
{
    fa_t_submit(t, .name = "tidy up");
    CHECK_STR(t->task->type, "default");
    CHECK_STR(t->task->name, "tidy up");
}

static void test_submit__unlimited_attempts(struct fa_t *t)
{
    fa_t_submit(t, .type = "x", .max_attempts = FAINA_UNLIMITED);
    CHECK_INT(t->task->max_attempts, 0);
}

static void test_submit__ids_grow(struct fa_t *t)
{
    const char *last = fa_t_submit(t, .type = "x");

    for (int i = 0; i < 200; i++) {
        const char *id = fa_t_submit(t, .type = "x");

        CHECK(strcmp(id, last) > 0, "%s came after %s", id, last);
        last = id;
    }
}

/* ------------------------------------------------------------------------------------------
 * Keys
 */

static void test_submit__known_key_changes_nothing(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "{\"a\":1}");
    const char *before = fa_t_picture(t, id);

    CHECK_TRUE(!t->op.existing);
    CHECK_STR(
        fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "{ \"a\": 1 }", .priority = 3),
        id);
    CHECK_TRUE(t->op.existing && t->task->existing);
    CHECK_TRUE(!t->op.input_mismatch && !t->task->input_mismatch);
    CHECK_INT(t->task->priority, 0);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_STORY(t, id, "created");
    CHECK_OK(t, fa_t_list(t, .type = "x"));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_submit__known_key_with_other_input_says_so(struct fa_t *t)
{
    static const char *const others[] = {"{\"a\":2}", "{}", NULL, "[1]"};
    const char *id = fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "{\"a\":1}");
    const char *before = fa_t_picture(t, id);

    for (size_t i = 0; i < FA_COUNT(others); i++) {
        CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = others[i]), id);
        CHECK_TRUE(t->op.existing && t->task->existing);
        CHECK_TRUE(t->op.input_mismatch && t->task->input_mismatch);
        CHECK_STR(t->task->input, "{\"a\":1}");
    }
    CHECK_STR(fa_t_picture(t, id), before);
}

static void test_submit__key_is_per_namespace_and_type(struct fa_t *t)
{
    static const struct {
        const char *ns, *type, *key;
    } places[] = {
        {NULL, "x", "k"}, {NULL, "y", "k"},  {"other", "x", "k"},
        {NULL, "x", "K"}, {NULL, "x", "k "}, {"x", "k", "k"},
    };
    const char *ids[FA_COUNT(places)];

    for (size_t i = 0; i < FA_COUNT(places); i++) {
        ids[i] = fa_t_submit(t, .ns = places[i].ns, .type = places[i].type,
                             .idempotency_key = places[i].key);
        CHECK(!t->op.existing, "place %zu is not its own", i);
    }
    for (size_t i = 0; i < FA_COUNT(places); i++) {
        CHECK_OK(t, fa_t_get_by_key(t, places[i].ns, places[i].type, places[i].key));
        CHECK_STR(t->task->id, ids[i]);
    }
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "x", "nobody's"), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_get_by_key(t, "nowhere", "x", "k"), FAINA_TASK_NOT_FOUND);
    /* "default" by its name and by leaving it out is one namespace. */
    CHECK_STR(fa_t_submit(t, .ns = "default", .type = "x", .idempotency_key = "k"), ids[0]);
}

static void test_submit__key_finds_ended_tasks(struct fa_t *t)
{
    static const enum faina_status ends[] = {FAINA_COMPLETED, FAINA_FAILED, FAINA_DEAD_LETTER,
                                             FAINA_CANCELLED};

    for (size_t i = 0; i < FA_COUNT(ends); i++) {
        const char *key = fa_arena_printf(&t->arena, "k%zu", i);
        const char *id = fa_t_submit(t, .type = "x", .idempotency_key = key, .max_attempts = 1);

        if (ends[i] == FAINA_COMPLETED)
            fa_t_finish_task(t, id);
        if (ends[i] == FAINA_FAILED)
            CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "no"));
        if (ends[i] == FAINA_DEAD_LETTER) {
            fa_t_take(t, id, "w");
            CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
        }
        if (ends[i] == FAINA_CANCELLED)
            CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
        CHECK_NOW(t, id, ends[i]);
        CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = key), id);
        CHECK_TRUE(t->op.existing);
        CHECK_STATUS(t->task->status, ends[i]);
        CHECK_OK(t, fa_t_get_by_key(t, NULL, "x", key));
        CHECK_STR(t->task->id, id);
    }
}

static void test_submit__delete_frees_the_key(struct fa_t *t)
{
    const char *first = fa_t_submit(t, .type = "x", .idempotency_key = "k");
    const char *second;

    CHECK_OK(t, fa_t_cancel(t, first, NOBODY));
    CHECK_OK(t, fa_t_delete(t, first));
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "x", "k"), FAINA_TASK_NOT_FOUND);
    second = fa_t_submit(t, .type = "x", .idempotency_key = "k");
    CHECK_TRUE(!t->op.existing);
    CHECK(strcmp(first, second) != 0, "the deleted task came back");
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k"), second);
    /* Purging the first one leaves the second one's key alone. */
    CHECK_OK(t, fa_t_delete_with(t, first, NOBODY, (struct faina_removal){.purge = true}));
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k"), second);
}

static void test_submit__dedupe_by_canonical_input(struct fa_t *t)
{
    static const char *const same[] = {"{\"a\":1,\"b\":[true,null]}",
                                       "{ \"b\" : [ true , null ] , \"a\" : 1 }",
                                       "{\"\\u0061\":1.0,\"b\":[true,null]}"};
    static const char *const different[] = {"{\"a\":1,\"b\":[null,true]}", "{\"a\":1}", "{}", "[]"};
    const char *id = fa_t_submit(t, .type = "x", .dedupe_input = true, .input = same[0]);
    uint8_t digest[FA_SHA256_SIZE];
    char hex[FA_SHA256_HEX_SIZE];

    fa_sha256(fa_str(same[0]), digest); /* it is canonical already */
    fa_hex(digest, sizeof digest, hex);
    CHECK_STR(fa_t_task(t, id)->input_hash, hex);
    for (size_t i = 0; i < FA_COUNT(same); i++) {
        CHECK_STR(fa_t_submit(t, .type = "x", .dedupe_input = true, .input = same[i]), id);
        CHECK_TRUE(t->op.existing && !t->op.input_mismatch);
    }
    for (size_t i = 0; i < FA_COUNT(different); i++) {
        fa_t_submit(t, .type = "x", .dedupe_input = true, .input = different[i]);
        CHECK(!t->op.existing, "%s was taken for another input", different[i]);
    }
    fa_t_submit(t, .type = "y", .dedupe_input = true, .input = same[0]);
    CHECK_TRUE(!t->op.existing);
    fa_t_submit(t, .ns = "other", .type = "x", .dedupe_input = true, .input = same[0]);
    CHECK_TRUE(!t->op.existing);
    /* Neither a plain submit nor a key of the same text is a duplicate. */
    fa_t_submit(t, .type = "x", .input = same[0]);
    CHECK_TRUE(!t->op.existing);
    fa_t_submit(t, .type = "x", .input = same[0], .idempotency_key = hex);
    CHECK_TRUE(!t->op.existing);
}

static void test_submit__delete_frees_the_input(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .dedupe_input = true, .input = "{\"a\":1}");

    fa_t_finish_task(t, id);
    CHECK_OK(t, fa_t_delete(t, id));
    fa_t_submit(t, .type = "x", .dedupe_input = true, .input = "{\"a\":1}");
    CHECK_TRUE(!t->op.existing);
}

/* ------------------------------------------------------------------------------------------
 * When
 */

static void test_submit__run_at_and_delay(struct fa_t *t)
{
    int64_t hour_us = 3600LL * 1000000, now_us = fa_clock_now_us();

    fa_t_submit(t, .type = "x", .name = "at", .run_at_us = now_us + hour_us);
    CHECK_INT(t->task->run_at_us, now_us + hour_us);
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    fa_t_submit(t, .type = "x", .name = "delayed", .delay_ms = 3600 * 1000);
    CHECK(llabs(t->task->run_at_us - (now_us + hour_us)) < 60 * 1000000, "due at %lld",
          (long long)t->task->run_at_us);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_INT(t->op.tasks->count, 0);

    fa_t_submit(t, .type = "x", .name = "past", .run_at_us = now_us - hour_us);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w", .limit = 10));
    CHECK_STR(fa_t_names(t, t->op.tasks), "past");
}

static bool claims_one(struct fa_t *t, void *arg)
{
    (void)arg;
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    return t->op.tasks->count == 1;
}

static void test_submit__delayed_comes_on_time(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .delay_ms = 60);
    int64_t run_at_us = t->task->run_at_us;

    fa_t_wait_until(claims_one, t, NULL, "the delayed task is handed out");
    CHECK_STR(t->op.tasks->items[0].id, id);
    CHECK(t->op.tasks->items[0].claimed_us >= run_at_us, "claimed %lld us too early",
          (long long)(run_at_us - t->op.tasks->items[0].claimed_us));
}

/* ------------------------------------------------------------------------------------------
 * Many at once
 */

static void test_submit__batch_keeps_order_and_answers_each(struct fa_t *t)
{
    enum { COUNT = 50 };
    struct faina_submit submits[COUNT];
    struct fa_op ops[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        submits[i] =
            (struct faina_submit){.type = "x", .name = fa_arena_printf(&t->arena, "n%zu", i)};
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    }
    submits[20].input = "{not json";
    submits[30].delay_ms = -1;
    fa_t_run_all(t, ops, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        bool is_bad = i == 20 || i == 30;

        CHECK(ops[i].code == (is_bad ? FAINA_INVALID_TASK : FAINA_OK), "item %zu: %s", i,
              faina_code_name(ops[i].code));
        if (is_bad)
            continue;
        CHECK_STR(fa_t_task(t, ops[i].task_id)->name, submits[i].name);
        if (i > 0 && ops[i - 1].code == FAINA_OK)
            CHECK(strcmp(ops[i - 1].task_id, ops[i].task_id) < 0, "item %zu is out of order", i);
    }
    CHECK_OK(t, fa_t_list(t, .limit = 1000));
    CHECK_INT(t->op.tasks->count, COUNT - 2);
}

static void test_submit__batch_with_one_key_twice_is_one_task(struct fa_t *t)
{
    struct faina_submit one = {.type = "x", .idempotency_key = "k", .input = "1"};
    struct faina_submit other = {.type = "x", .idempotency_key = "k", .input = "2"};
    struct fa_op ops[] = {
        {.kind = FA_OP_SUBMIT, .submit = &one, .wants_task = true},
        {.kind = FA_OP_SUBMIT, .submit = &one, .wants_task = true},
        {.kind = FA_OP_SUBMIT, .submit = &other, .wants_task = true},
    };

    fa_t_run_all(t, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++) {
        CHECK_INT(ops[i].code, FAINA_OK);
        CHECK_STR(ops[i].task_id, ops[0].task_id);
        CHECK_INT(ops[i].existing, i > 0);
        CHECK_INT(ops[i].input_mismatch, i == 2);
        CHECK_STR(ops[i].task->input, "1");
    }
    CHECK_OK(t, fa_t_list(t, .ns = "*"));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_submit__batch_of_different_operations_runs_in_order(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    const char *other = fa_t_submit(t, .type = "x");
    struct fa_op ops[] = {
        {.kind = FA_OP_COMPLETE, .id = id, .by = BY("w")}, /* too early */
        {.kind = FA_OP_CLAIM, .id = id, .by = BY("w")},
        {.kind = FA_OP_START, .id = id, .by = BY("w")},
        {.kind = FA_OP_CLAIM, .id = id, .by = BY("v")}, /* it is held */
        {.kind = FA_OP_CANCEL, .id = other},
        {.kind = FA_OP_COMPLETE, .id = id, .by = BY("w"), .output = "1"},
        {.kind = FA_OP_CLAIM, .id = other, .by = BY("w")}, /* too late */
        {.kind = FA_OP_RETRY, .id = other},
    };
    static const enum faina_code wanted[] = {
        FAINA_TASK_NOT_CLAIMED,     FAINA_OK, FAINA_OK,
        FAINA_TASK_ALREADY_CLAIMED, FAINA_OK, FAINA_OK,
        FAINA_INVALID_TRANSITION,   FAINA_OK,
    };

    fa_t_run_all(t, ops, FA_COUNT(ops));
    for (size_t i = 0; i < FA_COUNT(ops); i++)
        CHECK(ops[i].code == wanted[i], "operation %zu: %s (%s), wanted %s", i,
              faina_code_name(ops[i].code), ops[i].error.message, faina_code_name(wanted[i]));
    CHECK_STORY(t, id, "created claimed started completed");
    CHECK_STORY(t, other, "created cancelled retried");
    CHECK_NOW(t, other, FAINA_PENDING);
}

/* It is a member of the metadata, and replaces one that is there. A longer one of a later version
 * is stored as version 00. */
static void test_submit__traceparent(struct fa_t *t)
{
    static const char own[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    static const struct {
        const char *traceparent, *metadata;
    } cases[] = {
        {own, NULL},
        {own, "{\"traceparent\":\"mine\"}"},
        {"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-\"", "{}"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const char *id = fa_t_submit(t, .type = "x", .traceparent = cases[i].traceparent,
                                     .metadata = cases[i].metadata);

        CHECK_STR(fa_t_task(t, id)->metadata,
                  fa_arena_printf(&t->arena, "{\"traceparent\":\"%s\"}", own));
    }
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_submit__traceparent),
        FA_T_CASE(test_submit__defaults),
        FA_T_CASE_SQL(test_submit__keeps_every_field),
        FA_T_CASE(test_submit__name_alone_has_type_default),
        FA_T_CASE(test_submit__unlimited_attempts),
        FA_T_CASE(test_submit__ids_grow),
        FA_T_CASE(test_submit__known_key_changes_nothing),
        FA_T_CASE(test_submit__known_key_with_other_input_says_so),
        FA_T_CASE(test_submit__key_is_per_namespace_and_type),
        FA_T_CASE(test_submit__key_finds_ended_tasks),
        FA_T_CASE_SQL(test_submit__delete_frees_the_key),
        FA_T_CASE(test_submit__dedupe_by_canonical_input),
        FA_T_CASE(test_submit__delete_frees_the_input),
        FA_T_CASE(test_submit__run_at_and_delay),
        FA_T_CASE(test_submit__delayed_comes_on_time),
        FA_T_CASE(test_submit__batch_keeps_order_and_answers_each),
        FA_T_CASE(test_submit__batch_with_one_key_twice_is_one_task),
        FA_T_CASE(test_submit__batch_of_different_operations_runs_in_order),
    };

    return fa_t_main(argc, argv, "submit", cases, FA_COUNT(cases));
}
