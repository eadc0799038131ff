/*
 * test_claimers.c - 64 claimers on resources with limits, in a process that is killed again and
 * again.
 *
 * Each claimer notes in shared memory until when it holds a resource, by the lease that it was
 * given, and strikes that out before it completes the task. So whenever a task is handed out, all
 * notes that are still valid are tasks that certainly hold their resource: of the killed processes
 * too, until their leases end. There must never be more of them than the limit.
 *
 * The last resource has a rate. The times of its starts are noted, and every interval is checked.
 *
 * FA_CLAIMS sets how many claims in all.
 */
#include "faults/inspect.h"
#include "support/crew.h"
#include "support/ops.h"

#include "base/clock.h"
#include "base/random.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { CLAIMERS = 64, TAKEN = 4, LIVES = 8, RESOURCES = 5, RATED = 4, STARTS_MAX = 200000 };

#define CLAIMS_DEFAULT 10000
#define CLAIMS_PER_FILE 100000
#define BACKLOG 2000
#define LEASE_MS 400
#define BOARD_FD 9

static const char mark[] = "--claimers";
static const char *const names[RESOURCES] = {"one", "two", "eight", "sixteen", "rate"};
static const int limits[RESOURCES] = {1, 2, 8, 16, 1000000};
static const struct faina_rate rate = {1000, 1000, 20};

struct hold {
    atomic_llong until_us; /* by the system's clock, as leases are; 0: none */
    atomic_int resource;
};

struct board {
    atomic_bool is_over;
    atomic_long claims, completed, submitted, over;
    atomic_int most[RESOURCES];
    struct hold holds[LIVES][CLAIMERS][TAKEN];
    atomic_long start_count; /* of tasks of the resource with a rate */
    atomic_llong starts[STARTS_MAX];
};

struct worker {
    struct board *board;
    int life;
};

static void rest_us(int64_t us)
{
    nanosleep(&(const struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* ------------------------------------------------------------------------------------------
 * In the process that is killed
 */

static int count_holders(struct board *board, int resource, int64_t at_us)
{
    int count = 0;

    for (int life = 0; life < LIVES; life++)
        for (int i = 0; i < CLAIMERS; i++)
            for (int k = 0; k < TAKEN; k++) {
                struct hold *hold = &board->holds[life][i][k];

                count += hold->resource == resource && hold->until_us > at_us;
            }
    return count;
}

static void note_claim(struct board *board, struct hold *hold, const struct faina_task *task)
{
    int resource = (int)fa_t_int(task->input), holders, most;

    if (resource == RATED)
        board->starts[board->start_count++ % STARTS_MAX] = task->claimed_us;
    hold->resource = resource;
    hold->until_us = task->lease_expires_us;
    holders = count_holders(board, resource, task->claimed_us);
    board->over += holders > limits[resource];
    most = board->most[resource];
    while (holders > most && !atomic_compare_exchange_weak(&board->most[resource], &most, holders))
        ;
    board->claims++;
}

static void claim_some(struct fa_t *mine, struct worker *worker, size_t index)
{
    struct hold *holds = worker->board->holds[worker->life % LIVES][index];
    const char *name = fa_arena_printf(&mine->arena, "w%d-%zu", worker->life, index);
    struct faina_claim claim = {
        .worker_id = name, .limit = TAKEN, .lease_ms = LEASE_MS, .wait_ms = 20};
    struct fa_op ops[TAKEN] = {0};
    const struct faina_tasks *tasks;

    CHECK_OK(mine, fa_t_claim_wait(mine, &claim));
    tasks = mine->op.tasks;
    for (size_t i = 0; i < tasks->count; i++) {
        const struct faina_task *task = &tasks->items[i];

        note_claim(worker->board, &holds[i], task);
        ops[i] = (struct fa_op){
            .kind = FA_OP_COMPLETE, .id = task->id, .by = BY(name, .fence = task->fence)};
    }
    for (size_t i = 0; i < tasks->count; i++)
        holds[i].until_us = 0; /* before the engine is asked */
    if (tasks->count > 0)
        fa_t_run_all(mine, ops, tasks->count);
    for (size_t i = 0; i < tasks->count; i++)
        worker->board->completed += ops[i].code == FAINA_OK;
}

static void claim_until_over(struct fa_t *mine, size_t index, void *arg)
{
    struct worker *worker = arg;

    while (!worker->board->is_over) {
        claim_some(mine, worker, index);
        fa_t_forget(mine);
    }
}

/* Keeps enough tasks waiting. */
static void feed(struct fa_t *t, struct board *board)
{
    enum { MANY = 200 };
    struct faina_submit submits[MANY];
    struct fa_op ops[MANY];

    if (board->submitted - board->completed > BACKLOG) {
        rest_us(1000);
        return;
    }
    for (int i = 0; i < MANY; i++) {
        submits[i] = (struct faina_submit){.type = "claimed",
                                           .input = fa_arena_printf(&t->arena, "%d", i % RESOURCES),
                                           .max_attempts = 1000,
                                           .resources = (const char *const *)&names[i % RESOURCES],
                                           .resource_count = 1};
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    }
    fa_t_run_all(t, ops, MANY);
    board->submitted += MANY;
    fa_t_forget(t);
}

static struct board *map_board(int fd)
{
    void *board = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    CHECK(board != MAP_FAILED, "no shared memory: %s", strerror(errno));
    return board;
}

static int work(char **argv)
{
    static const struct faina_rate no_rate = {0};
    struct worker worker = {.life = (int)fa_t_int(argv[3])};
    struct fa_t_crew *crew;
    struct fa_t t = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    worker.board = map_board(BOARD_FD);
    snprintf(t.url, sizeof t.url, "%s", argv[2]);
    fa_t_open(&t);
    for (int i = 0; i < RESOURCES; i++)
        CHECK_OK(&t,
                 fa_t_run(&t, &(struct fa_op){.kind = FA_OP_RESOURCE_SET,
                                              .resource = {.name = names[i],
                                                           .max_concurrency = limits[i],
                                                           .rate = i == RATED ? rate : no_rate}}));
    crew = fa_t_crew_start(&t, CLAIMERS, claim_until_over, &worker);
    while (!worker.board->is_over)
        feed(&t, worker.board);
    fa_t_crew_join(crew);
    fa_t_close(&t);
    fa_arena_finish(&t.arena);
    return 0;
}

/* ------------------------------------------------------------------------------------------
 * In the test
 */

struct world {
    struct fa_t t;
    struct board *board;
    struct fa_random random;
    long kills, claims, most[RESOURCES];
    int life;
};

static pid_t start(struct world *world)
{
    char life[16];
    pid_t pid;

    snprintf(life, sizeof life, "%d", world->life++);
    pid = vfork();
    CHECK(pid >= 0, "no process: %s", strerror(errno));
    if (pid == 0) {
        execl("/proc/self/exe", "claimers", mark, world->t.url, life, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static int reap(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Kills the process now and then until there were enough claims; the last one ends by itself. */
static void run_file(struct world *world, long wanted)
{
    struct board *board = world->board;
    int status;
    pid_t pid;

    memset(board, 0, sizeof *board);
    for (pid = start(world); board->claims < wanted; pid = start(world)) {
        int64_t deadline_us = fa_clock_mono_us() + 3LL * FA_T_DEADLINE_MS * 1000;
        long before = board->claims, more = 1 + (long)fa_random_below(&world->random, 6000);

        while (board->claims < before + more && board->claims < wanted) {
            CHECK(fa_clock_mono_us() < deadline_us, "claimers don't get on: %ld of %ld claims",
                  board->claims - before, more);
            rest_us(1000);
        }
        kill(pid, SIGKILL);
        status = reap(pid);
        CHECK(WIFSIGNALED(status), "the claimers had ended before: status %x", (unsigned)status);
        world->kills++;
    }
    board->is_over = true;
    status = reap(pid);
    CHECK(status == 0, "the claimers ended badly: status %x", (unsigned)status);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* For all i <= k: k - i + 1 <= burst + r * (t[k] - t[i]). So k + 1 - r * t[k] exceeds the least
 * i - r * t[i] so far by no more than the burst. Times differ from the bucket's by a few us. */
static void check_starts(const struct board *board)
{
    long count = board->start_count < STARTS_MAX ? board->start_count : STARTS_MAX;
    int64_t *times = fa_alloc_zero((size_t)count + 1, sizeof *times);
    double r = (double)rate.count / ((double)rate.per_ms * 1000), least = 1e18;

    for (long i = 0; i < count; i++)
        times[i] = board->starts[i];
    qsort(times, (size_t)count, sizeof *times, by_time);
    for (long k = 0; k < count; k++) {
        double used = r * (double)(times[k] - times[0]);

        least = (double)k - used < least ? (double)k - used : least;
        CHECK((double)k + 1 - used - least <= (double)rate.burst + 20 * r,
              "start %ld of %ld came too early: %.3f in a burst of %lld", k, count,
              (double)k + 1 - used - least, (long long)rate.burst);
    }
    free(times);
}

static void check_file(struct world *world)
{
    struct board *board = world->board;
    int64_t completed;

    check_starts(board);

    CHECK(board->over == 0, "a limit was exceeded %ld times", board->over);
    fa_t_open(&world->t);
    CHECK_OK(&world->t, fa_t_stats(&world->t, NULL));
    completed = world->t.op.stats->by_status[FAINA_COMPLETED];
    CHECK(completed >= board->completed, "%ld completions were acknowledged, there are %lld",
          board->completed, (long long)completed);
    CHECK(completed <= board->claims, "%lld completions of %ld claims", (long long)completed,
          board->claims);
    fa_t_check_sound(&world->t);
    fa_t_close(&world->t);
    world->claims += board->claims;
    for (int i = 0; i < RESOURCES; i++)
        if (board->most[i] > world->most[i])
            world->most[i] = board->most[i];
}

static struct board *create_board(void)
{
    int fd = memfd_create("board", 0);

    CHECK(fd >= 0 && ftruncate(fd, sizeof(struct board)) == 0, "no shared memory");
    if (fd != BOARD_FD) {
        CHECK(dup2(fd, BOARD_FD) == BOARD_FD, "no descriptor: %s", strerror(errno));
        close(fd);
    }
    return map_board(BOARD_FD);
}

static void test_claimers__limits_under_kills(void **state)
{
    long wanted = (long)fa_t_env_int("FA_CLAIMS", CLAIMS_DEFAULT);
    struct world *world = fa_alloc_zero(1, sizeof *world);
    uint64_t seed = fa_t_seed();

    (void)state;
    fa_random_seed(&world->random, seed);
    print_message("FA_SEED=%llu\n", (unsigned long long)seed);
    world->board = create_board();
    while (world->claims < wanted) {
        long left = wanted - world->claims;

        fa_t_init(&world->t);
        snprintf(world->t.url, sizeof world->t.url, "sqlite:%.400s/claims.db", world->t.dir);
        run_file(world, left < CLAIMS_PER_FILE ? left : CLAIMS_PER_FILE);
        check_file(world);
        fa_t_finish(&world->t);
    }
    print_message("%ld claims, %ld kills; most holders: %ld, %ld, %ld, %ld\n", world->claims,
                  world->kills, world->most[0], world->most[1], world->most[2], world->most[3]);
    CHECK(wanted < CLAIMS_DEFAULT || (world->most[0] == 1 && world->most[1] == 2),
          "the limits were never reached");
    munmap(world->board, sizeof(struct board));
    close(BOARD_FD);
    free(world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claimers__limits_under_kills),
    };

    if (argc == 4 && strcmp(argv[1], mark) == 0)
        return work(argv);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("claimers", tests, NULL, NULL);
}
