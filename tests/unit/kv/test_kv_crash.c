/*
 * test_kv_crash.c - the sequences of src/kv/README.md, cut after each step; and races by named
 * steps. The store in memory fails or loses the answer of a chosen write.
 */
#include "support/ops.h"

#include "kv/kv_engine.h"
#include "kv/kv_keys.h"
#include "kv/memory/kv_memory.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* Fails writes from the n-th on, before or after they take effect, as if the node had crashed. */
struct crash {
    atomic_int left;
    bool is_after;
};

static void cut(void *ctx, enum fa_kv_moment moment, struct fa_kv_write *write)
{
    struct crash *crash = ctx;

    if (moment == FA_KV_BEFORE && atomic_load(&crash->left) <= 0)
        write->code = FAINA_UNAVAILABLE;
    if (moment == FA_KV_AFTER && atomic_fetch_sub(&crash->left, 1) == 1 && crash->is_after)
        write->code = FAINA_UNAVAILABLE;
}

/* Two nodes on one store. */
struct world {
    struct fa_kv_memory *memory;
    struct fa_t a, b;
};

static void open_node(struct fa_t *t, struct fa_kv_memory *memory)
{
    memset(t, 0, sizeof *t);
    CHECK_INT(fa_kv_engine_open(&t->svc, fa_kv_memory_open(memory), NULL, NULL), FAINA_OK);
}

static void close_node(struct fa_t *t)
{
    fa_service_close(t->svc);
    fa_arena_finish(&t->arena);
}

static void begin(struct world *w)
{
    w->memory = fa_kv_memory_create();
    open_node(&w->a, w->memory);
    open_node(&w->b, w->memory);
}

static void end(struct world *w)
{
    fa_kv_memory_set_hook(w->memory, NULL, NULL);
    close_node(&w->a);
    close_node(&w->b);
    fa_kv_memory_destroy(w->memory);
}

static size_t count_tasks(struct fa_t *t)
{
    CHECK_OK(t, fa_t_list(t, .ns = "*"));
    return t->op.tasks->count;
}

static bool has_one(struct fa_t *t, void *arg)
{
    (void)arg;
    return count_tasks(t) == 1;
}

/* S1, S2: whatever was cut, the next submit with the key makes the one task or finds it. */
static void test_crash__submit_with_a_key(void **state)
{
    for (int after = 0; after < 2; after++)
        for (int step = 0; step < 3; step++) {
            struct crash crash = {.is_after = after};
            struct world w;
            char id[FAINA_ID_SIZE];

            begin(&w);
            atomic_store(&crash.left, step);
            fa_kv_memory_set_hook(w.memory, cut, &crash);
            fa_t_try_submit(&w.a, .type = "x", .idempotency_key = "k");
            fa_kv_memory_set_hook(w.memory, NULL, NULL);
            CHECK_OK(&w.b, fa_t_try_submit(&w.b, .type = "x", .idempotency_key = "k"));
            memcpy(id, w.b.op.task_id, sizeof id);
            CHECK_OK(&w.a, fa_t_try_submit(&w.a, .type = "x", .idempotency_key = "k"));
            CHECK_STR(w.a.op.task_id, id);
            CHECK_TRUE(w.a.op.existing);
            fa_t_wait_until(has_one, &w.b, NULL, "there is one task");
            end(&w);
        }
}

/* D1 to D3: the task is there, or it is gone and its key is free. */
static void test_crash__delete(void **state)
{
    for (int after = 0; after < 2; after++)
        for (int step = 0; step < 4; step++) {
            struct crash crash = {.is_after = after};
            struct world w;
            const char *id;
            enum faina_code found;

            begin(&w);
            id = fa_t_submit(&w.a, .type = "x", .idempotency_key = "k");
            CHECK_OK(&w.a, fa_t_cancel(&w.a, id, NOBODY));
            atomic_store(&crash.left, step);
            fa_kv_memory_set_hook(w.memory, cut, &crash);
            fa_t_delete(&w.a, id);
            fa_kv_memory_set_hook(w.memory, NULL, NULL);
            found = fa_t_get(&w.b, id);
            CHECK_INT(found, step == 0 ? FAINA_OK : FAINA_TASK_NOT_FOUND);
            CHECK_OK(&w.b, fa_t_try_submit(&w.b, .type = "x", .idempotency_key = "k"));
            CHECK_INT(w.b.op.existing, found == FAINA_OK);
            CHECK_OK(&w.b, fa_t_get_by_key(&w.b, NULL, "x", "k"));
            fa_t_wait_until(has_one, &w.b, NULL, "there is one task");
            end(&w);
        }
}

/* P1 to P4: the limit is never exceeded. */
static void test_crash__claim_with_a_resource(void **state)
{
    static const char *const gpu[] = {"gpu"};

    for (int after = 0; after < 2; after++)
        for (int step = 0; step < 3; step++) {
            struct crash crash = {.is_after = after};
            struct world w;
            const char *ids[2];
            int held = 0;

            begin(&w);
            CHECK_OK(&w.a, fa_t_resource_set(&w.a, "gpu", 1));
            for (int i = 0; i < 2; i++)
                ids[i] = fa_t_submit(&w.a, .type = "x", .resources = gpu, .resource_count = 1);
            atomic_store(&crash.left, step);
            fa_kv_memory_set_hook(w.memory, cut, &crash);
            fa_t_claim(&w.a, ids[0], "w");
            fa_kv_memory_set_hook(w.memory, NULL, NULL);
            fa_t_claim(&w.b, ids[1], "v");
            fa_t_claim(&w.b, ids[0], "v");
            for (int i = 0; i < 2; i++)
                held += fa_t_status(&w.b, ids[i]) == FAINA_CLAIMED;
            CHECK_TRUE(held <= 1);
            end(&w);
        }
}

/* A watch that begins again, or is held up, misses nothing. */
static void test_watch__is_rebuilt(void **state)
{
    struct world w;

    begin(&w);
    fa_kv_memory_set_held(w.memory, true);
    fa_t_submit(&w.a, .type = "x");
    fa_kv_memory_reset_watches(w.memory);
    fa_t_wait_until(has_one, &w.b, NULL, "the other node has it");
    fa_kv_memory_set_held(w.memory, false);
    CHECK_OK(&w.b, fa_t_claim_next(&w.b, .worker_id = "v"));
    CHECK_INT(w.b.op.tasks->count, 1);
    CHECK_OK(&w.a, fa_t_claim_next(&w.a, .worker_id = "w"));
    CHECK_INT(w.a.op.tasks->count, 0);
    end(&w);
}

/* ------------------------------------------------------------------------------------------
 * Races: while the first session is about to write, the other one does all of its act.
 */

struct race {
    struct fa_t *other;
    void (*act)(struct fa_t *t, const char *id);
    const char *id;
    bool has_run;
    int skip; /* writes of the first session before it */
};

static void interrupt(void *ctx, enum fa_kv_moment moment, struct fa_kv_write *write)
{
    struct race *race = ctx;

    (void)write;
    if (moment != FA_KV_BEFORE || race->has_run || race->skip-- > 0)
        return;
    race->has_run = true;
    race->act(race->other, race->id);
}

static void act_claim(struct fa_t *t, const char *id)
{
    fa_t_claim(t, id, "w2");
}

static void act_submit(struct fa_t *t, const char *id)
{
    (void)id;
    fa_t_try_submit(t, .type = "x", .idempotency_key = "k");
}

static void act_cancel(struct fa_t *t, const char *id)
{
    fa_t_cancel(t, id, NOBODY);
}

static void act_complete(struct fa_t *t, const char *id)
{
    fa_t_complete(t, id, BY("w1"), "{}");
}

static void act_delete(struct fa_t *t, const char *id)
{
    fa_t_delete(t, id);
}

static void act_claim_1(struct fa_t *t, const char *id)
{
    fa_t_claim(t, id, "w1");
}

/* Runs `first` on one node, and `second` on the other one just before a write of it. */
static void run_race(struct world *w, const char *id, int skip,
                     void (*first)(struct fa_t *t, const char *id),
                     void (*second)(struct fa_t *t, const char *id))
{
    struct race race = {.other = &w->b, .act = second, .id = id, .skip = skip};

    fa_kv_memory_set_hook(w->memory, interrupt, &race);
    first(&w->a, id);
    fa_kv_memory_set_hook(w->memory, NULL, NULL);
    if (!race.has_run)
        second(&w->b, id);
}

static void test_race__claim_claim(void **state)
{
    for (int skip = 0; skip < 2; skip++) {
        struct world w;
        const char *id;

        begin(&w);
        id = fa_t_submit(&w.a, .type = "x");
        run_race(&w, id, skip, act_claim_1, act_claim);
        CHECK_TRUE((w.a.op.code == FAINA_OK) != (w.b.op.code == FAINA_OK));
        CHECK_CODE(&w.a, skip == 0 ? w.a.op.code : w.b.op.code, FAINA_TASK_ALREADY_CLAIMED);
        CHECK_STR(fa_t_task(&w.b, id)->worker_id, skip == 0 ? "w2" : "w1");
        CHECK_INT(w.b.task->attempts, 1);
        end(&w);
    }
}

static void test_race__submit_submit_with_one_key(void **state)
{
    for (int skip = 0; skip < 3; skip++) {
        struct world w;

        begin(&w);
        run_race(&w, NULL, skip, act_submit, act_submit);
        CHECK_OK(&w.a, w.a.op.code);
        CHECK_OK(&w.b, w.b.op.code);
        CHECK_STR(w.a.op.task_id, w.b.op.task_id);
        CHECK_TRUE(w.a.op.existing != w.b.op.existing);
        fa_t_wait_until(has_one, &w.b, NULL, "there is one task");
        end(&w);
    }
}

static void test_race__complete_cancel(void **state)
{
    void (*const acts[])(struct fa_t * t, const char *id) = {act_complete, act_cancel};

    for (int order = 0; order < 2; order++)
        for (int skip = 0; skip < 2; skip++) {
            enum faina_status status;
            struct world w;
            const char *id;

            begin(&w);
            id = fa_t_submit(&w.a, .type = "x");
            fa_t_take(&w.a, id, "w1");
            run_race(&w, id, skip, acts[order], acts[!order]);
            CHECK_TRUE((w.a.op.code == FAINA_OK) != (w.b.op.code == FAINA_OK));
            status = (w.a.op.code == FAINA_OK) == (order == 0) ? FAINA_COMPLETED : FAINA_CANCELLED;
            CHECK_NOW(&w.b, id, status);
            end(&w);
        }
}

static void test_race__delete_submit(void **state)
{
    for (int skip = 0; skip < 4; skip++) {
        struct world w;
        const char *id;

        begin(&w);
        id = fa_t_submit(&w.a, .type = "x", .idempotency_key = "k");
        CHECK_OK(&w.a, fa_t_cancel(&w.a, id, NOBODY));
        run_race(&w, id, skip, act_delete, act_submit);
        CHECK_OK(&w.a, w.a.op.code);
        CHECK_OK(&w.b, w.b.op.code);
        CHECK_CODE(&w.b, fa_t_get(&w.b, id), FAINA_TASK_NOT_FOUND);
        CHECK_OK(&w.b, fa_t_try_submit(&w.b, .type = "x", .idempotency_key = "k"));
        CHECK_OK(&w.b, fa_t_get_by_key(&w.b, NULL, "x", "k"));
        fa_t_wait_until(has_one, &w.b, NULL, "there is one task");
        end(&w);
    }
}

static void test_keys__are_those_of_the_documents(void **state)
{
    struct fa_arena arena = {0};

    CHECK_STR(fa_kv_task_key("abc", &arena), "tasks.task.abc");
    CHECK_STR(fa_kv_idem_key("default", "default", "order-123-process", &arena),
              "tasks.idem.order-123-process");
    CHECK_STR(fa_kv_idem_key("default", "default", "a/b=c.d_e", &arena), "tasks.idem.a/b=c.d_e");
    CHECK_TRUE(strncmp(fa_kv_idem_key("default", "default", "x.y", &arena), "tasks.idem.x.", 13) ==
                   0 &&
               strlen(fa_kv_idem_key("default", "default", "x.y", &arena)) == 13 + 64);
    CHECK_STR(fa_kv_idem_key("default", "Mail", "a b", &arena),
              fa_kv_idem_key("default", "mail", "a b", &arena));
    CHECK_TRUE(strlen(fa_kv_idem_key("default", "default", "a..b", &arena)) == 13 + 64);
    fa_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crash__submit_with_a_key),
        cmocka_unit_test(test_crash__delete),
        cmocka_unit_test(test_crash__claim_with_a_resource),
        cmocka_unit_test(test_watch__is_rebuilt),
        cmocka_unit_test(test_race__claim_claim),
        cmocka_unit_test(test_race__submit_submit_with_one_key),
        cmocka_unit_test(test_race__complete_cancel),
        cmocka_unit_test(test_race__delete_submit),
        cmocka_unit_test(test_keys__are_those_of_the_documents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
