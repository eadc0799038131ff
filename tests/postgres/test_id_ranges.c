/*
 * test_id_ranges.c - the ids of new tasks where several nodes share a store (id_range.h): no two
 * are the same, and no submit is refused, however many nodes come and go, with all slots taken,
 * after a pause, and beside nodes that don't know of ranges.
 */
#include "postgres/pair.h"
#include "support/crew.h"

#include "base/clock.h"
#include "model/id.h"

#include <libpq-fe.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define SEQUENCE_SLOT 63
#define BATCH 500
#define REST_NS 20000000
#define OPENS 200 /* FA_ID_OPENS sets another number */

struct world {
    struct fa_pair pair; /* first member */
    PGconn *raw;
    int64_t opens;
    atomic_int next_open, openers;
    atomic_long submitted;
};

static int set_up(void **state)
{
    struct world *world = fa_alloc_zero(1, sizeof *world);
    void *pair;

    fa_pair_set_up(&pair);
    world->pair = *(struct fa_pair *)pair;
    free(pair);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;

    fa_psql_close(world->raw);
    return fa_pair_tear_down(state);
}

static void open_world(struct world *world)
{
    fa_pair_open(&world->pair);
    world->raw = fa_psql_connect(world->pair.a.url);
}

/* Each of them must be accepted. Returns the key of the last one. */
static int64_t submit_batch(struct fa_t *t, const char *type, size_t count)
{
    struct faina_submit submit = {.type = type};
    struct fa_op *ops = fa_arena_zero(&t->arena, count, sizeof *ops);
    struct fa_id id = {0};

    for (size_t i = 0; i < count; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .arena = &t->arena, .submit = &submit};
    fa_service_run(t->svc, ops, count);
    for (size_t i = 0; i < count; i++)
        CHECK(ops[i].code == FAINA_OK, "refused: %s", ops[i].error.message);
    CHECK_TRUE(fa_id_parse(ops[count - 1].task_id, &id));
    fa_t_forget(t);
    return id.key;
}

static void check_count(struct world *world)
{
    CHECK_INT(fa_psql_int(world->raw, "SELECT count(*) FROM task"), world->submitted);
    CHECK_INT(fa_psql_int(world->raw, "SELECT count(DISTINCT (id, tail)) FROM task"),
              world->submitted);
    fa_t_check_sound(&world->pair.a);
}

/* ------------------------------------------------------------------------------------------
 * Nodes that come and go
 */

static void submit_until_the_end(struct fa_t *mine, size_t index, void *arg)
{
    struct world *world = arg;

    (void)index;
    while (world->openers > 0) {
        submit_batch(mine, mine->svc == world->pair.a.svc ? "a" : "b", BATCH);
        world->submitted += BATCH;
        nanosleep(&(const struct timespec){.tv_nsec = REST_NS}, NULL); /* for those who open */
    }
}

static void open_and_close(struct fa_t *mine, size_t index, void *arg)
{
    struct world *world = arg;

    (void)index;
    (void)mine;
    while (world->next_open++ < world->opens) {
        struct fa_t visitor;

        fa_t_init(&visitor);
        memcpy(visitor.url, world->pair.b.url, sizeof visitor.url);
        fa_t_open(&visitor);
        submit_batch(&visitor, "visitor", 1);
        world->submitted++;
        fa_t_close(&visitor);
        visitor.url[0] = '\0'; /* the schema stays */
        fa_t_finish(&visitor);
    }
    world->openers--;
}

static void test_id_ranges__nodes_come_and_go(void **state)
{
    struct world *world = *state;
    struct fa_t_crew *crews[3];

    open_world(world);
    world->opens = fa_t_env_int("FA_ID_OPENS", OPENS);
    world->openers = 2;
    crews[0] = fa_t_crew_start(&world->pair.a, 1, submit_until_the_end, world);
    crews[1] = fa_t_crew_start(&world->pair.b, 1, submit_until_the_end, world);
    crews[2] = fa_t_crew_start(&world->pair.a, 2, open_and_close, world);
    for (size_t i = 0; i < FA_COUNT(crews); i++)
        fa_t_crew_join(crews[i]);
    check_count(world);
    /* No node makes a key between those of another one: next time it might be the same. */
    CHECK_INT(fa_psql_int(world->raw,
                          "SELECT count(*) FROM (SELECT id & 63 AS slot, lane, lag(lane) OVER w AS "
                          "before, lead(lane) OVER w AS after FROM task WINDOW w AS (PARTITION BY "
                          "id & 63 ORDER BY id)) AS k WHERE slot < 63 AND before = after AND "
                          "lane <> before"),
              0);
    /* A visit takes no slot, and a node keeps few. */
    CHECK_TRUE(fa_psql_int(world->raw, "SELECT count(*) FROM id_slot WHERE upto > 0") <= 16);
}

/* ------------------------------------------------------------------------------------------
 * More writers than slots
 */

enum { NODES = 6, THREADS = 3, BATCHES = 10, CALLS = 200 };

static void submit_some(struct fa_t *mine, size_t index, void *arg)
{
    struct world *world = arg;

    (void)index;
    for (int i = 0; i < BATCHES; i++) {
        submit_batch(mine, "x", BATCH);
        world->submitted += BATCH;
    }
}

static void submit_in_sql(struct fa_t *mine, size_t index, void *arg)
{
    struct world *world = arg;
    PGconn *conn = fa_psql_connect(mine->url);

    (void)index;
    for (int i = 0; i < CALLS; i++)
        fa_psql_exec(conn, "SELECT submit('x')");
    world->submitted += CALLS;
    fa_psql_close(conn);
}

/* All but `left` slots belong to others. */
static void submit_with_slots(struct world *world, int left)
{
    struct fa_t nodes[NODES];
    struct fa_t_crew *crews[NODES + 1];
    int64_t before = fa_psql_int(world->raw, "SELECT coalesce(max(id), 0) FROM task");

    fa_psql_exec(world->raw,
                 "UPDATE id_slot SET upto = CASE WHEN slot < %d THEN 0 ELSE "
                 "9223372036854775807 END",
                 left);
    for (int i = 0; i < NODES; i++) {
        fa_t_init(&nodes[i]);
        memcpy(nodes[i].url, world->pair.a.url, sizeof nodes[i].url);
        fa_t_open(&nodes[i]);
        crews[i] = fa_t_crew_start(&nodes[i], THREADS, submit_some, world);
    }
    crews[NODES] = fa_t_crew_start(&world->pair.a, 1, submit_in_sql, world);
    for (int i = 0; i <= NODES; i++)
        fa_t_crew_join(crews[i]);
    for (int i = 0; i < NODES; i++) {
        fa_t_close(&nodes[i]);
        nodes[i].url[0] = '\0';
        fa_t_finish(&nodes[i]);
    }
    check_count(world);
    CHECK_INT(fa_psql_int(world->raw,
                          "SELECT count(*) FROM task WHERE id & 63 BETWEEN %d AND 62 "
                          "AND id > %lld",
                          left, (long long)before),
              0);
}

static void test_id_ranges__more_writers_than_slots(void **state)
{
    struct world *world = *state;

    open_world(world);
    submit_with_slots(world, 2);
    CHECK_TRUE(fa_psql_int(world->raw, "SELECT count(*) FROM task WHERE id & 63 < 2") > 0);
    submit_with_slots(world, 0);
}

/* ------------------------------------------------------------------------------------------
 * A pause
 */

static int64_t slot_of(int64_t key)
{
    return key & SEQUENCE_SLOT;
}

/* Submits until the node has a range of some slot, and returns a key of it. */
static int64_t take_a_slot(struct world *world)
{
    int64_t key = 0;

    for (int i = 0; i < 100 && slot_of(key | (key == 0 ? SEQUENCE_SLOT : 0)) == SEQUENCE_SLOT;
         i++) {
        key = submit_batch(&world->pair.a, "x", BATCH);
        world->submitted += BATCH;
    }
    CHECK_TRUE(slot_of(key) != SEQUENCE_SLOT);
    return key;
}

static bool is_past(struct fa_t *t, void *end)
{
    (void)t;
    return fa_id_key_at(fa_clock_now_us()) > *(int64_t *)end;
}

/* Another node gets the keys behind the range, and uses them, while the holder does nothing. */
static void test_id_ranges__a_holder_that_was_paused(void **state)
{
    struct world *world = *state;
    int64_t key, slot, end;

    open_world(world);
    key = take_a_slot(world);
    slot = slot_of(key);
    end = fa_psql_int(world->raw, "SELECT upto FROM id_slot WHERE slot = %lld", (long long)slot);
    CHECK_TRUE(end > key);
    fa_psql_exec(world->raw,
                 "UPDATE id_slot SET upto = upto + (3600000::bigint << 12) "
                 "WHERE slot = %lld",
                 (long long)slot);
    fa_t_wait_until(is_past, &world->pair.a, &end, "the range is over");
    for (int i = 0; i < 4; i++) {
        key = submit_batch(&world->pair.a, "x", BATCH);
        world->submitted += BATCH;
    }
    CHECK_INT(fa_psql_int(world->raw,
                          "SELECT count(*) FROM task WHERE id & 63 = %lld AND "
                          "id >= %lld",
                          (long long)slot, (long long)end),
              0);
    CHECK_TRUE(slot_of(key) != slot);
    check_count(world);
}

/* ------------------------------------------------------------------------------------------
 * Nodes that don't know of ranges
 */

/* A key that is there already is never overwritten, and the submit is not refused. */
static void test_id_ranges__a_conflict_is_retried(void **state)
{
    struct world *world = *state;

    open_world(world);
    /* As if some earlier program had made every key of every slot. */
    fa_psql_exec(world->raw,
                 "CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                 "IF NEW.id & 63 <> 63 THEN RAISE unique_violation; END IF; RETURN NEW; END $$;"
                 "CREATE TRIGGER conflict BEFORE INSERT ON task FOR EACH ROW "
                 "EXECUTE FUNCTION conflict()");
    for (int i = 0; i < 20; i++) {
        submit_batch(&world->pair.a, "x", BATCH);
        world->submitted += BATCH;
    }
    CHECK_TRUE(fa_psql_int(world->raw, "SELECT last_value FROM node_slot") >= 1); /* it was tried */
    check_count(world);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_id_ranges__##name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nodes_come_and_go),
        TEST(more_writers_than_slots),
        TEST(a_holder_that_was_paused),
        TEST(a_conflict_is_retried),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("id_ranges", tests, NULL, NULL);
}
