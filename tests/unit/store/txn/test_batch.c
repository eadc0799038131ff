/*
 * test_batch.c - group commit: who leads, who rides along, who is woken.
 *
 * The jobs here only count. Their fields are plain: a second leader at the same time would be a
 * data race, which the TSan build sees (B2).
 */
#include "support/asleep.h"

#include "base/bytes.h"
#include "base/random.h"
#include "store/txn/batch.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define THREADS_MAX 32
#define ORDER_MAX 64
#define NO_LIMIT 1000000
#define QUEUE_MAX 1000

struct world {
    struct fa_batch *batch;
    size_t weight_max;
    bool asks_more;
    atomic_bool has_gate;  /* the next transaction waits before it asks for more */
    atomic_bool is_inside; /* a transaction has come to the gate */
    atomic_bool gate_open;

    atomic_int leaders;
    /* The leader's. */
    size_t transactions, jobs;
    size_t next_number[THREADS_MAX];
    size_t order[ORDER_MAX]; /* the threads in the order they were run */
    size_t sizes[ORDER_MAX]; /* jobs of each transaction */
    pthread_t led_by[ORDER_MAX];
};

struct counted_job {
    struct fa_batch_job job; /* first member */
    size_t thread, number;
    int runs;
    bool is_committed;
};

static void run_list(struct world *world, struct fa_batch_job *jobs, size_t *count, size_t *weight)
{
    for (struct fa_batch_job *at = jobs; at != NULL; at = at->next) {
        struct counted_job *job = (struct counted_job *)at;

        CHECK_INT(job->number, world->next_number[job->thread]);
        world->next_number[job->thread]++;
        job->runs++;
        if (world->jobs < ORDER_MAX)
            world->order[world->jobs] = job->thread;
        world->jobs++;
        *count += 1;
        *weight += at->weight;
    }
}

static void run(void *ctx, struct fa_batch_job *jobs)
{
    struct world *world = ctx;
    size_t count = 0, weight = 0;
    struct fa_batch_job *more;

    CHECK_INT(atomic_fetch_add(&world->leaders, 1), 0);
    run_list(world, jobs, &count, &weight);
    if (atomic_exchange(&world->has_gate, false)) {
        atomic_store(&world->is_inside, true);
        fa_t_wait_flag(&world->gate_open);
    }
    while (world->asks_more && (more = fa_batch_more(world->batch)) != NULL)
        run_list(world, more, &count, &weight);
    CHECK(count == 1 || weight <= world->weight_max, "%zu jobs of weight %zu", count, weight);
    for (struct fa_batch_job *at = jobs; at != NULL; at = at->next) {
        ((struct counted_job *)at)->is_committed = true;
        count--;
    }
    CHECK_INT(count, 0); /* those that came later are linked behind the first ones */
    if (world->transactions < ORDER_MAX) {
        world->sizes[world->transactions] = world->jobs;
        world->led_by[world->transactions] = pthread_self();
    }
    world->transactions++;
    CHECK_INT(atomic_fetch_sub(&world->leaders, 1), 1);
}

static void set_up_world(struct world *world, size_t weight_max)
{
    *world = (struct world){.weight_max = weight_max, .asks_more = true};
    world->batch = fa_batch_create(run, world, weight_max, QUEUE_MAX);
    assert_non_null(world->batch);
}

static void tear_down_world(struct world *world)
{
    fa_batch_close(world->batch);
    fa_batch_destroy(world->batch);
}

static bool run_job(struct world *world, size_t thread, size_t number, size_t weight)
{
    struct counted_job job = {.job.weight = weight, .thread = thread, .number = number};
    bool was_run = fa_batch_run(world->batch, &job.job);

    CHECK_INT(job.runs, was_run ? 1 : 0);
    CHECK_INT(job.is_committed, was_run); /* B1 */
    return was_run;
}

/* A thread that hands in one job. */
struct caller {
    struct world *world;
    size_t thread, weight;
    pthread_t handle;
    atomic_int tid;
    bool was_run;
};

static void *call(void *arg)
{
    struct caller *caller = arg;

    fa_t_publish(&caller->tid);
    caller->was_run = run_job(caller->world, caller->thread, 0, caller->weight);
    return NULL;
}

static void start_caller(struct caller *caller, struct world *world, size_t thread, size_t weight)
{
    caller->world = world;
    caller->thread = thread;
    caller->weight = weight;
    CHECK_INT(pthread_create(&caller->handle, NULL, call, caller), 0);
}

/* A leader that stands at the gate, and callers that queued up behind it one after the other. */
static void line_up(struct world *world, struct caller *callers, const size_t *weights,
                    size_t count)
{
    atomic_store(&world->has_gate, true);
    start_caller(&callers[0], world, 0, weights[0]);
    fa_t_wait_flag(&world->is_inside);
    for (size_t i = 1; i < count; i++) {
        start_caller(&callers[i], world, i, weights[i]);
        fa_t_wait_asleep(&callers[i].tid);
    }
}

static void join_callers(struct caller *callers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        pthread_join(callers[i].handle, NULL);
        CHECK_TRUE(callers[i].was_run);
    }
}

static const size_t light[THREADS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                          1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* ------------------------------------------------------------------------------------------
 * One caller
 */

static void test_batch__a_lone_caller_leads_itself(void **state)
{
    struct world world;

    set_up_world(&world, NO_LIMIT);
    for (size_t i = 0; i < 20; i++) {
        CHECK_TRUE(run_job(&world, 0, i, 1));
        CHECK_INT(world.transactions, i + 1);
        CHECK_TRUE(pthread_equal(world.led_by[i], pthread_self()));
    }
    tear_down_world(&world);
}

static void test_batch__a_job_used_again_is_run_again(void **state)
{
    struct world world;
    struct counted_job job = {.job.weight = 1};

    set_up_world(&world, NO_LIMIT);
    for (int i = 1; i <= 3; i++) {
        CHECK_TRUE(fa_batch_run(world.batch, &job.job));
        CHECK_INT(job.runs, i);
        job.number++;
    }
    tear_down_world(&world);
}

/* A caller that takes its job back when nobody has begun it after a moment. */
struct patient {
    struct world *world;
    struct counted_job job;
    pthread_t handle;
    atomic_int tid;
    bool was_run, has_timed_out;
};

static void *wait_a_moment(void *arg)
{
    struct patient *patient = arg;

    fa_t_publish(&patient->tid);
    patient->was_run = fa_batch_run_within(patient->world->batch, &patient->job.job, 100000,
                                           &patient->has_timed_out);
    return NULL;
}

/* First, in the middle and last of those that wait; the others are run in their order. */
static void test_batch__a_job_is_taken_back(void **state)
{
    for (size_t place = 1; place <= 3; place++) {
        struct patient patient = {.job = {.job.weight = 1, .thread = 9}};
        struct caller callers[3] = {0};
        struct world world;

        set_up_world(&world, NO_LIMIT);
        patient.world = &world;
        line_up(&world, callers, light, place);
        CHECK_INT(pthread_create(&patient.handle, NULL, wait_a_moment, &patient), 0);
        fa_t_wait_asleep(&patient.tid);
        for (size_t i = place; i < 3; i++) {
            start_caller(&callers[i], &world, i, 1);
            fa_t_wait_asleep(&callers[i].tid);
        }
        pthread_join(patient.handle, NULL);
        CHECK_TRUE(patient.has_timed_out && !patient.was_run);
        atomic_store(&world.gate_open, true);
        join_callers(callers, 3);
        CHECK_INT(patient.job.runs, 0);
        CHECK_INT(world.jobs, 3);
        for (size_t i = 0; i < 3; i++)
            CHECK_INT(world.order[i], i);
        tear_down_world(&world);
    }
}

/* One that is being run is waited for, however long it takes. */
static void test_batch__a_job_under_way_stays(void **state)
{
    struct counted_job job = {.job.weight = 1};
    struct world world;
    bool has_timed_out = true;

    set_up_world(&world, NO_LIMIT);
    CHECK_TRUE(fa_batch_run_within(world.batch, &job.job, 1, &has_timed_out));
    CHECK_TRUE(!has_timed_out);
    CHECK_INT(job.runs, 1);
    tear_down_world(&world);
}

static void test_batch__nothing_happens_without_jobs(void **state)
{
    struct world world;

    set_up_world(&world, NO_LIMIT);
    tear_down_world(&world);
    CHECK_INT(world.transactions, 0);
    fa_batch_destroy(NULL);
}

/* ------------------------------------------------------------------------------------------
 * Riding along
 */

static void test_batch__what_comes_meanwhile_rides_along(void **state)
{
    struct caller callers[9] = {0};
    struct world world;

    set_up_world(&world, NO_LIMIT);
    line_up(&world, callers, light, 9);
    atomic_store(&world.gate_open, true);
    join_callers(callers, 9);
    CHECK_INT(world.transactions, 1);
    CHECK_INT(world.jobs, 9);
    for (size_t i = 0; i < 9; i++)
        CHECK_INT(world.order[i], i); /* B2: the order of arrival */
    tear_down_world(&world);
}

/* A leader that asks for nothing: the writer thread runs the others, and the first of their callers
 * wakes the rest. */
static void test_batch__the_writer_runs_the_rest_in_order(void **state)
{
    struct caller callers[9] = {0};
    struct world world;

    set_up_world(&world, NO_LIMIT);
    world.asks_more = false;
    line_up(&world, callers, light, 9);
    atomic_store(&world.gate_open, true);
    join_callers(callers, 9);
    CHECK_INT(world.transactions, 2);
    CHECK_INT(world.sizes[0], 1);
    CHECK_INT(world.sizes[1], 9);
    CHECK_TRUE(pthread_equal(world.led_by[0], callers[0].handle));
    for (size_t i = 0; i < 9; i++) {
        CHECK_INT(world.order[i], i);
        CHECK_TRUE(!pthread_equal(world.led_by[1], callers[i].handle));
    }
    tear_down_world(&world);
}

/* The leader doesn't wait for long when a crowd doesn't come back. */
static void test_batch__a_lone_caller_after_a_crowd_is_served(void **state)
{
    struct caller callers[20] = {0};
    struct world world;

    set_up_world(&world, NO_LIMIT);
    line_up(&world, callers, light, 20);
    atomic_store(&world.gate_open, true);
    join_callers(callers, 20);
    CHECK_INT(world.transactions, 1);
    CHECK_TRUE(run_job(&world, 31, 0, 1));
    CHECK_TRUE(run_job(&world, 31, 1, 1));
    CHECK_INT(world.transactions, 3);
    tear_down_world(&world);
}

static void test_batch__weight_is_limited(void **state)
{
    static const struct {
        const char *name;
        size_t weight_max, count;
        size_t weights[6];
        size_t transactions;
        size_t sizes[6]; /* how many were run after each transaction */
    } cases[] = {
        {"all fit", 4, 4, {1, 1, 1, 1}, 1, {4}},
        {"one too many", 3, 4, {1, 1, 1, 1}, 2, {3, 4}},
        {"the last fills it up", 6, 3, {1, 2, 3}, 1, {3}},
        {"a heavy one runs alone", 3, 3, {1, 9, 1}, 3, {1, 2, 3}},
        {"what doesn't fit is not overtaken", 3, 4, {1, 3, 1, 1}, 3, {1, 2, 4}},
        {"jobs of no weight always fit", 1, 4, {1, 0, 0, 0}, 1, {4}},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct caller callers[6] = {0};
        struct world world;

        set_up_world(&world, cases[i].weight_max);
        line_up(&world, callers, cases[i].weights, cases[i].count);
        atomic_store(&world.gate_open, true);
        join_callers(callers, cases[i].count);
        CHECK(world.transactions == cases[i].transactions, "%s: %zu transactions", cases[i].name,
              world.transactions);
        for (size_t k = 0; k < cases[i].transactions; k++)
            CHECK(world.sizes[k] == cases[i].sizes[k], "%s: %zu jobs after transaction %zu",
                  cases[i].name, world.sizes[k], k);
        for (size_t k = 0; k < cases[i].count; k++)
            CHECK(world.order[k] == k, "%s: job %zu is out of order", cases[i].name, k);
        tear_down_world(&world);
    }
}

/* ------------------------------------------------------------------------------------------
 * Many callers
 */

struct storm {
    struct world *world;
    size_t thread, rounds;
    pthread_t handle;
};

static void *storm(void *arg)
{
    struct storm *mine = arg;
    struct fa_random random;

    fa_random_seed(&random, 7 + mine->thread);
    for (size_t i = 0; i < mine->rounds; i++) {
        size_t weight = mine->world->weight_max == NO_LIMIT ? 1 : fa_random_below(&random, 6);

        CHECK_TRUE(run_job(mine->world, mine->thread, i, weight));
    }
    return NULL;
}

static void run_storm(size_t weight_max, bool asks_more)
{
    enum { THREADS = 16, ROUNDS = 300 };
    struct storm storms[THREADS];
    struct world world;

    set_up_world(&world, weight_max);
    world.asks_more = asks_more;
    for (size_t i = 0; i < THREADS; i++) {
        storms[i] = (struct storm){.world = &world, .thread = i, .rounds = ROUNDS};
        CHECK_INT(pthread_create(&storms[i].handle, NULL, storm, &storms[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(storms[i].handle, NULL);
    CHECK_INT(world.jobs, THREADS * ROUNDS);
    CHECK_TRUE(world.transactions <= THREADS * ROUNDS);
    tear_down_world(&world);
}

static void test_batch__every_job_runs_once(void **state)
{
    run_storm(NO_LIMIT, true);
}

static void test_batch__every_job_runs_once_when_none_ride_along(void **state)
{
    run_storm(NO_LIMIT, false);
}

static void test_batch__every_job_runs_once_within_the_weight(void **state)
{
    run_storm(4, true); /* some jobs are heavier than a whole transaction may be */
}

/* ------------------------------------------------------------------------------------------
 * Closing
 */

static void test_batch__a_closed_one_refuses(void **state)
{
    struct world world;

    set_up_world(&world, NO_LIMIT);
    CHECK_TRUE(run_job(&world, 0, 0, 1));
    fa_batch_close(world.batch);
    CHECK_TRUE(!run_job(&world, 0, 1, 1));
    fa_batch_close(world.batch); /* again: nothing to wait for */
    CHECK_INT(world.transactions, 1);
    tear_down_world(&world);
}

struct closer {
    struct world *world;
    atomic_int tid;
    atomic_bool is_done;
};

static void *close_it(void *arg)
{
    struct closer *closer = arg;

    fa_t_publish(&closer->tid);
    fa_batch_close(closer->world->batch);
    atomic_store(&closer->is_done, true);
    return NULL;
}

/* B3: what was taken in is run; what comes later is refused at once. */
static void test_batch__closing_waits_for_all_jobs(void **state)
{
    struct caller callers[5] = {0};
    struct closer closer = {0};
    struct world world;
    pthread_t handle;

    set_up_world(&world, NO_LIMIT);
    world.asks_more = false;
    line_up(&world, callers, light, 5);
    closer.world = &world;
    CHECK_INT(pthread_create(&handle, NULL, close_it, &closer), 0);
    fa_t_wait_asleep(&closer.tid);
    CHECK_TRUE(!run_job(&world, 5, 0, 1));
    CHECK_TRUE(!atomic_load(&closer.is_done));
    atomic_store(&world.gate_open, true);
    pthread_join(handle, NULL);
    CHECK_INT(world.jobs, 5); /* before the callers have even been woken */
    join_callers(callers, 5);
    tear_down_world(&world);
}

struct late {
    struct world *world;
    size_t thread;
    pthread_t handle;
    size_t accepted;
};

static void *call_until_refused(void *arg)
{
    struct late *mine = arg;

    while (run_job(mine->world, mine->thread, mine->accepted, 1))
        mine->accepted++;
    return NULL;
}

static void test_batch__closing_in_a_storm_loses_nothing(void **state)
{
    enum { THREADS = 8 };
    struct late callers[THREADS] = {0};
    struct world world;
    size_t accepted = 0;

    set_up_world(&world, NO_LIMIT);
    for (size_t i = 0; i < THREADS; i++) {
        callers[i] = (struct late){.world = &world, .thread = i};
        CHECK_INT(pthread_create(&callers[i].handle, NULL, call_until_refused, &callers[i]), 0);
    }
    for (size_t i = 0; i < 50; i++)
        CHECK_TRUE(run_job(&world, 31, i, 1));
    fa_batch_close(world.batch);
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(callers[i].handle, NULL);
        accepted += callers[i].accepted;
    }
    CHECK_INT(world.jobs, accepted + 50);
    tear_down_world(&world);
}

/* ------------------------------------------------------------------------------------------
 * Jobs without a thread
 */

struct posted_job {
    struct counted_job counted; /* first member */
    struct world *world;
    atomic_int done_count;
    atomic_bool is_done;
};

static void on_done(struct fa_batch_job *job)
{
    struct posted_job *posted = (struct posted_job *)job;

    CHECK_TRUE(posted->counted.is_committed); /* B1 */
    atomic_fetch_add(&posted->done_count, 1);
    atomic_store(&posted->is_done, true);
}

static enum faina_code post_job(struct world *world, struct posted_job *posted, size_t thread,
                                size_t number, size_t weight)
{
    *posted = (struct posted_job){
        .counted = {.job = {.weight = weight, .done = on_done}, .thread = thread, .number = number},
        .world = world};
    return fa_batch_post(world->batch, &posted->counted.job);
}

/* The writer thread runs posted jobs; closing runs what was accepted (B3), and refuses the rest. */
static void test_batch__posted_jobs_are_run_once(void **state)
{
    enum { COUNT = 200 };
    struct posted_job *jobs = fa_alloc_zero(COUNT, sizeof(*jobs));
    struct world world;

    set_up_world(&world, NO_LIMIT);
    for (size_t i = 0; i < COUNT; i++)
        CHECK_INT(post_job(&world, &jobs[i], 0, i, 1), FAINA_OK);
    fa_batch_close(world.batch);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK_INT(jobs[i].counted.runs, 1);
        CHECK_INT(atomic_load(&jobs[i].done_count), 1);
    }
    CHECK_INT(post_job(&world, &jobs[0], 0, COUNT, 1), FAINA_STORE_CLOSED);
    CHECK_INT(atomic_load(&jobs[0].done_count), 0);
    tear_down_world(&world);
    free(jobs);
}

/* Callers that wait and posted jobs are run in one transaction, in the order of their arrival. */
static void test_batch__posted_jobs_ride_with_callers(void **state)
{
    struct caller callers[5] = {0};
    struct posted_job posted[4];
    struct world world;

    set_up_world(&world, NO_LIMIT);
    line_up(&world, callers, light, 5);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(post_job(&world, &posted[i], 5 + i, 0, 1), FAINA_OK);
    atomic_store(&world.gate_open, true);
    join_callers(callers, 5);
    fa_batch_close(world.batch);
    CHECK_INT(world.transactions, 1);
    for (size_t i = 0; i < 9; i++)
        CHECK_INT(world.order[i], i);
    for (size_t i = 0; i < 4; i++)
        CHECK_INT(atomic_load(&posted[i].done_count), 1);
    tear_down_world(&world);
}

/* B4. A job that is larger than the bound is accepted by an empty queue. */
static void test_batch__the_queue_is_bounded(void **state)
{
    struct caller leader[1] = {0};
    struct posted_job jobs[3];
    struct world world;

    set_up_world(&world, NO_LIMIT);
    line_up(&world, leader, light, 1);
    CHECK_INT(post_job(&world, &jobs[0], 1, 0, QUEUE_MAX + 1), FAINA_OK);
    CHECK_INT(post_job(&world, &jobs[1], 2, 0, 1), FAINA_OVERLOADED);
    atomic_store(&world.gate_open, true);
    join_callers(leader, 1);
    fa_t_wait_flag(&jobs[0].is_done);
    CHECK_INT(post_job(&world, &jobs[1], 2, 0, QUEUE_MAX - 1), FAINA_OK);
    fa_batch_close(world.batch);
    CHECK_INT(atomic_load(&jobs[1].done_count), 1);
    tear_down_world(&world);
}

struct chain {
    struct posted_job posted; /* first member */
    size_t left;
};

static void post_next(struct fa_batch_job *job)
{
    struct chain *chain = (struct chain *)job;
    struct counted_job *counted = &chain->posted.counted;

    if (chain->left == 0) {
        on_done(job);
        return;
    }
    chain->left--;
    counted->number++;
    counted->runs = 0;
    counted->is_committed = false;
    CHECK_INT(fa_batch_post(chain->posted.world->batch, job), FAINA_OK);
}

/* `done` may post again, while callers come and go. */
static void test_batch__done_may_post_again(void **state)
{
    enum { CHAINS = 8, LENGTH = 100 };
    struct chain chains[CHAINS];
    struct world world;

    set_up_world(&world, NO_LIMIT);
    for (size_t i = 0; i < CHAINS; i++) {
        chains[i] = (struct chain){.left = LENGTH};
        chains[i].posted.counted =
            (struct counted_job){.job = {.weight = 1, .done = post_next}, .thread = i};
        chains[i].posted.world = &world;
        CHECK_INT(fa_batch_post(world.batch, &chains[i].posted.counted.job), FAINA_OK);
    }
    for (size_t i = 0; i < LENGTH; i++)
        CHECK_TRUE(run_job(&world, 31, i, 1));
    for (size_t i = 0; i < CHAINS; i++)
        fa_t_wait_flag(&chains[i].posted.is_done);
    CHECK_INT(world.jobs, CHAINS * (LENGTH + 1) + LENGTH);
    tear_down_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batch__a_lone_caller_leads_itself),
        cmocka_unit_test(test_batch__a_job_used_again_is_run_again),
        cmocka_unit_test(test_batch__a_job_is_taken_back),
        cmocka_unit_test(test_batch__a_job_under_way_stays),
        cmocka_unit_test(test_batch__nothing_happens_without_jobs),
        cmocka_unit_test(test_batch__what_comes_meanwhile_rides_along),
        cmocka_unit_test(test_batch__the_writer_runs_the_rest_in_order),
        cmocka_unit_test(test_batch__a_lone_caller_after_a_crowd_is_served),
        cmocka_unit_test(test_batch__weight_is_limited),
        cmocka_unit_test(test_batch__every_job_runs_once),
        cmocka_unit_test(test_batch__every_job_runs_once_when_none_ride_along),
        cmocka_unit_test(test_batch__every_job_runs_once_within_the_weight),
        cmocka_unit_test(test_batch__a_closed_one_refuses),
        cmocka_unit_test(test_batch__closing_waits_for_all_jobs),
        cmocka_unit_test(test_batch__closing_in_a_storm_loses_nothing),
        cmocka_unit_test(test_batch__posted_jobs_are_run_once),
        cmocka_unit_test(test_batch__posted_jobs_ride_with_callers),
        cmocka_unit_test(test_batch__the_queue_is_bounded),
        cmocka_unit_test(test_batch__done_may_post_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
