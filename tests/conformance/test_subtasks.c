/*
 * test_subtasks.c - a task waits for its children, and goes on exactly when it should.
 */
#include "support/ops.h"

/* A running task, held by "w", that then blocks on `count` children named a, b, c ... */
static const char *make_parent(struct fa_t *t, size_t count, bool fail_fast)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct faina_submit children[FA_COUNT(names)];
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});

    for (size_t i = 0; i < count; i++)
        children[i] = (struct faina_submit){.type = "child", .name = names[i], .max_attempts = 1};
    fa_t_take(t, id, "w");
    CHECK_OK(t, fail_fast ? fa_t_block_fast(t, id, BY("w"), children, count)
                          : fa_t_block(t, id, BY("w"), children, count));
    return id;
}

static void fail_task(struct fa_t *t, const char *id)
{
    CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "made to fail"));
}

/* ------------------------------------------------------------------------------------------
 * Blocking
 */

static void test_block__creates_children_and_frees_the_worker(struct fa_t *t)
{
    struct faina_submit children[] = {
        {.type = "x", .name = "first", .input = "{\"n\":1}"},
        {.type = "y", .priority = 9, .max_attempts = 2, .metadata = "{}"},
    };
    const char *id = fa_t_submit(t, .ns = "acme", .type = "parent", .priority = 77);
    const struct faina_task *items;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, 2));
    CHECK_STATUS(t->task->status, FAINA_BLOCKED);
    CHECK_STR(t->task->worker_id, NULL);
    CHECK_INT(t->task->attempts, 1);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 2);
    CHECK_STR(t->op.tasks->next_cursor, NULL);
    items = t->op.tasks->items;
    for (size_t i = 0; i < 2; i++) {
        CHECK_STR(items[i].parent_id, id);
        CHECK_STR(items[i].ns, "acme");
        CHECK_STATUS(items[i].status, FAINA_PENDING);
        CHECK_INT(items[i].attempts, 0);
    }
    CHECK_STR(items[0].type, "x");
    CHECK_STR(items[0].name, "first");
    CHECK_STR(items[0].input, "{\"n\":1}");
    CHECK_INT(items[0].priority, 0); /* not the parent's */
    CHECK_INT(items[0].max_attempts, 4);
    CHECK_STR(items[1].name, "y");
    CHECK_INT(items[1].priority, 9);
    CHECK_INT(items[1].max_attempts, 2);
    CHECK_STR(items[1].metadata, "{}");
    CHECK_STORY(t, id, "created claimed started blocked");
}

static void test_block__bad_child_changes_nothing(struct fa_t *t)
{
    struct faina_submit children[] = {{.type = "child"}, {.type = "child"}, {.type = "child"}};
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *before = fa_t_picture(t, id);
    const char *nowhere = "01890a5d-ac96-774b-bcce-b302099a8057";

    children[1].input = "{";
    CHECK_CODE(t, fa_t_block(t, id, BY("w"), children, 3), FAINA_INVALID_TASK);
    children[1].input = NULL;
    children[2].depends_on = &nowhere;
    children[2].depends_on_count = 1;
    CHECK_CODE(t, fa_t_block(t, id, BY("w"), children, 3), FAINA_INVALID_TASK);
    children[2].depends_on_count = 0;
    children[2].team_id = nowhere;
    CHECK_CODE(t, fa_t_block(t, id, BY("w"), children, 3), FAINA_INVALID_TASK);
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_list(t, .type = "child"));
    CHECK_INT(t->op.tasks->count, 0);
}

static void test_block__child_has_its_parents_namespace_and_no_key(struct fa_t *t)
{
    const struct {
        struct faina_submit child;
        const char *field; /* NULL: accepted */
    } cases[] = {
        {{.type = "child", .ns = "other"}, "namespace"},
        {{.type = "child", .idempotency_key = "k"}, "idempotencyKey"},
        {{.type = "child", .dedupe_input = true, .input = "1"}, "idempotencyKey"},
        {{.type = "child", .ns = "default"}, NULL},
    };
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        CHECK_CODE(t, fa_t_block(t, id, BY("w"), &cases[i].child, 1),
                   cases[i].field ? FAINA_INVALID_TASK : FAINA_OK);
        if (cases[i].field)
            CHECK_STR(t->op.error.field, cases[i].field);
    }
}

static void test_block__without_children_is_refused(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_CODE(t, fa_t_block(t, id, BY("w"), NULL, 0), FAINA_INVALID_REQUEST);
    CHECK_NOW(t, id, FAINA_RUNNING);
}

/* ------------------------------------------------------------------------------------------
 * Going on
 */

static void test_block__resumes_when_all_completed(struct fa_t *t)
{
    const char *id = make_parent(t, 3, false);

    fa_t_finish_task(t, fa_t_child(t, id, 1));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 2));
    CHECK_STORY(t, id, "created claimed started blocked unblocked");
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), "1"));
    CHECK_STORY(t, id, "created claimed started blocked unblocked claimed started completed");
}

/* One child ends badly, in each way there is: the parent hears of it when all have ended. */
static void test_block__bad_end_gives_phase_error_after_all_ended(struct fa_t *t)
{
    for (int way = 0; way < 3; way++) {
        const char *id = make_parent(t, 3, false);
        const char *bad = fa_t_child(t, id, 0);

        if (way == 0)
            fail_task(t, bad);
        if (way == 1)
            CHECK_OK(t, fa_t_cancel(t, bad, NOBODY));
        if (way == 2) {
            fa_t_take(t, bad, "x");
            CHECK_OK(t, fa_t_fail_attempt(t, bad, BY("x"), "no"));
            CHECK_STATUS(t->task->status, FAINA_DEAD_LETTER);
        }
        CHECK_NOW(t, id, FAINA_BLOCKED);
        fa_t_finish_task(t, fa_t_child(t, id, 1));
        CHECK_NOW(t, id, FAINA_BLOCKED);
        fa_t_finish_task(t, fa_t_child(t, id, 2));
        fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    }
}

static void test_block__fail_fast_goes_on_at_once(struct fa_t *t)
{
    const char *id = make_parent(t, 3, true);

    fa_t_finish_task(t, fa_t_child(t, id, 0));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fail_task(t, fa_t_child(t, id, 1));
    CHECK_NOW(t, fa_t_child(t, id, 2), FAINA_PENDING); /* it lives on */
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    /* The last child's end finds a parent that waits no longer. */
    fa_t_finish_task(t, fa_t_child(t, id, 2));
    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_RUNNING);
    CHECK_STORY(t, id, "created claimed started blocked unblocked claimed started");
}

static void test_block__fail_fast_resumes_when_all_completed(struct fa_t *t)
{
    const char *id = make_parent(t, 2, true);

    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_block__failed_attempt_of_a_child_is_not_its_end(struct fa_t *t)
{
    struct faina_submit child = {.type = "child", .retry = {.base_ms = 1, .max_ms = 1}};
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *kid;

    CHECK_OK(t, fa_t_block_fast(t, id, BY("w"), &child, 1));
    kid = fa_t_child(t, id, 0);
    fa_t_take(t, kid, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, kid, BY("w"), "no"));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, kid);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_block__retried_child_counts_again(struct fa_t *t)
{
    const char *id = make_parent(t, 2, false);
    const char *first = fa_t_child(t, id, 0), *second = fa_t_child(t, id, 1);

    fail_task(t, first);
    CHECK_OK(t, fa_t_retry(t, first, NOBODY));
    fa_t_finish_task(t, second);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, first);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_block__retried_child_after_the_parent_went_on(struct fa_t *t)
{
    const char *id = make_parent(t, 1, false);
    const char *kid = fa_t_child(t, id, 0);

    fail_task(t, kid);
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_retry(t, kid, NOBODY));
    fa_t_finish_task(t, kid);
    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_RUNNING);
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), NULL));
}

static void test_block__deleted_child_still_counts_as_completed(struct fa_t *t)
{
    const char *id = make_parent(t, 2, false);
    const char *first = fa_t_child(t, id, 0), *second = fa_t_child(t, id, 1);

    fa_t_finish_task(t, first);
    CHECK_OK(t, fa_t_delete(t, first));
    fa_t_finish_task(t, second);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_block__living_child_removed_with_cancel_ends_badly(struct fa_t *t)
{
    const char *id = make_parent(t, 1, false);
    struct faina_removal removal = {.cancel = true, .purge = true};

    CHECK_OK(t, fa_t_delete_with(t, fa_t_child(t, id, 0), NOBODY, removal));
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
}

/* ------------------------------------------------------------------------------------------
 * Blocking again
 */

static void test_block__again_reuses_children_by_name(struct fa_t *t)
{
    struct faina_submit children[] = {{.type = "child", .name = "a"},
                                      {.type = "child", .name = "b"},
                                      {.type = "child", .name = "c"},
                                      {.type = "child", .name = "new"}};
    const char *id = make_parent(t, 3, true);
    const char *a = fa_t_child(t, id, 0), *b = fa_t_child(t, id, 1), *c = fa_t_child(t, id, 2);

    fa_t_finish_task(t, a);
    fail_task(t, b); /* fail_fast: the parent goes on while c lives */
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), children, 4));
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_STR(fa_t_names(t, t->op.tasks), "a b c new");
    CHECK_NOW(t, a, FAINA_COMPLETED); /* kept */
    CHECK_NOW(t, b, FAINA_PENDING);   /* queued again */
    CHECK_INT(t->task->attempts, 0);
    CHECK_NOW(t, c, FAINA_PENDING); /* kept */
    CHECK_INT(t->task->version, 1);
    fa_t_finish_task(t, b);
    fa_t_finish_task(t, c);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 3));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_block__again_reuses_children_by_place(struct fa_t *t)
{
    struct faina_submit children[] = {{.type = "child"}, {.type = "child"}, {.type = "child"}};
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});
    const char *first;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, 2));
    first = fa_t_child(t, id, 0);
    fa_t_finish_task(t, first);
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), children, 3));
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 3);
    CHECK_STR(t->op.tasks->items[0].id, first);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 2));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

/* The stages of a task: what it requests later is new, even without a name and at the same
 * position. A new attempt finds the subtasks of all its stages. */
static void test_block__a_later_list_asks_for_more(struct fa_t *t)
{
    struct faina_submit first[] = {{.type = "a", .input = "1"}, {.type = "a", .input = "2"}};
    struct faina_submit second[] = {{.type = "b"}, {.type = "a", .input = "2"}, {.type = "b"}};
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), first, 2));
    for (size_t i = 0; i < 2; i++)
        fa_t_finish_task(t, fa_t_child(t, id, i));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), second, 3));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 5);
    CHECK_STR(t->op.tasks->items[2].type, "b");
    CHECK_STR(t->op.tasks->items[3].input, "2");
    for (size_t i = 2; i < 5; i++)
        fa_t_finish_task(t, fa_t_child(t, id, i));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_CODE(t, fa_t_block(t, id, BY("v"), second, 3), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "again"));
    fa_t_take(t, id, "x");
    CHECK_OK(t, fa_t_block(t, id, BY("x"), first, 2));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), second, 3));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_CODE(t, fa_t_block(t, id, BY("v"), second, 3), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 5);
    CHECK_OK(t, fa_t_complete(t, id, BY("v"), NULL));
}

/* The same with names. */
static void test_block__a_new_attempt_finds_the_stages_by_name(struct fa_t *t)
{
    struct faina_submit first = {.type = "a", .name = "a"}, second = {.type = "b", .name = "b"};
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});

    for (int attempt = 0; attempt < 2; attempt++) {
        fa_t_take(t, id, "w");
        CHECK_OK(t, fa_t_block(t, id, BY("w"), &first, 1));
        if (attempt == 0)
            fa_t_finish_task(t, fa_t_child(t, id, 0));
        fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
        CHECK_OK(t, fa_t_block(t, id, BY("v"), &second, 1));
        if (attempt == 0)
            fa_t_finish_task(t, fa_t_child(t, id, 1));
        fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
        CHECK_CODE(t, fa_t_block(t, id, BY("v"), &first, 1), FAINA_INVALID_REQUEST);
        CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "again"));
    }
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 2);
}

/* One of the two would never be done. */
static void test_block__two_of_one_name_are_refused(struct fa_t *t)
{
    struct faina_submit subtasks[] = {{.type = "page", .name = "p", .input = "{\"n\":1}"},
                                      {.type = "page"},
                                      {.type = "page", .name = "p", .input = "{ \"n\": 1 }"},
                                      {.type = "page", .name = "p", .input = "{\"n\":2}"}};
    const char *id = fa_t_submit(t, .type = "parent");

    fa_t_take(t, id, "w");
    CHECK_CODE(t, fa_t_block(t, id, BY("w"), subtasks, 4), FAINA_INVALID_REQUEST);
    CHECK(strstr(t->op.error.message, "subtasks 3 and 4 are both called \"p\"") != NULL, "%s",
          t->op.error.message);
    CHECK_NOW(t, id, FAINA_RUNNING);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), subtasks, 3)); /* repeated: it is one */
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 2);
}

/* A task of which an attempt asked for these, and failed after they had completed; the next one is
 * running. */
static const char *make_second_attempt(struct fa_t *t, const struct faina_submit *list,
                                       size_t count)
{
    const char *id =
        fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1}, .max_attempts = 9);

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), list, count));
    for (size_t i = 0; i < count; i++)
        fa_t_finish_task(t, fa_t_child(t, id, i));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "again"));
    fa_t_take(t, id, "w");
    return id;
}

/* Ends the attempt, and begins the next one. */
static void next_attempt(struct fa_t *t, const char *id)
{
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "again"));
    fa_t_take(t, id, "w");
}

static void check_inputs(struct fa_t *t, const char *id, const char *inputs)
{
    const char *found = "";

    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    for (size_t i = 0; i < t->op.tasks->count; i++)
        found =
            fa_arena_printf(&t->arena, "%s%s%s", found, i ? " " : "", t->op.tasks->items[i].input);
    CHECK_STR(found, inputs);
}

/* Another type or input is another subtask: the old one is left as it is. */
static void test_block__a_new_attempt_asks_for_something_else(struct fa_t *t)
{
    struct faina_submit old = {.type = "c", .input = "{\"file\":\"old\"}"};
    struct faina_submit other[] = {{.type = "c", .input = "{\"file\":\"new\"}"},
                                   {.type = "d", .input = "{\"file\":\"old\"}"},
                                   {.type = "d"}};
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});
    const char *first;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &old, 1));
    first = fa_t_child(t, id, 0);
    fail_task(t, first);
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "again"));
    for (size_t i = 0; i < FA_COUNT(other); i++) {
        fa_t_take(t, id, "w");
        CHECK_OK(t, fa_t_block(t, id, BY("w"), &other[i], 1));
        CHECK_STATUS(t->task->status, FAINA_BLOCKED);
        CHECK_NOW(t, first, FAINA_FAILED);
        CHECK_STR(fa_t_task(t, fa_t_child(t, id, i + 1))->type, other[i].type);
        CHECK_STR(t->task->input, other[i].input);
        fa_t_finish_task(t, fa_t_child(t, id, i + 1));
        fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
        if (i + 1 < FA_COUNT(other))
            CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "again"));
    }
}

/* Subtasks without names are found at any position, and run once. */
static void test_block__a_new_attempt_finds_them_at_other_positions(struct fa_t *t)
{
    struct faina_submit one = {.type = "a", .input = "1"}, two = {.type = "a", .input = "2"};
    struct faina_submit zero = {.type = "a", .input = "0"};
    struct faina_submit both[] = {one, two}, turned[] = {two, one}, more[] = {zero, one, two, two};
    const char *id = make_second_attempt(t, both, 2);

    CHECK_OK(t, fa_t_block(t, id, BY("w"), &two, 1));
    next_attempt(t, id);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), turned, 2));
    next_attempt(t, id);
    check_inputs(t, id, "1 2");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), more, 4));
    CHECK_STATUS(t->task->status, FAINA_BLOCKED);
    check_inputs(t, id, "1 2 0 2");
    fa_t_finish_task(t, fa_t_child(t, id, 2));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 3));
    next_attempt(t, id);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), more, 4));
    next_attempt(t, id);
    check_inputs(t, id, "1 2 0 2");
}

/* Of the failed subtasks, the requested one is retried. */
static void test_block__a_shorter_list_means_the_right_one(struct fa_t *t)
{
    struct faina_submit list[] = {{.type = "a", .input = "1"}, {.type = "a", .input = "2"}};
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});
    const char *first, *second;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), list, 2));
    first = fa_t_child(t, id, 0);
    second = fa_t_child(t, id, 1);
    fail_task(t, first);
    fail_task(t, second);
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "again"));
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &list[1], 1));
    CHECK_NOW(t, first, FAINA_FAILED);
    CHECK_NOW(t, second, FAINA_PENDING);
    check_inputs(t, id, "1 2");
}

/* An attempt that begins with something else finds the subtasks of its later stages, too. */
static void test_block__a_new_attempt_with_other_stages(struct fa_t *t)
{
    struct faina_submit first[] = {{.type = "a", .input = "1"}, {.type = "a", .input = "2"}};
    struct faina_submit second[] = {{.type = "a", .input = "2"}, {.type = "a", .input = "3"}};
    const char *id = make_second_attempt(t, first, 2);

    for (int attempt = 2; attempt < 5; attempt++) {
        if (attempt > 2)
            next_attempt(t, id);
        CHECK_OK(t, fa_t_block(t, id, BY("w"), &first[1], 1));
        fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
        CHECK_OK(t, fa_t_block(t, id, BY("v"), second, 2));
        if (attempt == 2) {
            CHECK_STATUS(t->task->status, FAINA_BLOCKED);
            fa_t_finish_task(t, fa_t_child(t, id, 2));
        }
        check_inputs(t, id, "1 2 3");
    }
}

/* A name means one subtask, for all attempts. */
static void test_block__a_name_with_other_work_is_refused(struct fa_t *t)
{
    struct faina_submit first = {.type = "page", .name = "p", .input = "{\"n\":1}"};
    struct faina_submit again = {.type = "page", .name = "p", .input = "{ \"n\": 1 }"};
    struct faina_submit other[] = {{.type = "page", .name = "p", .input = "{\"n\":2}"},
                                   {.type = "image", .name = "p", .input = "{\"n\":1}"},
                                   {.type = "page", .name = "p"}};
    const char *id = make_second_attempt(t, &first, 1);
    const char *before = fa_t_picture(t, id);

    for (size_t i = 0; i < FA_COUNT(other); i++) {
        struct faina_submit list[] = {{.type = "page"}, other[i]};

        CHECK_CODE(t, fa_t_block(t, id, BY("w"), list, 2), FAINA_INVALID_REQUEST);
        CHECK_STR(t->op.error.field, "subtasks");
        CHECK(strstr(t->op.error.message, "subtask 2 is called \"p\"") != NULL, "%s",
              t->op.error.message);
    }
    CHECK_STR(fa_t_picture(t, id), before);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), &again, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_CODE(t, fa_t_block(t, id, BY("v"), other, 1), FAINA_INVALID_REQUEST);
    check_inputs(t, id, "{\"n\":1}");
}

/* Many, of which none is the same: each is looked for, and that takes no time to speak of. */
static void test_block__a_new_attempt_with_many_others(struct fa_t *t)
{
    enum { MANY = 1500 };
    struct faina_submit *list = fa_arena_zero(&t->arena, 2 * MANY, sizeof(*list));
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});
    const char *cursor = NULL;
    size_t count = 0;

    for (int i = 0; i < 2 * MANY; i++)
        list[i] = (struct faina_submit){.type = "a",
                                        .input = fa_arena_printf(&t->arena, "%d", i % (MANY + 9))};
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), list, MANY));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_INT(t->op.count, MANY + 1);
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), list + MANY, MANY)); /* 9 of them are new */
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_INT(t->op.count, MANY + 1);
    do {
        CHECK_OK(t, fa_t_children(t, id, 1000, cursor));
        count += t->op.tasks->count;
        cursor = t->op.tasks->next_cursor;
    } while (cursor);
    CHECK_INT(count, MANY + 9);
}

/* It would go on at once, for ever: the attempt that goes on is refused, and nothing changes. */
static void test_block__again_with_all_ended_is_refused(struct fa_t *t)
{
    struct faina_submit children[] = {{.type = "child", .name = "a"},
                                      {.type = "child", .name = "b"},
                                      {.type = "child", .name = "c"}};

    for (int bad = 0; bad < 2; bad++) {
        const char *id = make_parent(t, 2, false);
        const char *before;

        fa_t_finish_task(t, fa_t_child(t, id, 0));
        if (bad)
            fail_task(t, fa_t_child(t, id, 1));
        else
            fa_t_finish_task(t, fa_t_child(t, id, 1));
        fa_t_check_goes_on(t, id, bad ? FAINA_PHASE_ERROR : FAINA_PHASE_RESUME);
        before = fa_t_picture(t, id);
        for (size_t count = 1; count <= 2; count++) {
            CHECK_CODE(t, fa_t_block(t, id, BY("v"), children, count), FAINA_INVALID_REQUEST);
            CHECK_STR(t->op.error.field, "subtasks");
            CHECK(strstr(t->op.error.message, "have ended") != NULL, "%s", t->op.error.message);
        }
        CHECK_STR(fa_t_picture(t, id), before);
        CHECK_NOW(t, fa_t_child(t, id, 1), bad ? FAINA_FAILED : FAINA_COMPLETED);
        CHECK_OK(t, fa_t_block(t, id, BY("v"), children, 3)); /* c is new */
        CHECK_STATUS(t->task->status, FAINA_BLOCKED);
        if (bad)
            fa_t_finish_task(t, fa_t_child(t, id, 1));
        fa_t_finish_task(t, fa_t_child(t, id, 2));
        fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
        CHECK_OK(t, fa_t_complete(t, id, BY("v"), NULL));
    }
}

/* One that lives is enough to wait for. */
static void test_block__again_with_a_living_child_waits_for_it(struct fa_t *t)
{
    struct faina_submit children[] = {{.type = "child", .name = "a"},
                                      {.type = "child", .name = "b"},
                                      {.type = "child", .name = "c"}};
    const char *id = make_parent(t, 3, true);

    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fail_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), children, 1)); /* c is not named, but it lives */
    CHECK_STATUS(t->task->status, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 2));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_CODE(t, fa_t_block(t, id, BY("v"), children, 3), FAINA_INVALID_REQUEST);
}

/* A new attempt finds its children, and goes on at once when all have completed; a release in
 * between doesn't make it one. */
static void test_block__new_attempt_with_all_completed_goes_on_at_once(struct fa_t *t)
{
    struct faina_submit children[] = {{.type = "child", .name = "a"},
                                      {.type = "child", .name = "b"}};
    const char *id = make_parent(t, 2, false);

    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_OK(t, fa_t_release(t, id, BY("w")));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_CODE(t, fa_t_block(t, id, BY("v"), children, 2), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "no"));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_INT(t->task->phase, FAINA_PHASE_START);
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, 2));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_RESUME);
    CHECK_INT(t->task->attempts, 2);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 2);
}

/* The parent's attempt fails after its children completed: the next attempt finds them again. */
static void test_block__next_attempt_finds_its_children(struct fa_t *t)
{
    struct faina_submit children[] = {{.type = "child", .name = "a"},
                                      {.type = "child", .name = "b"}};
    const char *id = make_parent(t, 2, false);

    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fail_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("v"), "no"));
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    CHECK_INT(t->task->attempts, 2);
    CHECK_INT(t->task->phase, FAINA_PHASE_START);
    CHECK_OK(t, fa_t_start(t, id, BY("w")));
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, 2));
    CHECK_STATUS(t->task->status, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    CHECK_STATUS(fa_t_task(t, id)->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_RESUME);
    CHECK_INT(t->task->attempts, 2);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 2);
}

/* A child that is queued again by its parent's second block counts again for all that wait for it:
 * here for a task that depends on it and on another one. */
static void test_block__requeued_child_counts_again_for_dependents(struct fa_t *t)
{
    struct faina_submit again[] = {{.type = "child", .name = "a"}, {.type = "child"}};
    const char *id = make_parent(t, 1, false);
    const char *kid = fa_t_child(t, id, 0), *other = fa_t_submit(t, .type = "x");
    const char *needs[] = {kid, other};
    const char *after = fa_t_submit(t, .type = "y", .depends_on = needs, .depends_on_count = 2);

    fail_task(t, kid);
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), again, 2));
    CHECK_NOW(t, kid, FAINA_PENDING);
    fa_t_finish_task(t, kid);
    CHECK_NOW(t, after, FAINA_BLOCKED);
    fa_t_finish_task(t, other);
    CHECK_STATUS(fa_t_task(t, after)->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_START);
}

/* A child of the first block, not named in the second one, comes back to life meanwhile: the
 * parent waits for it too. */
static void test_block__child_of_an_earlier_block_is_retried(struct fa_t *t)
{
    struct faina_submit next = {.type = "child", .name = "next"};
    const char *id = make_parent(t, 1, false);
    const char *kid = fa_t_child(t, id, 0);

    fail_task(t, kid);
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), &next, 1));
    CHECK_OK(t, fa_t_retry(t, kid, NOBODY));
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, kid);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

/* ------------------------------------------------------------------------------------------
 * Trees
 */

static void test_block__tree_folds_up(struct fa_t *t)
{
    struct faina_submit two[] = {{.type = "child"}, {.type = "child"}};
    const char *root = fa_t_make(t, FAINA_RUNNING, "w");
    const char *left;

    CHECK_OK(t, fa_t_block(t, root, BY("w"), two, 2));
    left = fa_t_child(t, root, 0);
    fa_t_finish_task(t, fa_t_child(t, root, 1));
    fa_t_take(t, left, "w");
    CHECK_OK(t, fa_t_block(t, left, BY("w"), two, 2));
    fa_t_finish_task(t, fa_t_child(t, left, 0));
    fa_t_finish_task(t, fa_t_child(t, left, 1));
    CHECK_NOW(t, root, FAINA_BLOCKED);
    CHECK_NOW(t, left, FAINA_PENDING);
    fa_t_finish_task(t, left);
    fa_t_check_goes_on(t, root, FAINA_PHASE_RESUME);
}

static void test_block__cancel_takes_the_whole_tree(struct fa_t *t)
{
    struct faina_submit two[] = {{.type = "child"}, {.type = "child"}};
    const char *root = fa_t_make(t, FAINA_RUNNING, "w");
    const char *left, *right, *leaf, *done;

    CHECK_OK(t, fa_t_block(t, root, BY("w"), two, 2));
    left = fa_t_child(t, root, 0);
    right = fa_t_child(t, root, 1);
    fa_t_take(t, left, "w");
    CHECK_OK(t, fa_t_block(t, left, BY("w"), two, 2));
    done = fa_t_child(t, left, 0);
    leaf = fa_t_child(t, left, 1);
    fa_t_finish_task(t, done);
    fa_t_take(t, leaf, "w");
    CHECK_OK(t, fa_t_cancel(t, root, NOBODY));
    CHECK_INT(t->op.count, 4);
    CHECK_NOW(t, root, FAINA_CANCELLED);
    CHECK_NOW(t, left, FAINA_CANCELLED);
    CHECK_NOW(t, right, FAINA_CANCELLED);
    CHECK_NOW(t, leaf, FAINA_CANCELLED);
    CHECK_NOW(t, done, FAINA_COMPLETED);
    CHECK_STORY(t, leaf, "created claimed started cancelled");
    CHECK_STORY(t, root, "created claimed started blocked cancelled"); /* not unblocked */
    CHECK_CODE(t, fa_t_complete(t, leaf, BY("w"), NULL), FAINA_INVALID_TRANSITION);
}

/* Enough deleted children to fill any page that an engine may read them by. */
static void test_block__cancel_finds_children_behind_deleted_ones(struct fa_t *t)
{
    enum { DELETED = 2500, LEFT = 3 };
    struct faina_submit *children =
        fa_arena_zero(&t->arena, DELETED + LEFT, sizeof(struct faina_submit));
    struct fa_op *ops = fa_arena_zero(&t->arena, DELETED, sizeof(struct fa_op));
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *cursor = NULL;
    size_t count = 0;

    for (size_t i = 0; i < DELETED + LEFT; i++)
        children[i].type = "child";
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, DELETED + LEFT));
    do {
        CHECK_OK(t, fa_t_children(t, id, 1000, cursor));
        for (size_t i = 0; i < t->op.tasks->count && count < DELETED; i++)
            ops[count++] = (struct fa_op){
                .kind = FA_OP_DELETE, .id = t->op.tasks->items[i].id, .removal = {.cancel = true}};
        cursor = t->op.tasks->next_cursor;
    } while (cursor);
    fa_t_run_all(t, ops, DELETED);
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, LEFT);
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_INT(t->op.count, 1 + LEFT);
    CHECK_NOW(t, fa_t_child(t, id, LEFT - 1), FAINA_CANCELLED);
}

static void test_block__retry_of_a_cancelled_parent_starts_anew(struct fa_t *t)
{
    struct faina_submit children[] = {{.type = "child", .name = "a"},
                                      {.type = "child", .name = "b"}};
    const char *id = make_parent(t, 2, false);
    const char *a = fa_t_child(t, id, 0);

    fa_t_finish_task(t, a);
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_STATUS(t->task->status, FAINA_PENDING);
    CHECK_INT(t->task->phase, FAINA_PHASE_START);
    CHECK_INT(t->task->attempts, 0);
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, 2));
    CHECK_NOW(t, id, FAINA_BLOCKED);
    CHECK_NOW(t, a, FAINA_COMPLETED);
    fa_t_finish_task(t, fa_t_child(t, id, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_block__survives_reopening(struct fa_t *t)
{
    const char *id = make_parent(t, 3, false);

    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fa_t_reopen(t);
    fail_task(t, fa_t_child(t, id, 1));
    fa_t_reopen(t);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 2));
    fa_t_reopen(t);
    fa_t_check_goes_on(t, id, FAINA_PHASE_ERROR);
}

/* ------------------------------------------------------------------------------------------
 * Detached subtasks
 */

/* Blocks a new parent on the subtasks a, which it waits for, and b, which it doesn't. */
static const char *block_detached(struct fa_t *t, bool fail_fast)
{
    const struct faina_submit children[] = {
        {.type = "child", .name = "a", .max_attempts = 1},
        {.type = "child", .name = "b", .max_attempts = 1, .detached = true},
    };
    const char *id = fa_t_submit(t, .type = "parent", .retry = {.base_ms = 1, .max_ms = 1});

    fa_t_take(t, id, "w");
    CHECK_OK(t, fail_fast ? fa_t_block_fast(t, id, BY("w"), children, 2)
                          : fa_t_block(t, id, BY("w"), children, 2));
    return id;
}

static void test_block__waits_for_some_of_its_subtasks(struct fa_t *t)
{
    const char *id = block_detached(t, false), *awaited = fa_t_child(t, id, 0);
    const char *detached = fa_t_child(t, id, 1);

    CHECK_NOW(t, id, FAINA_BLOCKED);
    CHECK_OK(t, fa_t_get(t, detached));
    CHECK_STR(t->task->parent_id, id);
    fa_t_finish_task(t, awaited);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_NOW(t, detached, FAINA_PENDING);
    fa_t_finish_task(t, detached); /* changes nothing for the parent */
    CHECK_NOW(t, id, FAINA_RUNNING);
}

static void test_block__a_detached_subtask_that_fails_is_not_counted(struct fa_t *t)
{
    const char *id = block_detached(t, true), *detached = fa_t_child(t, id, 1);

    fail_task(t, detached);
    CHECK_NOW(t, id, FAINA_BLOCKED);
    CHECK_OK(t, fa_t_retry(t, detached, NOBODY)); /* it isn't counted then, either */
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_block__a_later_list_does_not_wait_for_detached_ones(struct fa_t *t)
{
    const char *id = block_detached(t, false), *detached = fa_t_child(t, id, 1);
    const struct faina_submit more = {.type = "child", .name = "c"};
    const struct faina_submit again = {.type = "child", .name = "b", .max_attempts = 1};

    fa_t_finish_task(t, fa_t_child(t, id, 0));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), &more, 1));
    fa_t_finish_task(t, fa_t_child(t, id, 2));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_OK(t, fa_t_block(t, id, BY("v"), &again, 1)); /* now it is waited for */
    CHECK_NOW(t, id, FAINA_BLOCKED);
    fa_t_finish_task(t, detached);
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
}

static void test_block__a_list_of_detached_ones_resumes_at_once(struct fa_t *t)
{
    const struct faina_submit child = {.type = "child", .detached = true};
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");

    CHECK_OK(t, fa_t_block(t, id, BY("w"), &child, 1));
    fa_t_check_goes_on(t, id, FAINA_PHASE_RESUME);
    CHECK_CODE(t, fa_t_block(t, id, BY("v"), &child, 1), FAINA_INVALID_REQUEST);
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY)); /* its subtasks too */
    CHECK_NOW(t, fa_t_child(t, id, 0), FAINA_CANCELLED);
}

static void test_block__a_task_without_a_parent_is_not_detached(struct fa_t *t)
{
    CHECK_CODE(t, fa_t_try_submit(t, .type = "x", .detached = true), FAINA_INVALID_TASK);
    CHECK_STR(t->op.error.field, "detached");
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_SQL(test_block__creates_children_and_frees_the_worker),
        FA_T_CASE_SQL(test_block__bad_child_changes_nothing),
        FA_T_CASE_SQL(test_block__child_has_its_parents_namespace_and_no_key),
        FA_T_CASE_SQL(test_block__without_children_is_refused),
        FA_T_CASE_SQL(test_block__resumes_when_all_completed),
        FA_T_CASE_SQL(test_block__bad_end_gives_phase_error_after_all_ended),
        FA_T_CASE_SQL(test_block__fail_fast_goes_on_at_once),
        FA_T_CASE_SQL(test_block__fail_fast_resumes_when_all_completed),
        FA_T_CASE_SQL(test_block__failed_attempt_of_a_child_is_not_its_end),
        FA_T_CASE_SQL(test_block__retried_child_counts_again),
        FA_T_CASE_SQL(test_block__retried_child_after_the_parent_went_on),
        FA_T_CASE_SQL(test_block__deleted_child_still_counts_as_completed),
        FA_T_CASE_SQL(test_block__living_child_removed_with_cancel_ends_badly),
        FA_T_CASE_SQL(test_block__again_reuses_children_by_name),
        FA_T_CASE_SQL(test_block__again_reuses_children_by_place),
        FA_T_CASE_SQL(test_block__a_later_list_asks_for_more),
        FA_T_CASE_SQL(test_block__a_new_attempt_finds_the_stages_by_name),
        FA_T_CASE_SQL(test_block__two_of_one_name_are_refused),
        FA_T_CASE_SQL(test_block__a_new_attempt_asks_for_something_else),
        FA_T_CASE_SQL(test_block__a_new_attempt_finds_them_at_other_positions),
        FA_T_CASE_SQL(test_block__a_shorter_list_means_the_right_one),
        FA_T_CASE_SQL(test_block__a_new_attempt_with_other_stages),
        FA_T_CASE_SQL(test_block__a_name_with_other_work_is_refused),
        FA_T_CASE_SQL(test_block__a_new_attempt_with_many_others),
        FA_T_CASE_SQL(test_block__again_with_all_ended_is_refused),
        FA_T_CASE_SQL(test_block__again_with_a_living_child_waits_for_it),
        FA_T_CASE_SQL(test_block__new_attempt_with_all_completed_goes_on_at_once),
        FA_T_CASE_SQL(test_block__next_attempt_finds_its_children),
        FA_T_CASE_SQL(test_block__requeued_child_counts_again_for_dependents),
        FA_T_CASE_SQL(test_block__child_of_an_earlier_block_is_retried),
        FA_T_CASE_SQL(test_block__tree_folds_up),
        FA_T_CASE_SQL(test_block__cancel_takes_the_whole_tree),
        FA_T_CASE_SQL(test_block__cancel_finds_children_behind_deleted_ones),
        FA_T_CASE_SQL(test_block__retry_of_a_cancelled_parent_starts_anew),
        FA_T_CASE_SQL(test_block__waits_for_some_of_its_subtasks),
        FA_T_CASE_SQL(test_block__a_detached_subtask_that_fails_is_not_counted),
        FA_T_CASE_SQL(test_block__a_later_list_does_not_wait_for_detached_ones),
        FA_T_CASE_SQL(test_block__a_list_of_detached_ones_resumes_at_once),
        FA_T_CASE_SQL(test_block__a_task_without_a_parent_is_not_detached),
        FA_T_CASE_NEEDS(test_block__survives_reopening, FA_T_DURABLE | FA_T_SQL),
    };

    return fa_t_main(argc, argv, "subtasks", cases, FA_COUNT(cases));
}
