/*
 * test_unit.c - one transaction's rows: each task once, keys, times of events, refusals.
 */
#include "support/unit_store.h"

#include "store/txn/commit_counts.h"
#include "store/txn/flush.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* ------------------------------------------------------------------------------------------
 * Rows
 */

/* U1 */
static void test_unit__a_task_has_one_row(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row *by_key = NULL, *by_id = NULL, *any = NULL, copy;
    const char *id;
    int64_t key;

    store_open(&store);
    key = store_make(&store, FAINA_RUNNING);
    store_begin(&store);
    CHECK_TRUE(fa_unit_cached(&store.unit, key) == NULL);
    CHECK_INT(fa_unit_get(&store.unit, key, false, &by_key, &err), FAINA_OK);
    id = store_id(&store, by_key);
    CHECK_INT(fa_unit_find(&store.unit, id, true, &by_id, &err), FAINA_OK);
    CHECK_INT(fa_unit_find_any(&store.unit, id, &any, &err), FAINA_OK);
    CHECK_TRUE(by_id == by_key);
    CHECK_TRUE(any == by_key);
    CHECK_TRUE(fa_unit_cached(&store.unit, key) == by_key);
    copy = *by_key;
    CHECK_TRUE(fa_unit_adopt(&store.unit, &copy) == by_key);
    fa_unit_reset(&store.unit);
    CHECK_TRUE(fa_unit_cached(&store.unit, key) == NULL);
    store_rollback(&store);
    store_close(&store);
}

static void test_unit__a_row_that_was_read_elsewhere_is_adopted(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row read, *mine;
    int64_t key;

    store_open(&store);
    key = store_make(&store, FAINA_PENDING);
    store_begin(&store);
    CHECK_INT(fa_row_load(&store.unit.source, key, &store.arena, &read, &err), FAINA_OK);
    mine = fa_unit_adopt(&store.unit, &read);
    CHECK_TRUE(mine != &read);
    CHECK_TRUE(store_get(&store, key) == mine);
    store_rollback(&store);
    store_close(&store);
}

static void test_unit__many_rows_are_all_known(void **state)
{
    enum { ROWS = 3000 };
    static struct fa_row *rows[ROWS];
    struct store store;
    int64_t first;

    store_open(&store);
    store_begin(&store);
    for (size_t i = 0; i < ROWS; i++)
        rows[i] = store_submit(&store, .type = "t");
    for (size_t i = 0; i < ROWS; i++)
        CHECK_TRUE(fa_unit_cached(&store.unit, rows[i]->id.key) == rows[i]);
    CHECK_TRUE(fa_unit_cached(&store.unit, 1) == NULL);
    CHECK_INT(store.unit.row_count, ROWS);
    CHECK_INT(store.unit.dirty_count, ROWS);
    first = rows[0]->id.key;
    store_commit(&store);
    store_begin(&store); /* rows of a large transaction are not in the next one */
    CHECK_INT(store.unit.row_count, 0);
    CHECK_TRUE(fa_unit_cached(&store.unit, first) == NULL);
    store_rollback(&store);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM task_standing WHERE status = 0"), ROWS);
    store_close(&store);
}

static void test_unit__ids_that_no_task_has(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row *row = NULL;
    struct fa_id other;
    char text[FAINA_ID_SIZE];
    int64_t key;

    store_open(&store);
    key = store_make(&store, FAINA_PENDING);
    store_begin(&store);
    CHECK_INT(fa_unit_get(&store.unit, key + 1, false, &row, &err), FAINA_TASK_NOT_FOUND);
    CHECK_INT(fa_unit_find(&store.unit, "no id", false, &row, &err), FAINA_TASK_NOT_FOUND);
    CHECK_STR(err.message, "there is no task no id");
    other = store_get(&store, key)->id;
    other.tail ^= 1; /* the key is right, the rest of the id isn't */
    fa_id_format(other, text);
    CHECK_INT(fa_unit_find(&store.unit, text, false, &row, &err), FAINA_TASK_NOT_FOUND);
    CHECK_INT(fa_unit_find_any(&store.unit, text, &row, &err), FAINA_TASK_NOT_FOUND);
    CHECK_TRUE(row == NULL);
    store_rollback(&store);
    store_close(&store);
}

static void test_unit__deleted_tasks_are_found_by_find_any_only(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row *row = NULL;
    const char *id;
    int64_t key;

    store_open(&store);
    key = store_make(&store, FAINA_COMPLETED);
    store_begin(&store);
    id = store_id(&store, store_get(&store, key));
    CHECK_INT(store_run(&store, &(struct fa_op){.kind = FA_OP_DELETE, .id = id}), FAINA_OK);
    for (int round = 0; round < 2; round++) { /* in this transaction, and in the next */
        CHECK_INT(fa_unit_get(&store.unit, key, false, &row, &err), FAINA_TASK_NOT_FOUND);
        CHECK_INT(fa_unit_find(&store.unit, id, false, &row, &err), FAINA_TASK_NOT_FOUND);
        CHECK_INT(fa_unit_find_any(&store.unit, id, &row, &err), FAINA_OK);
        CHECK_TRUE(row->deleted_us != 0);
        store_commit(&store);
        store_begin(&store);
    }
    store_rollback(&store);
    store_close(&store);
}

/* R2 of row.h: most calls about a held task need no payload. */
static void test_unit__a_held_task_is_read_whole_on_demand(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row *row = NULL;
    int64_t key;

    store_open(&store);
    key = store_make(&store, FAINA_RUNNING);
    store_begin(&store);
    spy_forget(&store.spy);
    CHECK_INT(fa_unit_get(&store.unit, key, false, &row, &err), FAINA_OK);
    CHECK_TRUE(!row->has_task);
    CHECK_INT(store.spy.calls, 1);
    CHECK_INT(fa_unit_load_task(&store.unit, row, &err), FAINA_OK);
    CHECK_TRUE(row->has_task);
    CHECK_INT(row->max_attempts, 3);
    CHECK_INT(store.spy.runs[FA_SQL_TASK_GET], 1);
    CHECK_INT(fa_unit_load_task(&store.unit, row, &err), FAINA_OK);
    CHECK_INT(store.spy.runs[FA_SQL_TASK_GET], 1);
    store_rollback(&store);
    store_close(&store);
}

/* ------------------------------------------------------------------------------------------
 * Keys
 */

static bool is_named(const struct fa_row *row, const void *ctx)
{
    return row->name != NULL && strcmp(row->name, ctx) == 0;
}

static void test_unit__a_key_is_known_before_it_is_written(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row *row, *found = NULL;

    store_open(&store);
    store_begin(&store);
    CHECK_TRUE(fa_unit_cached_key(&store.unit, 77, is_named, "a") == NULL);
    row = store_submit(&store, .name = "a");
    fa_unit_take_key(&store.unit, (struct fa_key){.hash = 77}, row);
    CHECK_TRUE(fa_unit_cached_key(&store.unit, 77, is_named, "a") == row);
    CHECK_TRUE(fa_unit_cached_key(&store.unit, 77, is_named, "b") ==
               NULL); /* the same hash, another key */
    CHECK_TRUE(fa_unit_cached_key(&store.unit, 78, is_named, "a") == NULL);
    CHECK_INT(fa_unit_find_key(&store.unit, 77, is_named, "a", &found, &err), FAINA_OK);
    CHECK_TRUE(found == row);
    store_commit(&store);
    store_begin(&store);
    CHECK_TRUE(fa_unit_cached_key(&store.unit, 77, is_named, "a") == NULL);
    CHECK_INT(fa_unit_find_key(&store.unit, 77, is_named, "a", &found, &err), FAINA_OK);
    CHECK_STR(found->name, "a");
    CHECK_INT(fa_unit_find_key(&store.unit, 77, is_named, "b", &found, &err), FAINA_OK);
    CHECK_TRUE(found == NULL);
    store_rollback(&store);
    store_close(&store);
}

/* Two tasks whose keys have the same hash, one written, one not yet. */
static void test_unit__keys_of_one_hash_are_told_apart(void **state)
{
    struct store store;
    struct faina_error err = {0};
    struct fa_row *a, *b, *found = NULL;

    store_open(&store);
    store_begin(&store);
    fa_unit_take_key(&store.unit, (struct fa_key){.hash = -5}, store_submit(&store, .name = "a"));
    store_commit(&store);
    store_begin(&store);
    b = store_submit(&store, .name = "b");
    fa_unit_take_key(&store.unit, (struct fa_key){.hash = -5}, b);
    CHECK_INT(fa_unit_find_key(&store.unit, -5, is_named, "b", &found, &err), FAINA_OK);
    CHECK_TRUE(found == b);
    CHECK_INT(fa_unit_find_key(&store.unit, -5, is_named, "a", &a, &err), FAINA_OK);
    CHECK_STR(a->name, "a");
    a->deleted_us = STORE_NOW; /* a deleted task has no key */
    CHECK_INT(fa_unit_find_key(&store.unit, -5, is_named, "a", &found, &err), FAINA_OK);
    CHECK_TRUE(found == NULL);
    b->is_purged = true;
    CHECK_TRUE(fa_unit_cached_key(&store.unit, -5, is_named, "b") == NULL);
    store_rollback(&store);
    store_close(&store);
}

static void test_unit__many_keys_are_all_known(void **state)
{
    enum { KEYS = 1000 };
    static const int64_t spread[] = {1, 64, INT64_C(1) << 40, -3};
    struct store store;

    store_open(&store);
    for (size_t s = 0; s < FA_COUNT(spread); s++) {
        struct fa_row *row;

        store_begin(&store);
        row = store_submit(&store, .name = "a");
        for (int64_t i = 1; i <= KEYS; i++)
            fa_unit_take_key(&store.unit, (struct fa_key){.hash = i * spread[s]}, row);
        for (int64_t i = 1; i <= KEYS; i++)
            CHECK_TRUE(fa_unit_cached_key(&store.unit, i * spread[s], is_named, "a") == row);
        CHECK_TRUE(fa_unit_cached_key(&store.unit, (KEYS + 1) * spread[s], is_named, "a") == NULL);
        store_rollback(&store);
    }
    store_close(&store);
}

/* ------------------------------------------------------------------------------------------
 * Times of events
 */

/* U4: also when the clock is stopped, or steps back. */
static void test_unit__times_of_a_task_only_grow(void **state)
{
    static const int64_t clock[] = {0, 0, 5, 3, -1000000, 100, 100};
    struct store store;
    struct fa_row *row;
    int64_t last, version;

    store_open(&store);
    store_begin(&store);
    row = store_submit(&store, .type = "t");
    last = row->updated_us;
    version = row->version;
    for (size_t i = 0; i < FA_COUNT(clock); i++) {
        store.unit.now_us = STORE_NOW + clock[i];
        CHECK_TRUE(fa_unit_change(&store.unit, row) > last);
        CHECK_INT(row->version, ++version);
        last = row->updated_us;
        fa_unit_note(&store.unit, row, "noted", FAINA_ACTOR_API, NULL, NULL);
        CHECK_TRUE(row->noted_us > last);
        CHECK_INT(row->updated_us, last); /* a note is no change */
        CHECK_INT(row->version, version);
        last = row->noted_us;
    }
    CHECK_INT(store.unit.event_count, FA_COUNT(clock));
    store_commit(&store);
    CHECK_INT(raw_int(store.raw, "SELECT count(DISTINCT at_us) FROM event"), FA_COUNT(clock));
    store_close(&store);
}

/* All events of a task within one microsecond have different times, in the right order. */
static void test_unit__a_life_in_one_microsecond_has_its_order(void **state)
{
    static const enum fa_op_kind life[] = {FA_OP_CLAIM, FA_OP_RELEASE, FA_OP_CLAIM, FA_OP_START,
                                           FA_OP_COMPLETE};
    struct store store;
    struct fa_row *row;
    const char *id;

    store_open(&store);
    store_begin(&store);
    row = store_submit(&store, .type = "t");
    id = store_id(&store, row);
    for (size_t i = 0; i < FA_COUNT(life); i++) {
        struct fa_op op = {.kind = life[i], .id = id, .by.worker_id = "w"};

        store.unit.now_us = STORE_NOW;
        CHECK(store_run(&store, &op) == FAINA_OK, "%s: %s", fa_op_name(life[i]),
              store.op.error.message);
    }
    store_commit(&store);
    CHECK_STR(raw_text(store.raw, "SELECT what FROM event ORDER BY at_us", &store.arena),
              "claimed\nreleased");
    CHECK_TRUE(row->created_us < row->claimed_us);
    CHECK_TRUE(row->claimed_us < row->started_us);
    CHECK_TRUE(row->started_us < row->completed_us);
    CHECK_INT(row->completed_us, row->updated_us);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM event e, ended d WHERE e.at_us >= "
                                 "d.claimed_us"),
              0);
    store_close(&store);
}

/* U5: an implicit event has no row in `event`. */
static void test_unit__the_latest_attempt_is_told_by_the_row(void **state)
{
    struct store store;

    store_open(&store);
    store_make(&store, FAINA_COMPLETED);
    CHECK_INT(raw_int(store.raw, "SELECT count(*) FROM event"), 0);
    CHECK_INT(raw_int(store.raw, "SELECT flags & 48 FROM ended"),
              FA_FLAG_CLAIM_EVENT | FA_FLAG_START_EVENT);
    store_close(&store);
}

/* ------------------------------------------------------------------------------------------
 * Refusals
 */

static void check_nothing_happens(struct store *store, int64_t key, struct fa_op op,
                                  size_t *refused)
{
    struct fa_row before;
    enum faina_code code;

    store_begin(store);
    before = *store_get(store, key);
    op.id = store_id(store, &before);
    code = store_run(store, &op);
    if (code != FAINA_OK) {
        struct fa_row *row = store_get(store, key);

        CHECK(row->version == before.version && row->status == before.status &&
                  row->updated_us == before.updated_us && row->flags == before.flags,
              "a refused %s changed a %s task", fa_op_name(op.kind),
              faina_status_name(before.status));
        CHECK_INT(store->unit.dirty_count, 0);
        CHECK_INT(store->unit.link_count, 0);
        CHECK_INT(store->unit.ended_count, 0);
        for (size_t i = 0; i < store->unit.event_count; i++)
            CHECK_STR(store->unit.events[i].what, "late_result"); /* O3 of service.h */
        for (int i = 0; i < FAINA_STATUS_COUNT; i++)
            CHECK_INT(row->lane->tally[i], 0);
        CHECK_TRUE(store->op.error.message[0] != '\0');
        ++*refused;
    }
    store_rollback(store);
}

static void count_ends(void *ctx, const struct fa_commit_stats *facts)
{
    *(size_t *)ctx += facts->ended_count;
}

static void test_unit__an_end_is_counted_once(void **state)
{
    size_t counted = 0;
    struct fa_waiters *waiters = fa_waiters_create();
    struct fa_listener listener = {.count = count_ends, .ctx = &counted};
    const enum fa_op_kind kinds[] = {FA_OP_RETRY, FA_OP_CANCEL, FA_OP_RETRY, FA_OP_CANCEL};
    struct store store;
    int64_t key;

    store_open(&store);
    fa_waiters_listen(waiters, &listener);
    key = store_make(&store, FAINA_RUNNING);
    store_begin(&store);
    for (size_t i = 0; i < FA_COUNT(kinds); i++)
        CHECK_INT(
            store_run(&store, &(struct fa_op){.kind = kinds[i],
                                              .id = store_id(&store, store_get(&store, key))}),
            FAINA_OK);
    fa_facts_publish(waiters, NULL, &store.unit, 0);
    CHECK_INT(counted, 1);
    store_rollback(&store);
    fa_waiters_unlisten(waiters, &listener);
    fa_waiters_destroy(waiters);
    store_close(&store);
}

static void test_unit__a_refused_operation_changes_nothing(void **state)
{
    static const struct faina_failure failure = {.message = "m"};
    static const struct faina_report report = {.has_progress = true, .progress = 5};
    static const struct faina_submit child = {.type = "c"};
    static const struct faina_submit bad[2] = {
        {.type = "c"}, {.type = "c", .team_id = "00000000-0000-7000-8000-000000000000"}};
    const struct fa_op ops[] = {
        {.kind = FA_OP_CLAIM},
        {.kind = FA_OP_START},
        {.kind = FA_OP_PROGRESS, .report = &report},
        {.kind = FA_OP_HEARTBEAT},
        {.kind = FA_OP_COMPLETE, .output = "1"},
        {.kind = FA_OP_FAIL, .failure = &failure},
        {.kind = FA_OP_BLOCK, .block = {&child, 1, false}},
        {.kind = FA_OP_BLOCK, .block = {bad, 2, false}},
        {.kind = FA_OP_BACKGROUND, .background = {"r", 1000}},
        {.kind = FA_OP_RELEASE},
        {.kind = FA_OP_CANCEL},
        {.kind = FA_OP_RETRY},
        {.kind = FA_OP_DELETE},
    };
    const struct faina_by by[] = {
        {.worker_id = "w"},
        {.worker_id = "stranger"},
        {.worker_id = "w", .fence = 99},
        {.worker_id = "w", .version = 99},
        {0},
    };
    struct store store;
    size_t refused = 0;

    store_open(&store);
    for (int status = 0; status < FAINA_STATUS_COUNT; status++) {
        int64_t key = store_make(&store, (enum faina_status)status);

        for (size_t i = 0; i < FA_COUNT(ops); i++) {
            for (size_t k = 0; k < FA_COUNT(by); k++) {
                struct fa_op op = ops[i];

                op.by = by[k];
                check_nothing_happens(&store, key, op, &refused);
            }
        }
    }
    CHECK(refused > 300, "only %zu were refused", refused);
    store_close(&store);
}

static void test_unit__a_refused_submit_changes_nothing(void **state)
{
    static const char *const nobody[] = {"01900000-0000-7000-8000-000000000000"};
    const struct faina_submit cases[] = {
        {.type = "new", .depends_on = nobody, .depends_on_count = 1},
        {.type = "new", .team_id = nobody[0]},
    };
    struct store store;

    store_open(&store);
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        size_t lanes;

        store_begin(&store);
        CHECK_TRUE(store_run(&store, &(struct fa_op){.kind = FA_OP_SUBMIT, .submit = &cases[i]}) !=
                   FAINA_OK);
        CHECK_INT(store.unit.row_count, 0);
        CHECK_INT(store.unit.dirty_count, 0);
        CHECK_INT(store.unit.link_count, 0);
        CHECK_INT(store.unit.key_count, 0);
        fa_lanes_all(store.lanes, &lanes);
        CHECK_INT(lanes, 0);
        store_rollback(&store);
    }
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unit__a_task_has_one_row),
        cmocka_unit_test(test_unit__a_row_that_was_read_elsewhere_is_adopted),
        cmocka_unit_test(test_unit__many_rows_are_all_known),
        cmocka_unit_test(test_unit__ids_that_no_task_has),
        cmocka_unit_test(test_unit__deleted_tasks_are_found_by_find_any_only),
        cmocka_unit_test(test_unit__a_held_task_is_read_whole_on_demand),
        cmocka_unit_test(test_unit__a_key_is_known_before_it_is_written),
        cmocka_unit_test(test_unit__keys_of_one_hash_are_told_apart),
        cmocka_unit_test(test_unit__many_keys_are_all_known),
        cmocka_unit_test(test_unit__times_of_a_task_only_grow),
        cmocka_unit_test(test_unit__a_life_in_one_microsecond_has_its_order),
        cmocka_unit_test(test_unit__the_latest_attempt_is_told_by_the_row),
        cmocka_unit_test(test_unit__an_end_is_counted_once),
        cmocka_unit_test(test_unit__a_refused_operation_changes_nothing),
        cmocka_unit_test(test_unit__a_refused_submit_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
