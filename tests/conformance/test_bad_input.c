/*
 * test_bad_input.c - whatever is wrong with a request, it is refused by name and changes nothing.
 */
#include "support/ops.h"

/* Nothing was stored, and the engine still works. */
static void check_untouched(struct fa_t *t)
{
    CHECK_OK(t, fa_t_list(t, .ns = "*"));
    CHECK_INT(t->op.tasks->count, 0);
    fa_t_finish_task(t, fa_t_submit(t, .type = "still.works"));
}

static void test_bad__submit_fields(struct fa_t *t)
{
    static const char *const empty[] = {""};
    static const char *const control[] = {"a\nb"};
    static const struct {
        struct faina_submit submit;
        const char *field;
    } cases[] = {
        {{.type = NULL}, "type"},
        {{.type = ""}, "type"},
        {{.type = "", .name = "n"}, "type"},
        {{.type = "a\tb"}, "type"},
        {{.type = "a\x7f"}, "type"},
        {{.type = "\xff"}, "type"},
        {{.type = "\xc0\xaf"}, "type"},         /* overlong */
        {{.type = "\xed\xa0\x80"}, "type"},     /* a surrogate */
        {{.type = "\xf4\x90\x80\x80"}, "type"}, /* beyond U+10FFFF */
        {{.type = "x\xe2\x82"}, "type"},        /* cut short */
        {{.type = "x", .name = ""}, "name"},
        {{.type = "x", .name = "a\rb"}, "name"},
        {{.type = "x", .ns = ""}, "namespace"},
        {{.type = "x", .ns = "*"}, "namespace"},
        {{.type = "x", .ns = "a\x01"}, "namespace"},
        {{.type = "x", .idempotency_key = ""}, "idempotencyKey"},
        {{.type = "x", .idempotency_key = "\x80"}, "idempotencyKey"},
        {{.type = "x", .idempotency_key = "k", .dedupe_input = true, .input = "1"}, "dedupe"},
        {{.type = "x", .created_by = ""}, "createdBy"},
        {{.type = "x", .resources = empty, .resource_count = 1}, "resources"},
        {{.type = "x", .resources = control, .resource_count = 1}, "resources"},
        {{.type = "x", .resources = NULL, .resource_count = 1}, "resources"},
        {{.type = "x", .depends_on = empty, .depends_on_count = 1}, "dependsOn"},
        {{.type = "x", .depends_on = NULL, .depends_on_count = 1}, "dependsOn"},
        {{.type = "x", .metadata = "[]"}, "metadata"},
        {{.type = "x", .metadata = "1"}, "metadata"},
        {{.type = "x", .metadata = "{"}, "metadata"},
        {{.type = "x", .spec = "{"}, "spec"},
        {{.type = "x", .traceparent = ""}, "traceparent"},
        {{.type = "x", .traceparent = "00-1-2-01"}, "traceparent"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        CHECK(fa_t_submit_code(t, &cases[i].submit) == FAINA_INVALID_TASK, "case %zu (%s): %s", i,
              cases[i].field, faina_code_name(t->op.code));
        CHECK_STR(t->op.error.field, cases[i].field);
    }
    check_untouched(t);
}

static void test_bad__json_has_a_place(struct fa_t *t)
{
    static const struct {
        const char *json;
        int line, column;
    } cases[] = {
        {"", 1, 1},
        {"{", 1, 2},
        {"{\"a\":1,}", 1, 8},
        {"[1,2", 1, 5},
        {"{\n  \"a\": tru\n}", 2, 0},
        {"{\n\"a\":1,\n\"a\":2}", 3, 1},
        {"\"\\u0000\"", 1, 0},
        {"\"\\ud800\"", 1, 0},
        {"\"a\nb\"", 1, 0},
        {"[1] [2]", 1, 5},
        {"nul", 1, 0},
        {"NaN", 1, 1},
        {"01", 1, 0},
        {"1.", 1, 0},
        {"'a'", 1, 1},
        {"{a:1}", 1, 2},
        {"// no\n1", 1, 1},
        {"\"\xff\"", 1, 2},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        const struct faina_error *error;

        CHECK(fa_t_try_submit(t, .type = "x", .input = cases[i].json) == FAINA_INVALID_TASK,
              "case %zu: %s", i, faina_code_name(t->op.code));
        error = &t->op.error;
        CHECK_STR(error->field, "input");
        CHECK(error->line == cases[i].line, "case %zu: line %d in \"%s\"", i, error->line,
              error->message);
        CHECK(cases[i].column == 0 ? error->column > 0 : error->column == cases[i].column,
              "case %zu: column %d in \"%s\", wanted %d", i, error->column, error->message,
              cases[i].column);
    }
    check_untouched(t);
}

static void test_bad__output_is_checked_too(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *before = fa_t_picture(t, id);

    CHECK_CODE(t, fa_t_complete(t, id, BY("w"), "{\"a\":1,\"a\":2}"), FAINA_INVALID_REQUEST);
    CHECK_STR(t->op.error.field, "output");
    CHECK_TRUE(t->op.error.line == 1 && t->op.error.column > 1);
    CHECK_STR(fa_t_picture(t, id), before);
}

static void test_bad__worker_ids(struct fa_t *t)
{
    static const char *const bad[] = {"", "a\nb", "\xff"};
    const char *id = fa_t_submit(t, .type = "x");

    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        CHECK_CODE(t, fa_t_claim(t, id, bad[i]), FAINA_INVALID_WORKER_ID);
        CHECK_CODE(t, fa_t_claim_next(t, .worker_id = bad[i]), FAINA_INVALID_WORKER_ID);
        CHECK_CODE(t, fa_t_start(t, id, BY(bad[i])), FAINA_INVALID_WORKER_ID);
        CHECK_CODE(t, fa_t_heartbeat(t, id, BY(bad[i]), 0), FAINA_INVALID_WORKER_ID);
        CHECK_CODE(t, fa_t_complete(t, id, BY(bad[i]), NULL), FAINA_INVALID_WORKER_ID);
        CHECK_CODE(t, fa_t_cancel(t, id, BY(bad[i])), FAINA_INVALID_WORKER_ID);
    }
    CHECK_CODE(t, fa_t_claim(t, id, NULL), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = NULL), FAINA_INVALID_WORKER_ID);
    CHECK_CODE(t, fa_t_heartbeat(t, id, NOBODY, 0), FAINA_INVALID_WORKER_ID);
    CHECK_STORY(t, id, "created");
}

static void test_bad__claim_lists(struct fa_t *t)
{
    const char *empty[] = {""}, *all[] = {"*"};

    fa_t_submit(t, .type = "x");
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .namespaces = all, .namespace_count = 1),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .types = empty, .type_count = 1),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .namespaces = empty, .namespace_count = 1),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .services = empty, .service_count = 1),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .types = NULL, .type_count = 1),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_claim_next(t, .worker_id = "w", .wait_ms = -1), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_claim_next(t, .worker_id = "w"));
    CHECK_INT(t->op.tasks->count, 1);
}

static void test_bad__actors(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *before = fa_t_picture(t, id);

    CHECK_CODE(t, fa_t_complete(t, id, BY("w", .fence = -1), NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_complete(t, id, BY("w", .version = -1), NULL), FAINA_INVALID_REQUEST);
    CHECK_STR(fa_t_picture(t, id), before);
}

static void test_bad__ids(struct fa_t *t)
{
    static const char *const bad[] = {"x",
                                      "01890a5d-ac96-774b-bcce-b302099a805",
                                      "01890a5d-ac96-774b-bcce-b302099a8057 ",
                                      "01890a5dac96774bbcceb302099a8057",
                                      "01890a5d-ac96-474b-bcce-b302099a8057",
                                      "01890a5d-ac96-774b-fcce-b302099a8057",
                                      "\xff\xff",
                                      "' OR 1=1 --"};

    for (size_t i = 0; i < FA_COUNT(bad); i++) {
        CHECK_CODE(t, fa_t_get(t, bad[i]), FAINA_TASK_NOT_FOUND);
        CHECK_CODE(t, fa_t_events(t, bad[i], 0), FAINA_TASK_NOT_FOUND);
        CHECK_CODE(t, fa_t_wait(t, bad[i], 0), FAINA_TASK_NOT_FOUND);
        CHECK_CODE(t, fa_t_children(t, bad[i], 0, NULL), FAINA_TASK_NOT_FOUND);
    }
    CHECK_CODE(t, fa_t_get(t, NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_get(t, ""), FAINA_INVALID_REQUEST);
    /* Upper case is the same id. */
    const char *id = fa_t_submit(t, .type = "x");
    char *upper = fa_arena_strdup(&t->arena, id);

    for (char *at = upper; *at; at++)
        if (*at >= 'a' && *at <= 'f')
            *at = (char)(*at - 'a' + 'A');
    CHECK_OK(t, fa_t_get(t, upper));
    CHECK_STR(t->task->id, id);
}

/* An id that differs in its random half only is another task, and not there. */
static void test_bad__id_of_the_same_moment(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x");
    char *other = fa_arena_strdup(&t->arena, id);

    other[35] = other[35] == '0' ? '1' : '0';
    CHECK_CODE(t, fa_t_get(t, other), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_claim(t, other, "w"), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_cancel(t, other, NOBODY), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_events(t, other, 0), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t, fa_t_delete(t, other), FAINA_TASK_NOT_FOUND);
    CHECK_CODE(t,
               fa_t_try_submit(t, .type = "y", .depends_on = (const char *const[]){other},
                               .depends_on_count = 1),
               FAINA_INVALID_TASK);
    CHECK_NOW(t, id, FAINA_PENDING);
}

static void test_bad__queries(struct fa_t *t)
{
    static const struct {
        struct faina_query query;
        const char *field;
    } cases[] = {
        {{.ns = ""}, "namespace"},
        {{.statuses = 1u << FAINA_STATUS_COUNT}, "status"},
        {{.type = ""}, "type"},
        {{.team_id = "x"}, "teamId"},
        {{.parent_id = "x"}, "parentId"},
        {{.created_by = ""}, "createdBy"},
        {{.idempotency_key = "a\nb"}, "idempotencyKey"},
        {{.created_after_us = -1}, "createdAfter"},
        {{.created_before_us = -1}, "createdBefore"},
        {{.cursor = ""}, "cursor"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        CHECK(fa_t_list_code(t, &cases[i].query) == FAINA_INVALID_REQUEST, "case %zu: %s", i,
              faina_code_name(t->op.code));
        CHECK_STR(t->op.error.field, cases[i].field);
    }
}

static void test_bad__names_of_things(struct fa_t *t)
{
    CHECK_CODE(t, fa_t_pause(t, NULL, NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_pause(t, NULL, ""), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_pause(t, "", "x"), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_pause(t, "*", "x"), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_resume(t, NULL, NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_resource_set(t, NULL, 1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_resource_set(t, "", 1), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_resource_remove(t, NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_team_put(t, &(struct faina_team){.name = NULL}), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_team_put(t, &(struct faina_team){.name = "n", .spec = "{"}),
               FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "", "k"), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_get_by_key(t, NULL, "x", NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_purge(t, .statuses = 1u << FAINA_RUNNING), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_purge(t, .limit = -1), FAINA_INVALID_REQUEST);
}

/* Text that would hurt a careless SQL or JSON writer is kept as it is. */
static void test_bad__odd_text_is_kept(struct fa_t *t)
{
    static const char *const odd[] = {
        "' OR '1'='1", "a\"b\\c", "%s%n", "\xf0\x9f\x9a\xa2 navio", "x; DROP TABLE task", "[\"a\"]",
        " leading",    "*?",      "{}"};

    for (size_t i = 0; i < FA_COUNT(odd); i++) {
        const char *const resources[] = {odd[i]};
        const char *id =
            fa_t_submit(t, .ns = odd[i], .type = odd[i], .name = odd[i], .idempotency_key = odd[i],
                        .created_by = odd[i], .resources = resources, .resource_count = 1);
        const struct faina_task *task;

        fa_t_take(t, id, odd[i]);
        CHECK_OK(t, fa_t_report(t, id, BY(odd[i]), &(struct faina_report){.state = odd[i]}));
        task = fa_t_task(t, id);
        CHECK_STR(task->ns, odd[i]);
        CHECK_STR(task->type, odd[i]);
        CHECK_STR(task->name, odd[i]);
        CHECK_STR(task->idempotency_key, odd[i]);
        CHECK_STR(task->created_by, odd[i]);
        CHECK_STR(task->worker_id, odd[i]);
        CHECK_STR(task->state, odd[i]);
        CHECK_INT(task->resource_count, 1);
        CHECK_STR(task->resources[0], odd[i]);
        CHECK_OK(t, fa_t_get_by_key(t, odd[i], odd[i], odd[i]));
        CHECK_STR(t->task->id, id);
        CHECK_OK(t, fa_t_list(t, .ns = odd[i], .type = odd[i], .created_by = odd[i]));
        CHECK_INT(t->op.tasks->count, 1);
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY(odd[i]), odd[i]));
        CHECK_OK(t, fa_t_pause(t, odd[i], odd[i]));
        CHECK_OK(t, fa_t_resource_set(t, odd[i], 1));
        CHECK_INT(fa_t_in_use(t, odd[i]), 0);
    }
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_bad__submit_fields),
        FA_T_CASE(test_bad__json_has_a_place),
        FA_T_CASE(test_bad__output_is_checked_too),
        FA_T_CASE(test_bad__worker_ids),
        FA_T_CASE(test_bad__claim_lists),
        FA_T_CASE(test_bad__actors),
        FA_T_CASE(test_bad__ids),
        FA_T_CASE_SQL(test_bad__id_of_the_same_moment),
        FA_T_CASE(test_bad__queries),
        FA_T_CASE(test_bad__names_of_things),
        FA_T_CASE(test_bad__odd_text_is_kept),
    };

    return fa_t_main(argc, argv, "bad input", cases, FA_COUNT(cases));
}
