/*
 * test_access.c - what a caller may do and see, decided below every surface: operations that carry
 * a grant, run by the service itself. tests/server/test_access.py walks the routes.
 */
#include "service/access.h"
#include "support/ops.h"

#include <stdlib.h>

#define ID "0190c4a2-6f1e-7b3d-8a5c-1f2e3d4c5b6a"

static const char *const mine[] = {"mine", "ours"}, *const theirs[] = {"theirs"};
static const struct fa_grant all_of_mine = {.has_token = true,
                                            .token_id = ID,
                                            .scopes = FA_SCOPE_ALL,
                                            .namespaces = {mine, 2}},
                             all_of_theirs = {.has_token = true,
                                              .token_id = ID,
                                              .scopes = FA_SCOPE_ALL,
                                              .namespaces = {theirs, 1}};

/* Without a scope nothing is allowed; with admin for all namespaces, everything is. */
static void test_access__every_kind_has_a_rule(struct fa_t *t)
{
    const struct fa_grant none = {.has_token = true}, admin = {.scopes = FA_SCOPE_ADMIN};
    struct faina_error err;

    (void)t;
    for (unsigned what = 0; what < FA_ACCESS_COUNT; what++) {
        enum faina_code expected = what == FA_ACCESS_PUBLIC ? FAINA_OK : FAINA_FORBIDDEN;

        CHECK_INT(fa_access_enter(what, &none, &err), expected);
        CHECK_INT(fa_access_enter(what, &admin, &err), FAINA_OK);
        CHECK_INT(fa_access_enter(what, NULL, &err), FAINA_OK);
        CHECK_TRUE((fa_access_scopes(what) == 0) == (what == FA_ACCESS_PUBLIC));
    }
}

/* A row of scopes is the one that decides: each scope alone. */
static void test_access__each_scope_alone(struct fa_t *t)
{
    struct faina_error err;

    (void)t;
    for (unsigned what = 0; what < FA_ACCESS_PUBLIC; what++) {
        unsigned scopes =
            fa_access_scopes(what) | fa_access_own_scopes(what) | (unsigned)FA_SCOPE_ADMIN;

        for (unsigned scope = 1; scope < FA_SCOPE_ALL; scope <<= 1) {
            const struct fa_grant grant = {.scopes = scope};

            CHECK_INT(fa_access_enter(what, &grant, &err),
                      scopes & scope ? FAINA_OK : FAINA_FORBIDDEN);
        }
    }
}

static enum faina_code run_as(struct fa_t *t, const struct fa_grant *grant, struct fa_op op)
{
    op.grant = grant;
    return fa_t_run(t, &op);
}

static void test_access__tasks_of_others_are_not_there(struct fa_t *t)
{
    static const enum fa_op_kind kinds[] = {FA_OP_GET,     FA_OP_EVENTS, FA_OP_CHILDREN,
                                            FA_OP_EXPLAIN, FA_OP_CANCEL, FA_OP_RETRY,
                                            FA_OP_DELETE,  FA_OP_START,  FA_OP_COMPLETE};
    const char *id = fa_t_submit(t, .ns = "mine", .type = "t");

    for (size_t i = 0; i < FA_COUNT(kinds); i++) {
        CHECK_INT(run_as(t, &all_of_theirs, (struct fa_op){.kind = kinds[i], .id = id}),
                  FAINA_TASK_NOT_FOUND);
        CHECK_STR(t->op.error.message, fa_arena_printf(&t->arena, "there is no task %s", id));
    }
    CHECK_INT(run_as(t, NULL, (struct fa_op){.kind = FA_OP_GET, .id = id}), FAINA_OK);
    CHECK_INT(t->op.task->version, 1);
    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_CANCEL, .id = id}), FAINA_OK);
}

static void test_access__namespaces_of_questions(struct fa_t *t)
{
    const struct faina_submit submit = {.ns = "theirs", .type = "t"}, nowhere = {.type = "t"};
    const struct faina_purge purge = {0};
    const struct faina_claim claim = {.worker_id = "w"},
                             two = {.worker_id = "w",
                                    .namespaces = (const char *const[]){"mine", "theirs"},
                                    .namespace_count = 2};

    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submit}),
              FAINA_FORBIDDEN);
    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &nowhere}),
              FAINA_FORBIDDEN);
    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_PURGE, .purge = &purge}),
              FAINA_FORBIDDEN);
    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &claim}),
              FAINA_FORBIDDEN);
    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_CLAIM_NEXT, .claim = &two}),
              FAINA_FORBIDDEN);
    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_STATS, .name = {.ns = "*"}}),
              FAINA_FORBIDDEN);
    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_STATS, .name = {.ns = "ours"}}),
              FAINA_OK);
}

static void test_access__who_owns_a_worker(struct fa_t *t)
{
    const struct fa_grant all = {.scopes = FA_SCOPE_WORK};

    (void)t;
    CHECK_TRUE(fa_access_owns(NULL, NULL) && fa_access_owns(&all, NULL));
    CHECK_TRUE(fa_access_owns(&all, "[\"x\"]"));
    CHECK_TRUE(!fa_access_owns(&all_of_mine, NULL));
    CHECK_TRUE(fa_access_owns(&all_of_mine, "[\"ours\"]"));
    CHECK_TRUE(fa_access_owns(&all_of_mine, "[\"ours\",\"mine\"]"));
    CHECK_TRUE(!fa_access_owns(&all_of_mine, "[\"ours\",\"theirs\"]"));
    /* What is damaged is nobody's but those who may do everything. */
    CHECK_TRUE(!fa_access_owns(&all_of_mine, "") && !fa_access_owns(&all_of_mine, "{}"));
    CHECK_TRUE(!fa_access_owns(&all_of_mine, "[1]") && !fa_access_owns(&all_of_mine, "[\"ours\""));
    CHECK_TRUE(fa_access_owns(NULL, "nonsense"));
    CHECK_STR(fa_access_namespaces(&all_of_mine, &t->arena), "[\"mine\",\"ours\"]");
    CHECK_TRUE(fa_access_namespaces(&all, &t->arena) == NULL);
}

static void test_access__workers_of_others(struct fa_t *t)
{
    const struct faina_worker self = {.id = "w"};
    const char *id = fa_t_submit(t, .ns = "theirs", .type = "t");
    struct fa_op put = {.kind = FA_OP_WORKER_PUT, .worker = {.self = &self}};
    struct fa_op list = {.kind = FA_OP_WORKER_LIST};
    struct fa_op claim = {.kind = FA_OP_CLAIM, .id = id, .by = {.worker_id = "w"}};

    CHECK_INT(run_as(t, &all_of_mine, put), FAINA_OK);
    CHECK_INT(run_as(t, &all_of_theirs, put), FAINA_NOT_FOUND);
    CHECK_INT(run_as(t, &all_of_theirs, claim), FAINA_NOT_FOUND);
    CHECK_INT(run_as(t, &all_of_theirs, (struct fa_op){.kind = FA_OP_WORKER_REMOVE, .id = "w"}),
              FAINA_NOT_FOUND);
    CHECK_INT(run_as(t, &all_of_theirs, list), FAINA_OK);
    CHECK_INT(t->op.workers->count, 0);
    CHECK_INT(run_as(t, &all_of_mine, list), FAINA_OK);
    CHECK_INT(t->op.workers->count, 1);
    /* The process itself is an administrator of all. */
    CHECK_INT(run_as(t, NULL, put), FAINA_OK);
    CHECK_INT(run_as(t, NULL, claim), FAINA_OK);
    CHECK_INT(run_as(t, &all_of_mine, (struct fa_op){.kind = FA_OP_WORKER_REMOVE, .id = "w"}),
              FAINA_OK);
    CHECK_INT(run_as(t, NULL, (struct fa_op){.kind = FA_OP_GET, .id = id}), FAINA_OK);
    CHECK_STATUS(t->op.task->status, FAINA_CLAIMED);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_LOCAL(test_access__every_kind_has_a_rule),
        FA_T_CASE_LOCAL(test_access__each_scope_alone),
        FA_T_CASE_LOCAL(test_access__tasks_of_others_are_not_there),
        FA_T_CASE_LOCAL(test_access__namespaces_of_questions),
        FA_T_CASE_LOCAL(test_access__who_owns_a_worker),
        FA_T_CASE_LOCAL(test_access__workers_of_others),
    };

    setenv("FA_CONFORMANCE_URLS", FA_T_SQLITE " " FA_T_MEMORY, 0);
    return fa_t_main(argc, argv, "access", cases, FA_COUNT(cases));
}
