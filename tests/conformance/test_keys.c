/*
 * test_keys.c - how long a task keeps its key (keyScope), and what a submit does when its key is
 * taken (onDuplicate).
 */
#include "support/ops.h"

#include "base/clock.h"

#include <stdlib.h>

#define RETURN FAINA_ON_DUPLICATE_RETURN
#define REJECT FAINA_ON_DUPLICATE_REJECT
#define REPLACE FAINA_ON_DUPLICATE_REPLACE

static void test_keys__active_until_the_task_has_ended(struct fa_t *t)
{
    const char *first = fa_t_submit(t, .type = "x", .idempotency_key = "k", .key_scope = "active");
    const char *second;

    CHECK_STR(fa_t_task(t, first)->key_scope, "active");
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k"), first);
    fa_t_take(t, first, "w");
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k"), first);
    CHECK_CODE(t, fa_t_complete(t, first, BY("w"), "1"), FAINA_OK);

    /* The scope of the task that has the key decides: the second keeps it for ever. */
    second = fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "2");
    CHECK(strcmp(second, first) != 0, "the ended task still has the key");
    CHECK(!t->op.existing, "it is new");
    CHECK_STR(fa_t_task(t, second)->key_scope, NULL);
    fa_t_finish_task(t, second);
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k", .key_scope = "active"), second);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "x", "k"), FAINA_OK);
    CHECK_STR(t->op.task_id[0] ? t->op.task_id : t->task->id, second);

    /* The first one's deletion leaves the key alone. */
    CHECK_CODE(t, fa_t_delete(t, first), FAINA_OK);
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k"), second);
}

static void test_keys__active_through_retries(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .idempotency_key = "k", .key_scope = "active",
                                 .max_attempts = 1);

    fa_t_take(t, id, "w");
    CHECK_CODE(t, fa_t_fail_attempt(t, id, BY("w"), "no"), FAINA_OK);
    CHECK_NOW(t, id, FAINA_DEAD_LETTER);
    CHECK_CODE(t, fa_t_retry(t, id, NOBODY), FAINA_OK);
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k"), id);
    CHECK_CODE(t, fa_t_cancel(t, id, NOBODY), FAINA_OK);
    CHECK(strcmp(fa_t_submit(t, .type = "x", .idempotency_key = "k"), id) != 0, "it has ended");
}

static void test_keys__for_a_duration(struct fa_t *t)
{
    char first[FAINA_ID_SIZE], second[FAINA_ID_SIZE];
    int64_t begin_us = fa_clock_mono_us(), until_us = begin_us + 20000000;

    snprintf(first, sizeof(first), "%s",
             fa_t_submit(t, .type = "x", .idempotency_key = "k", .key_scope = "400ms"));
    CHECK_STR(fa_t_task(t, first)->key_scope, "400ms");
    do
        snprintf(second, sizeof(second), "%s",
                 fa_t_submit(t, .type = "x", .idempotency_key = "k", .key_scope = "1h"));
    while (strcmp(first, second) == 0 && fa_clock_mono_us() < until_us);
    CHECK(strcmp(first, second) != 0, "the key was not free after its time");
    CHECK(fa_clock_mono_us() - begin_us >= 350000, "the key was free too early");
    CHECK_NOW(t, first, FAINA_PENDING);
    CHECK_STR(fa_t_task(t, second)->key_scope, "3600s");
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k"), second);
}

static void test_keys__dedupe_has_a_scope(struct fa_t *t)
{
    const char *first = fa_t_submit(t, .type = "x", .input = "{\"a\":1}", .dedupe_input = true,
                                    .key_scope = "active");

    CHECK_STR(fa_t_submit(t, .type = "x", .input = "{\"a\":1}", .dedupe_input = true), first);
    CHECK_CODE(t,
               fa_t_try_submit(t, .type = "x", .input = "{\"a\":1}", .dedupe_input = true,
                               .on_duplicate = REJECT),
               FAINA_DUPLICATE_KEY);
    fa_t_finish_task(t, first);
    CHECK(strcmp(fa_t_submit(t, .type = "x", .input = "{\"a\":1}", .dedupe_input = true), first) !=
              0,
          "it has ended");
}

static void test_keys__reject(struct fa_t *t)
{
    char id[FAINA_ID_SIZE];

    snprintf(id, sizeof(id), "%s",
             fa_t_submit(t, .type = "x", .idempotency_key = "k", .on_duplicate = REJECT));
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .idempotency_key = "k", .on_duplicate = REJECT),
               FAINA_DUPLICATE_KEY);
    CHECK(strstr(t->op.error.message, id), "the error names the task: %s", t->op.error.message);
    CHECK_STORY(t, id, "created");
}

static void test_keys__bad_values(struct fa_t *t)
{
    static const char *const scopes[] = {"", "for ever", "0s", "-1s", "10 m", "ACTIVE"};

    for (size_t i = 0; i < FA_COUNT(scopes); i++) {
        CHECK_CODE(t,
                   fa_t_try_submit(t, .type = "x", .idempotency_key = "k", .key_scope = scopes[i]),
                   FAINA_INVALID_TASK);
        CHECK_STR(t->op.error.field, "keyScope");
    }
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .key_scope = "active"), FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "keyScope");
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .on_duplicate = REJECT), FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "onDuplicate");
    CHECK_CODE(t,
               fa_t_try_submit(t, .type = "x", .idempotency_key = "k",
                               .on_duplicate = FAINA_ON_DUPLICATE_COUNT),
               FAINA_INVALID_TASK);
}

/* ------------------------------------------------------------------------------------------
 * Replacing
 */

/* The detail of the event `replaced`. */
static const char *replaced_detail(struct fa_t *t, const char *id)
{
    CHECK_CODE(t, fa_t_events(t, id, 100), FAINA_OK);
    for (size_t i = 0; i < t->op.events->count; i++)
        if (strcmp(t->op.events->items[i].what, "replaced") == 0)
            return fa_arena_strdup(&t->arena, t->op.events->items[i].detail);
    return "";
}

static void test_keys__replace_a_pending_task(struct fa_t *t)
{
    char id[FAINA_ID_SIZE];
    const struct faina_task *task;

    snprintf(id, sizeof(id), "%s",
             fa_t_submit(t, .type = "x", .idempotency_key = "k", .key_scope = "active",
                         .input = "{\"n\":1}", .metadata = "{\"m\":1}", .name = "first",
                         .delay_ms = 3600000));
    CHECK_STR(fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "{\"n\":2}",
                          .priority = 7, .delay_ms = 7200000, .on_duplicate = REPLACE,
                          .name = "second"),
              id);
    CHECK(t->op.existing, "it exists");
    CHECK(!t->op.input_mismatch, "its input is the new one");
    task = fa_t_task(t, id);
    CHECK_STR(task->input, "{\"n\":2}");
    CHECK_STR(task->metadata, "{}");
    CHECK_STR(task->name, "first");
    CHECK_INT(task->priority, 7);
    CHECK_INT(task->version, 2);
    CHECK(task->run_at_us > task->created_us + 7100000000, "it is delayed anew");
    CHECK_STORY(t, id, "created replaced");
    CHECK(strstr(replaced_detail(t, id), "\"before\":{\"input\":{\"n\":1},\"runAt\":"),
          "the event has the old values: %s", replaced_detail(t, id));
    CHECK(strstr(replaced_detail(t, id), "\"priority\":7,\"metadata\":{}}"),
          "the event has the new values: %s", replaced_detail(t, id));

    /* Without a delay it is ready at once, with what the claim has to see. */
    fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "3", .on_duplicate = REPLACE);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w"), FAINA_OK);
    CHECK_INT(t->op.tasks->count, 1);
    CHECK_STR(t->op.tasks->items[0].id, id);
    CHECK_STR(t->op.tasks->items[0].input, "3");

    /* A task that a worker holds stays as it is. */
    CHECK_STR(
        fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "4", .on_duplicate = REPLACE),
        id);
    CHECK(t->op.existing && t->op.input_mismatch, "it was not replaced");
    CHECK_STR(fa_t_task(t, id)->input, "3");
}

/* Tasks that were submitted together, of which some get another priority or a time, are claimed in
 * the order of their new values. */
static void test_keys__replace_among_many(struct fa_t *t)
{
    struct faina_submit submits[40];
    struct fa_op ops[FA_COUNT(submits)];
    char keys[FA_COUNT(submits)][8];
    int claimed = 0, last = 100;

    for (size_t i = 0; i < FA_COUNT(submits); i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
        submits[i] = (struct faina_submit){
            .type = "x", .idempotency_key = keys[i], .input = "0", .name = "all"};
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    }
    fa_t_run_all(t, ops, FA_COUNT(ops));
    for (size_t i = 3; i < FA_COUNT(submits); i += 5) {
        submits[i].priority = (int)i % 3;
        submits[i].delay_ms = i == 8 ? 3600000 : 0;
        submits[i].on_duplicate = REPLACE;
        submits[i].input = "1";
        fa_t_run_all(t, (struct fa_op[]){{.kind = FA_OP_SUBMIT, .submit = &submits[i]}}, 1);
        CHECK(t->op.code == FAINA_OK, "replaced");
    }
    /* Into the middle of the others, and back. */
    fa_t_submit(t, .type = "x", .idempotency_key = "k4", .priority = 2, .on_duplicate = REPLACE);
    fa_t_submit(t, .type = "x", .idempotency_key = "k4", .on_duplicate = REPLACE);
    while (fa_t_claim_next(t, .worker_id = "w", .limit = 7) == FAINA_OK && t->op.tasks->count > 0) {
        for (size_t i = 0; i < t->op.tasks->count; i++) {
            CHECK(t->op.tasks->items[i].priority <= last, "by priority");
            last = t->op.tasks->items[i].priority;
        }
        claimed += (int)t->op.tasks->count;
    }
    CHECK_INT(claimed, (int)FA_COUNT(submits) - 1);
}

static void test_keys__replace_twice_in_one_batch(struct fa_t *t)
{
    struct faina_submit submits[] = {
        {.type = "x", .idempotency_key = "k", .input = "1", .on_duplicate = REPLACE},
        {.type = "x", .idempotency_key = "k", .input = "2", .on_duplicate = REPLACE},
        {.type = "x", .idempotency_key = "k", .input = "3", .priority = 4, .on_duplicate = REPLACE},
    };
    struct fa_op ops[FA_COUNT(submits)];

    for (size_t i = 0; i < FA_COUNT(ops); i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    fa_t_run_all(t, ops, FA_COUNT(ops));
    CHECK_STR(ops[2].task_id, ops[0].task_id);
    CHECK_STORY(t, ops[0].task_id, "created replaced replaced");
    CHECK_STR(fa_t_task(t, ops[0].task_id)->input, "3");
    CHECK_INT(fa_t_task(t, ops[0].task_id)->priority, 4);
}

static void test_keys__a_large_value_is_a_hash_in_the_event(struct fa_t *t)
{
    char *input = fa_arena_take(&t->arena, 6003);
    const char *id;

    memset(input, 'x', 6002);
    input[0] = input[6001] = '"';
    input[6002] = '\0';
    id = fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = input);
    fa_t_submit(t, .type = "x", .idempotency_key = "k", .input = "1", .on_duplicate = REPLACE);
    CHECK(strstr(replaced_detail(t, id), "\"inputSize\":6002"), "%s", replaced_detail(t, id));
    CHECK(strstr(replaced_detail(t, id), "\"after\":{\"input\":1}"), "%s", replaced_detail(t, id));
}

/* ------------------------------------------------------------------------------------------
 * Steps in every order
 */

enum step { SUBMIT_ACTIVE, SUBMIT_REJECT, SUBMIT_REPLACE, CLAIM, END, STEP_COUNT };

/* What must be the case, by the rules of the contract. */
struct model {
    char holder[FAINA_ID_SIZE]; /* "": nobody */
    bool is_held, has_ended;
    int input;
};

static void submit_step(struct fa_t *t, struct model *m, enum step step, int n)
{
    char input[8];
    struct faina_submit submit = {
        .type = "x", .idempotency_key = "k", .key_scope = "active", .input = input};
    bool is_free = m->holder[0] == '\0' || m->has_ended;
    enum faina_code code;

    snprintf(input, sizeof(input), "%d", n);
    submit.on_duplicate = step == SUBMIT_REJECT    ? REJECT
                          : step == SUBMIT_REPLACE ? REPLACE
                                                   : RETURN;
    code = fa_t_submit_code(t, &submit);
    if (!is_free && step == SUBMIT_REJECT) {
        CHECK_CODE(t, code, FAINA_DUPLICATE_KEY);
        return;
    }
    CHECK_CODE(t, code, FAINA_OK);
    CHECK(t->op.existing == !is_free, "existing");
    if (!is_free) {
        CHECK_STR(t->op.task_id, m->holder);
        if (step == SUBMIT_REPLACE && !m->is_held)
            m->input = n;
        CHECK(t->op.input_mismatch == (m->input != n), "inputMismatch");
        return;
    }
    CHECK(strcmp(t->op.task_id, m->holder) != 0, "a new task");
    memcpy(m->holder, t->op.task_id, FAINA_ID_SIZE);
    m->is_held = m->has_ended = false;
    m->input = n;
}

static void do_step(struct fa_t *t, struct model *m, enum step step, int n)
{
    bool is_there = m->holder[0] != '\0' && !m->has_ended;

    switch (step) {
    case CLAIM:
        if (is_there && !m->is_held)
            fa_t_take(t, m->holder, "w");
        m->is_held |= is_there;
        return;
    case END:
        if (is_there && m->is_held)
            CHECK_CODE(t, fa_t_complete(t, m->holder, BY("w"), NULL), FAINA_OK);
        else if (is_there)
            CHECK_CODE(t, fa_t_cancel(t, m->holder, NOBODY), FAINA_OK);
        m->has_ended |= is_there;
        return;
    case SUBMIT_ACTIVE:
    case SUBMIT_REJECT:
    case SUBMIT_REPLACE:
    case STEP_COUNT:
        submit_step(t, m, step, n);
        return;
    }
}

/* Steps `begin` to the last are still to be ordered. */
static void run_orders(struct fa_t *t, enum step *steps, size_t begin)
{
    struct model m = {0};

    for (size_t i = begin; i < STEP_COUNT; i++) {
        enum step first = steps[begin];

        steps[begin] = steps[i];
        steps[i] = first;
        run_orders(t, steps, begin + 1);
        steps[i] = steps[begin];
        steps[begin] = first;
    }
    if (begin < STEP_COUNT)
        return;
    for (int n = 0; n < STEP_COUNT; n++)
        do_step(t, &m, steps[n], n);
    submit_step(t, &m, SUBMIT_ACTIVE, 9); /* so that there is a task to check and delete */
    CHECK_INT(strtol(fa_t_task(t, m.holder)->input, NULL, 10), m.input);
    if (!m.has_ended && m.is_held)
        CHECK_CODE(t, fa_t_complete(t, m.holder, BY("w"), NULL), FAINA_OK);
    else if (!m.has_ended)
        CHECK_CODE(t, fa_t_cancel(t, m.holder, NOBODY), FAINA_OK);
}

static void test_keys__steps_in_every_order(struct fa_t *t)
{
    enum step steps[STEP_COUNT];

    for (int i = 0; i < STEP_COUNT; i++)
        steps[i] = (enum step)i;
    run_orders(t, steps, 0);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_keys__active_until_the_task_has_ended),
        FA_T_CASE(test_keys__active_through_retries),
        FA_T_CASE(test_keys__for_a_duration),
        FA_T_CASE(test_keys__dedupe_has_a_scope),
        FA_T_CASE(test_keys__reject),
        FA_T_CASE(test_keys__bad_values),
        FA_T_CASE_SQL(test_keys__replace_a_pending_task),
        FA_T_CASE_SQL(test_keys__replace_among_many),
        FA_T_CASE_SQL(test_keys__replace_twice_in_one_batch),
        FA_T_CASE_SQL(test_keys__a_large_value_is_a_hash_in_the_event),
        FA_T_CASE_SQL(test_keys__steps_in_every_order),
    };

    return fa_t_main(argc, argv, "keys", cases, FA_COUNT(cases));
}
