/*
 * test_audit.c - each invariant of the store is violated by hand, and the audit reports it.
 */
#include "support/unit_store.h"

#include "store/upkeep/audit.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

struct findings {
    char text[2048];
    size_t count;
};

static void add_finding(void *ctx, const char *sentence)
{
    struct findings *findings = ctx;
    size_t used = strlen(findings->text);

    snprintf(findings->text + used, sizeof(findings->text) - used, "%s\n", sentence);
    findings->count++;
}

static struct findings audit(struct store *store)
{
    struct findings findings = {0};
    struct faina_error err = {0};

    CHECK(fa_audit(store->db, add_finding, &findings, &err) == FAINA_OK, "%s", err.message);
    return findings;
}

/* Tasks in every status, some with a key, a resource, a dependency, a parent. */
static void fill(struct store *store)
{
    static const char *const gpu[] = {"gpu"};
    const char *id;

    for (int status = 0; status < FAINA_STATUS_COUNT; status++)
        store_make(store, (enum faina_status)status);
    store_begin(store);
    id = store_id(store, store_submit(store, .type = "keyed", .idempotency_key = "k",
                                      .resources = gpu, .resource_count = 1));
    store_submit(store, .type = "later", .delay_ms = 1000);
    store_submit(store, .type = "needy", .depends_on = &id, .depends_on_count = 1);
    store_commit(store);
    store_begin(store);
    CHECK_INT(store_run(store, &(struct fa_op){.kind = FA_OP_CLAIM, .id = id, .by.worker_id = "w"}),
              FAINA_OK);
    store_commit(store);
}

static void test_audit__a_sound_store_has_no_findings(void **state)
{
    struct store store;

    store_open(&store);
    CHECK_STR(audit(&store).text, "");
    fill(&store);
    CHECK_STR(audit(&store).text, "");
    store_close(&store);
}

#define PLACES "tasks without exactly one state row"
#define HOLDS "permits are held by tasks that don't use them, or are missing"
#define TALLY "counts differ from what they count"
#define KEYS "keys belong to no task, or are missing"
#define BLOCKED "blocked tasks with a wrong dependency count"

static void test_audit__each_broken_promise_is_found(void **state)
{
    static const struct {
        const char *name, *sql, *finding;
        int64_t number;
    } cases[] = {
        {"a task fell out of line", "DELETE FROM ready WHERE id = (SELECT min(id) FROM ready)",
         PLACES, 1},
        {"tasks fell out of all places", "DELETE FROM held; DELETE FROM ended", PLACES, 7},
        {"a task is in line twice",
         "INSERT INTO ready (lane, rank, id) SELECT lane, rank + 1, id "
         "FROM ready LIMIT 1",
         PLACES, 1},
        {"a task is in line and held",
         "INSERT INTO ready (lane, rank, id) SELECT lane, rank, id FROM held LIMIT 1", PLACES, 1},
        {"a permit is missing", "DELETE FROM hold", HOLDS, 1},
        {"a task in line has a permit", "INSERT INTO hold SELECT 1, id FROM ready LIMIT 1", HOLDS,
         1},
        {"nobody has a permit", "INSERT INTO hold VALUES (1, 12345)", HOLDS, 1},
        {"a count is off by one",
         "UPDATE tally SET n = n + 1 WHERE status = 0 AND lane = (SELECT min(lane) FROM tally)",
         TALLY, 1},
        {"a count is missing", "DELETE FROM tally WHERE status = 5", TALLY, 1},
        {"a count of nothing", "INSERT INTO tally VALUES (99, 3, 2)", TALLY, 1},
        {"counts that are 0 are fine, others aren't",
         "INSERT INTO tally VALUES (98, 1, 0), (99, 3, -1)", TALLY, 1},
        {"a task in line that is none", "INSERT INTO ready (lane, rank, id) VALUES (1, 0, 7)",
         TALLY, 1},
        {"a key of no task", "INSERT INTO task_key VALUES (1, 12345), (2, 12345)", KEYS, 2},
        {"too many to wait for",
         "UPDATE parked SET deps_left = deps_left + 1 WHERE status = 3 AND flags & 2048", BLOCKED,
         1},
        {"too few to wait for",
         "UPDATE parked SET deps_left = 0 WHERE status = 3 AND NOT flags & 2048", BLOCKED, 1},
        {"a dependency is gone", "DELETE FROM task_dep", BLOCKED, 1},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct store store;
        struct findings found;
        char want[256];

        store_open(&store);
        fill(&store);
        raw_exec(store.raw, cases[i].sql);
        found = audit(&store);
        snprintf(want, sizeof(want), "%lld %s\n", (long long)cases[i].number, cases[i].finding);
        CHECK(strstr(found.text, want) != NULL, "%s: wanted %sfound %s", cases[i].name, want,
              found.text);
        store_close(&store);
    }
}

static void test_audit__deleted_tasks_are_not_counted(void **state)
{
    struct store store;
    const char *id;

    store_open(&store);
    fill(&store);
    store_begin(&store);
    id = raw_text(store.raw, "SELECT id FROM tasks WHERE status = 'completed'", &store.arena);
    CHECK_INT(store_run(&store, &(struct fa_op){.kind = FA_OP_DELETE, .id = id}), FAINA_OK);
    store_commit(&store);
    CHECK_STR(audit(&store).text, "");
    store_close(&store);
}

static void test_audit__several_findings_are_all_told(void **state)
{
    struct store store;

    store_open(&store);
    fill(&store);
    raw_exec(store.raw, "DELETE FROM hold; DELETE FROM task_dep; DELETE FROM tally;"
                        "DELETE FROM ready; INSERT INTO task_key VALUES (1, 1)");
    CHECK_INT(audit(&store).count, 5);
    store_close(&store);
}

static void test_audit__a_failing_store_is_an_error(void **state)
{
    struct findings findings = {0};
    struct store store;

    store_open(&store);
    for (int64_t i = 1; i <= 5; i++) {
        struct faina_error err = {0};

        spy_forget(&store.spy);
        store.spy.fail_at = i;
        CHECK_INT(fa_audit(&store.spy.base, add_finding, &findings, &err), FAINA_UNAVAILABLE);
        CHECK_STR(err.message, "made to fail");
    }
    CHECK_INT(findings.count, 0);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_audit__a_sound_store_has_no_findings),
        cmocka_unit_test(test_audit__each_broken_promise_is_found),
        cmocka_unit_test(test_audit__deleted_tasks_are_not_counted),
        cmocka_unit_test(test_audit__several_findings_are_all_told),
        cmocka_unit_test(test_audit__a_failing_store_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
