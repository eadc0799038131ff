/*
 * test_list.c - looking at many: list with its filters and pages, children, stats.
 */
#include "support/ops.h"

#include "base/clock.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------
 * List
 */

static void test_list__newest_first_100_by_default(struct fa_t *t)
{
    char last[FAINA_ID_SIZE] = "g"; /* after every id */

    for (int i = 0; i < 105; i++)
        fa_t_submit(t, .type = "x", .name = fa_arena_printf(&t->arena, "n%d", i));
    CHECK_OK(t, fa_t_list(t, .ns = NULL));
    CHECK_INT(t->op.tasks->count, 100);
    CHECK_TRUE(t->op.tasks->next_cursor != NULL);
    CHECK_STR(t->op.tasks->items[0].name, "n104");
    CHECK_STR(t->op.tasks->items[99].name, "n5");
    for (size_t i = 0; i < 100; i++) {
        CHECK(strcmp(t->op.tasks->items[i].id, last) < 0, "item %zu is not older", i);
        memcpy(last, t->op.tasks->items[i].id, sizeof last);
    }
}

static void test_list__whole_tasks_or_brief_ones(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "x", .input = "{\"a\":1}", .metadata = "{}",
                                 .spec = "{\"s\":[]}", .idempotency_key = "k");
    const struct faina_task *task;

    fa_t_finish_task(t, id);
    CHECK_OK(t, fa_t_list(t, .limit = 1));
    task = &t->op.tasks->items[0];
    CHECK_STR(task->input, "{\"a\":1}");
    CHECK_STR(task->output, "{}");
    CHECK_STR(task->metadata, "{}");
    CHECK_STR(task->spec, "{\"s\":[]}");
    CHECK_STR(task->idempotency_key, "k");
    CHECK_STATUS(task->status, FAINA_COMPLETED);
    CHECK_OK(t, fa_t_list(t, .limit = 1, .brief = true));
    task = &t->op.tasks->items[0];
    CHECK_STR(task->input, NULL);
    CHECK_STR(task->output, NULL);
    CHECK_STR(task->metadata, NULL);
    CHECK_STR(task->spec, NULL);
    CHECK_STR(task->idempotency_key, "k");
    CHECK_INT(task->attempts, 1);
}

/* One population for all filters: each names the tasks that it must find, newest first. */
static void populate(struct fa_t *t, char team[FAINA_ID_SIZE], char parent[FAINA_ID_SIZE])
{
    struct faina_submit children[] = {{.type = "x", .name = "child1"},
                                      {.type = "y", .name = "child2"}};
    const char *id;

    CHECK_OK(t, fa_t_team_put(t, &(struct faina_team){.name = "red"}));
    memcpy(team, t->op.team_answer->id, FAINA_ID_SIZE);
    fa_t_submit(t, .type = "x", .name = "plain");
    fa_t_submit(t, .type = "y", .name = "ann", .created_by = "ann");
    fa_t_submit(t, .ns = "other", .type = "x", .name = "far", .created_by = "ann",
                .idempotency_key = "k");
    fa_t_submit(t, .type = "x", .name = "red1", .team_id = team, .created_by = "ann");
    fa_t_submit(t, .type = "y", .name = "red2", .team_id = team);
    id = fa_t_submit(t, .type = "x", .name = "parent");
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, 2));
    memcpy(parent, id, FAINA_ID_SIZE);
    fa_t_submit(t, .type = "x", .name = "keyed", .idempotency_key = "k");
    id = fa_t_submit(t, .type = "x", .name = "done", .team_id = team, .created_by = "ann");
    fa_t_finish_task(t, id);
    id = fa_t_submit(t, .type = "y", .name = "claimed");
    CHECK_OK(t, fa_t_claim(t, id, "w"));
    id = fa_t_submit(t, .type = "y", .name = "failed");
    CHECK_OK(t, fa_t_fail_final(t, id, NOBODY, "no"));
    id = fa_t_submit(t, .type = "x", .name = "cancelled", .created_by = "bob");
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    fa_t_submit(t, .type = "y", .name = "later", .delay_ms = 3600 * 1000);
}

#define S(name) (1u << FAINA_##name)

static void test_list__every_filter(struct fa_t *t)
{
    char team[FAINA_ID_SIZE], parent[FAINA_ID_SIZE];

    populate(t, team, parent);
    const struct {
        struct faina_query query;
        const char *names;
    } cases[] = {
        {{.ns = NULL},
         "later cancelled failed claimed done keyed child2 child1 parent red2 red1 "
         "ann plain"},
        {{.ns = "*"},
         "later cancelled failed claimed done keyed child2 child1 parent red2 red1 "
         "far ann plain"},
        {{.ns = "other"}, "far"},
        {{.ns = "nowhere"}, ""},
        {{.type = "x"}, "cancelled done keyed child1 parent red1 plain"},
        {{.ns = "*", .type = "x"}, "cancelled done keyed child1 parent red1 far plain"},
        {{.type = "z"}, ""},
        {{.statuses = S(PENDING)}, "later keyed child2 child1 red2 red1 ann plain"},
        {{.statuses = S(COMPLETED)}, "done"},
        {{.statuses = S(CLAIMED) | S(RUNNING)}, "claimed"},
        {{.statuses = S(FAILED) | S(CANCELLED)}, "cancelled failed"},
        {{.statuses = S(FAILED) | S(CLAIMED) | S(COMPLETED)}, "failed claimed done"},
        {{.statuses = S(BLOCKED)}, "parent"},
        {{.statuses = S(BACKGROUND) | S(DEAD_LETTER)}, ""},
        {{.statuses = S(PENDING), .type = "y"}, "later child2 red2 ann"},
        {{.team_id = team}, "done red2 red1"},
        {{.team_id = team, .statuses = S(PENDING)}, "red2 red1"},
        {{.team_id = team, .created_by = "ann"}, "done red1"},
        {{.team_id = team, .type = "y", .ns = "*"}, "red2"},
        {{.team_id = team, .ns = "other"}, ""},
        {{.parent_id = parent}, "child2 child1"},
        {{.parent_id = parent, .type = "y"}, "child2"},
        {{.parent_id = parent, .statuses = S(COMPLETED)}, ""},
        {{.created_by = "ann"}, "done red1 ann"},
        {{.created_by = "ann", .ns = "*"}, "done red1 far ann"},
        {{.created_by = "ann", .ns = "other"}, "far"},
        {{.created_by = "bob", .statuses = S(CANCELLED)}, "cancelled"},
        {{.created_by = "nobody"}, ""},
        {{.idempotency_key = "k"}, "keyed"},
        {{.idempotency_key = "k", .ns = "*"}, "keyed far"},
        {{.idempotency_key = "k", .type = "x"}, "keyed"},
        {{.idempotency_key = "k", .type = "y"}, ""},
        {{.idempotency_key = "k", .ns = "other", .type = "x"}, "far"},
        {{.limit = 3}, "later cancelled failed"},
        {{.limit = 1000, .type = "y", .ns = "*"}, "later failed claimed child2 red2 ann"},
        {{.statuses = (1u << FAINA_STATUS_COUNT) - 1, .type = "y"},
         "later failed claimed child2 red2 ann"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        CHECK_OK(t, fa_t_list_code(t, &cases[i].query));
        CHECK(strcmp(fa_t_names(t, t->op.tasks), cases[i].names) == 0,
              "query %zu found \"%s\", wanted \"%s\"", i, fa_t_names(t, t->op.tasks),
              cases[i].names);
    }
}

static void test_list__by_time(struct fa_t *t)
{
    int64_t times[6];

    for (int i = 0; i < 6; i++) {
        fa_t_submit(t, .type = i % 2 ? "x" : "y", .name = fa_arena_printf(&t->arena, "n%d", i));
        times[i] = t->task->created_us;
        if (i > 0)
            CHECK(times[i] > times[i - 1], "two tasks were created at the same time");
    }
    /* At or after, and before. */
    const struct {
        int64_t after, before;
        const char *type, *names;
    } cases[] = {
        {times[2], 0, NULL, "n5 n4 n3 n2"},
        {times[2] + 1, 0, NULL, "n5 n4 n3"},
        {0, times[2], NULL, "n1 n0"},
        {0, times[2] + 1, NULL, "n2 n1 n0"},
        {times[1], times[4], NULL, "n3 n2 n1"},
        {times[1], times[4], "x", "n3 n1"},
        {times[3], times[3], NULL, ""},
        {times[5] + 1, 0, NULL, ""},
        {0, times[0], NULL, ""},
        {times[0], times[5] + 1, NULL, "n5 n4 n3 n2 n1 n0"},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        CHECK_OK(t, fa_t_list(t, .created_after_us = cases[i].after,
                              .created_before_us = cases[i].before, .type = cases[i].type));
        CHECK(strcmp(fa_t_names(t, t->op.tasks), cases[i].names) == 0,
              "case %zu found \"%s\", wanted \"%s\"", i, fa_t_names(t, t->op.tasks),
              cases[i].names);
    }
}

/* ------------------------------------------------------------------------------------------
 * Pages
 */

/* Walks all pages of `query`; between them, calls `between`. Checks that no task comes twice and
 * that the order holds across pages. Returns how many there were. */
static size_t walk_pages(struct fa_t *t, struct faina_query query, void (*between)(struct fa_t *t))
{
    char last[FAINA_ID_SIZE] = "g";
    size_t total = 0;

    for (int page = 0; page < 1000; page++) {
        const struct faina_tasks *tasks;

        CHECK_OK(t, fa_t_list_code(t, &query));
        tasks = t->op.tasks;
        CHECK_TRUE(tasks->count <= (size_t)query.limit);
        for (size_t i = 0; i < tasks->count; i++) {
            CHECK(strcmp(tasks->items[i].id, last) < 0, "page %d item %zu: %s is not older than %s",
                  page, i, tasks->items[i].id, last);
            memcpy(last, tasks->items[i].id, sizeof last);
        }
        total += tasks->count;
        if (tasks->next_cursor == NULL)
            return total;
        query.cursor = tasks->next_cursor;
        if (between)
            between(t);
    }
    fa_t_fail(__FILE__, __LINE__, "the pages have no end");
}

static void add_two(struct fa_t *t)
{
    fa_t_submit(t, .type = "x", .name = "late");
    fa_t_submit(t, .type = "y", .name = "late");
}

static void test_list__pages_without_gaps_or_repeats(struct fa_t *t)
{
    static const int limits[] = {1, 2, 7, 30, 60, 61, 1000};

    for (int i = 0; i < 60; i++) {
        const char *id = fa_t_submit(t, .type = i % 2 ? "x" : "y", .created_by = "ann");

        if (i % 3 == 0)
            CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
        if (i % 3 == 1)
            CHECK_OK(t, fa_t_claim(t, id, "w"));
    }
    for (size_t i = 0; i < FA_COUNT(limits); i++) {
        int limit = limits[i];

        CHECK_INT(walk_pages(t, (struct faina_query){.limit = limit}, NULL), 60);
        CHECK_INT(walk_pages(t, (struct faina_query){.limit = limit, .type = "x"}, NULL), 30);
        CHECK_INT(walk_pages(t, (struct faina_query){.limit = limit, .created_by = "ann"}, NULL),
                  60);
        CHECK_INT(
            walk_pages(t, (struct faina_query){.limit = limit, .statuses = S(CANCELLED)}, NULL),
            20);
        CHECK_INT(
            walk_pages(t,
                       (struct faina_query){.limit = limit, .statuses = S(PENDING) | S(CANCELLED)},
                       NULL),
            40);
    }
}

static void test_list__pages_hold_while_tasks_are_added(struct fa_t *t)
{
    for (int i = 0; i < 40; i++)
        fa_t_submit(t, .type = "x", .name = "early");
    CHECK_INT(walk_pages(t, (struct faina_query){.limit = 6}, add_two), 40);
}

static void test_list__last_page_has_no_cursor(struct fa_t *t)
{
    for (int i = 0; i < 10; i++)
        fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_list(t, .limit = 11));
    CHECK_STR(t->op.tasks->next_cursor, NULL);
    CHECK_OK(t, fa_t_list(t, .limit = 10));
    CHECK_STR(t->op.tasks->next_cursor, NULL);
    CHECK_OK(t, fa_t_list(t, .limit = 9));
    CHECK_TRUE(t->op.tasks->next_cursor != NULL);
}

static void test_list__limits_and_bad_cursors(struct fa_t *t)
{
    static const char *const cursors[] = {
        "x", "123", "AAAA", "!!!", "0", "-1", "99999999999999999999999"};

    fa_t_submit(t, .type = "x");
    CHECK_OK(t, fa_t_list(t, .limit = 1000));
    CHECK_CODE(t, fa_t_list(t, .limit = 1001), FAINA_INVALID_REQUEST);
    CHECK_STR(t->op.error.field, "limit");
    CHECK_CODE(t, fa_t_list(t, .limit = -1), FAINA_INVALID_REQUEST);
    for (size_t i = 0; i < FA_COUNT(cursors); i++) {
        CHECK(fa_t_list(t, .cursor = cursors[i]) == FAINA_INVALID_REQUEST,
              "the cursor \"%s\" gave %s", cursors[i], faina_code_name(t->op.code));
        CHECK_STR(t->op.error.field, "cursor");
    }
}

/* ------------------------------------------------------------------------------------------
 * Children
 */

static void test_children__oldest_first_in_pages(struct fa_t *t)
{
    enum { COUNT = 25 };
    struct faina_submit children[COUNT];
    const char *id = fa_t_make(t, FAINA_RUNNING, "w");
    const char *cursor = NULL;
    int seen = 0;

    for (int i = 0; i < COUNT; i++)
        children[i] =
            (struct faina_submit){.type = "child", .name = fa_arena_printf(&t->arena, "n%d", i)};
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, 0);
    CHECK_OK(t, fa_t_block(t, id, BY("w"), children, COUNT));
    CHECK_OK(t, fa_t_children(t, id, 0, NULL));
    CHECK_INT(t->op.tasks->count, COUNT);
    do {
        CHECK_OK(t, fa_t_children(t, id, 7, cursor));
        for (size_t i = 0; i < t->op.tasks->count; i++)
            CHECK_STR(t->op.tasks->items[i].name, children[seen++].name);
        cursor = t->op.tasks->next_cursor;
    } while (cursor);
    CHECK_INT(seen, COUNT);
    CHECK_CODE(t, fa_t_children(t, id, 1001, NULL), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_children(t, id, 0, "no cursor"), FAINA_INVALID_REQUEST);
    CHECK_CODE(t, fa_t_children(t, "01890a5d-ac96-774b-bcce-b302099a8057", 0, NULL),
               FAINA_TASK_NOT_FOUND);
}

/* ------------------------------------------------------------------------------------------
 * Stats
 */

static const struct faina_count *count_of(struct fa_t *t, const char *ns, const char *type)
{
    for (size_t i = 0; i < t->op.stats->count; i++) {
        const struct faina_count *item = &t->op.stats->types[i];

        if (strcmp(item->ns, ns) == 0 && strcmp(item->type, type) == 0)
            return item;
    }
    fa_t_fail(__FILE__, __LINE__, "no counts of %s in %s", type, ns);
}

static void test_stats__count_every_status(struct fa_t *t)
{
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        for (int i = 0; i <= (int)s; i++)
            fa_t_make(t, s, "w");
    fa_t_submit(t, .ns = "other", .type = "made");
    CHECK_OK(t, fa_t_stats(t, NULL));
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++) {
        CHECK_INT(count_of(t, "default", "made")->by_status[s], s + 1);
        CHECK_INT(t->op.stats->by_status[s], s + 1 + (s == FAINA_PENDING ? 4 : 0));
    }
    CHECK_INT(count_of(t, "default", "made.child")->by_status[FAINA_PENDING], 4);
    CHECK_INT(t->op.stats->count, 2);
    CHECK_OK(t, fa_t_stats(t, "other"));
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], 1);
    CHECK_INT(t->op.stats->count, 1);
    CHECK_OK(t, fa_t_stats(t, "*"));
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], 1 + 4 + 1);
    CHECK_INT(t->op.stats->count, 3);
    CHECK_OK(t, fa_t_stats(t, "nowhere"));
    CHECK_INT(t->op.stats->by_status[FAINA_PENDING], 0);
}

static void test_stats__tell_what_is_paused(struct fa_t *t)
{
    fa_t_submit(t, .type = "x");
    fa_t_submit(t, .type = "y");
    CHECK_OK(t, fa_t_pause(t, NULL, "x"));
    CHECK_OK(t, fa_t_pause(t, NULL, "a type without a task"));
    CHECK_OK(t, fa_t_pause(t, "other", "x"));
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->count, 3);
    CHECK_TRUE(count_of(t, "default", "x")->is_paused);
    CHECK_TRUE(!count_of(t, "default", "y")->is_paused);
    CHECK_TRUE(count_of(t, "default", "a type without a task")->is_paused);
    CHECK_INT(count_of(t, "default", "a type without a task")->by_status[FAINA_PENDING], 0);
    CHECK_OK(t, fa_t_resume(t, NULL, "x"));
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_TRUE(!count_of(t, "default", "x")->is_paused);
}

static void test_stats__survive_reopening(struct fa_t *t)
{
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        if (t->is_sql || s != FAINA_BLOCKED)
            fa_t_make(t, s, "w");
    fa_t_reopen(t);
    CHECK_OK(t, fa_t_stats(t, NULL));
    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        if (t->is_sql || s != FAINA_BLOCKED)
            CHECK_INT(count_of(t, "default", "made")->by_status[s], 1);
}

static void check_namespaces(struct fa_t *t, struct fa_part part, const char *expected)
{
    struct fa_buf names;

    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_NAMESPACE_LIST, .part = part}));
    fa_buf_init(&names, 1000);
    for (size_t i = 0; i < t->op.namespaces->count; i++)
        fa_buf_printf(&names, "%s ", t->op.namespaces->items[i].name);
    CHECK_STR(names.ptr ? names.ptr : "", expected);
    fa_buf_finish(&names);
}

static void test_namespaces__in_use_by_name(struct fa_t *t)
{
    struct fa_part part = {.is_asked = true, .limit = 2};

    check_namespaces(t, (struct fa_part){0}, "");
    fa_t_submit(t, .type = "x", .ns = "b");
    fa_t_submit(t, .type = "y", .ns = "b");
    fa_t_submit(t, .type = "x", .ns = "a.b");
    fa_t_submit(t, .type = "x", .ns = "a");
    check_namespaces(t, (struct fa_part){0}, "a a.b b ");
    check_namespaces(t, part, "a a.b ");
    part.cursor = fa_arena_strdup(&t->arena, t->op.next_cursor);
    check_namespaces(t, part, "b ");
    CHECK_STR(t->op.next_cursor, NULL);
    part.cursor = "no cursor";
    CHECK_CODE(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_NAMESPACE_LIST, .part = part}),
               FAINA_INVALID_REQUEST);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_list__newest_first_100_by_default),
        FA_T_CASE(test_list__whole_tasks_or_brief_ones),
        FA_T_CASE_SQL(test_list__every_filter),
        FA_T_CASE(test_list__by_time),
        FA_T_CASE(test_list__pages_without_gaps_or_repeats),
        FA_T_CASE(test_list__pages_hold_while_tasks_are_added),
        FA_T_CASE(test_list__last_page_has_no_cursor),
        FA_T_CASE(test_list__limits_and_bad_cursors),
        FA_T_CASE_SQL(test_children__oldest_first_in_pages),
        FA_T_CASE_SQL(test_stats__count_every_status),
        FA_T_CASE(test_stats__tell_what_is_paused),
        FA_T_CASE_DURABLE(test_stats__survive_reopening),
        FA_T_CASE(test_namespaces__in_use_by_name),
    };

    return fa_t_main(argc, argv, "list", cases, FA_COUNT(cases));
}
