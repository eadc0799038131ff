/*
 * nodes.c - nodes of a fleet.
 */
#include "postgres/nodes.h"

#include "base/clock.h"
#include "base/random.h"
#include "support/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BOARD_FD 9 /* of every node */
#define SHARE 50   /* tasks that each FA_N_SHARE submits */

static const char mark[] = "--node";

static void rest_us(long us)
{
    nanosleep(&(const struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* ------------------------------------------------------------------------------------------
 * Work
 */

struct node {
    struct fa_board *board;
    int row;
};

static void note_hand_out(struct fa_board *board)
{
    int64_t now_us = fa_clock_mono_us();
    int64_t last_us = atomic_exchange(&board->last_us, now_us);
    long long gap_us = board->gap_us;

    while (last_us && now_us - last_us > gap_us &&
           !atomic_compare_exchange_weak(&board->gap_us, &gap_us, now_us - last_us))
        ;
    board->handed_out++;
}

/* How many hold one at this moment of the database's clock, and for how long all of them will. */
static int count_holders(struct fa_board *board, int64_t at_us, int64_t *overlap_us)
{
    int count = 0;

    *overlap_us = INT64_MAX;
    for (int row = 0; row < FA_BOARD_ROWS; row++)
        for (int i = 0; i < FA_BOARD_THREADS; i++) {
            int64_t left_us = board->until_us[row][i] - at_us;

            count += left_us > 0;
            if (left_us > 0 && left_us < *overlap_us)
                *overlap_us = left_us;
        }
    return count;
}

static int number_of(const struct faina_task *task)
{
    int number = (int)fa_t_int(task->input);

    CHECK(number >= 0 && number < FA_BOARD_TASKS, "task number %d", number);
    return number;
}

/* Claims a task, holds it for a moment, completes it. What was held by a killed process counts
 * until its lease ends: nobody else may have it before. */
static void hold_one(struct fa_t *mine, struct node *node, size_t index, struct fa_random *random)
{
    struct fa_board *board = node->board;
    const char *worker = fa_arena_printf(&mine->arena, "n%d-%zu", node->row, index);
    struct faina_claim claim = {.worker_id = worker, .lease_ms = FA_N_LEASE_MS, .wait_ms = 100};
    const struct faina_task *task;
    int64_t overlap_us;
    int number, holders;

    CHECK_OK(mine, fa_t_claim_wait(mine, &claim));
    if (mine->op.tasks->count == 0)
        return;
    task = &mine->op.tasks->items[0];
    number = number_of(task);
    board->until_us[node->row][index] = task->lease_expires_us;
    holders = count_holders(board, task->claimed_us, &overlap_us);
    if (holders > board->limit) {
        board->over++;
        if (overlap_us > board->overlap_us)
            board->overlap_us = overlap_us;
    }
    if (holders > board->most)
        board->most = holders;
    note_hand_out(board);
    rest_us((long)fa_random_below(random, 4000));
    board->until_us[node->row][index] = 0; /* before we say so */
    if (fa_t_complete(mine, task->id, BY(worker, .fence = task->fence), NULL) == FAINA_OK) {
        board->done[number]++;
        board->done_count++;
    }
}

static void hold_until_over(struct fa_t *mine, size_t index, void *arg)
{
    struct node *node = arg;
    struct fa_random random;

    fa_random_seed(&random, (uint64_t)node->row * 100 + index);
    while (!node->board->is_over) {
        hold_one(mine, node, index, &random);
        fa_t_forget(mine);
    }
}

static void share(struct fa_t *t, struct node *node)
{
    struct fa_board *board = node->board;
    const char *worker = "";
    char name[32];

    fa_n_submit(t, "shared", NULL, node->row * SHARE, SHARE);
    snprintf(name, sizeof name, "n%d", node->row);
    worker = name;
    while (board->done_count < board->tasks) {
        struct faina_claim claim = {.worker_id = worker, .limit = 7, .wait_ms = 200};
        const struct faina_tasks *tasks;

        CHECK_OK(t, fa_t_claim_wait(t, &claim));
        tasks = t->op.tasks;
        for (size_t i = 0; i < tasks->count; i++) {
            board->done[number_of(&tasks->items[i])]++;
            CHECK_OK(t, fa_t_complete(t, tasks->items[i].id, BY(worker), NULL));
            board->done_count++;
        }
        fa_t_forget(t);
    }
}

static void sleep_over_it(struct fa_t *t, struct fa_board *board)
{
    struct faina_claim claim = {
        .worker_id = "sleeper", .lease_ms = FA_N_LEASE_MS, .wait_ms = FA_T_DEADLINE_MS};
    const struct faina_task *task;

    CHECK_OK(t, fa_t_claim_wait(t, &claim));
    CHECK_INT(t->op.tasks->count, 1);
    task = &t->op.tasks->items[0];
    board->stage = 1;
    while (!board->go)
        rest_us(1000);
    board->code = (int)fa_t_complete(t, task->id, BY("sleeper", .fence = task->fence), "\"late\"");
    board->stage = 2;
}

/* ------------------------------------------------------------------------------------------
 * In the node
 */

bool fa_n_is_node(int argc, char **argv)
{
    return argc == 5 && strcmp(argv[1], mark) == 0;
}

static struct fa_board *map_board(int fd)
{
    void *board = mmap(NULL, sizeof(struct fa_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    CHECK(board != MAP_FAILED, "no board: %s", strerror(errno));
    return board;
}

int fa_n_main(char **argv)
{
    enum fa_n_role role = (enum fa_n_role)fa_t_int(argv[2]);
    struct node node = {.row = (int)fa_t_int(argv[4])};
    struct fa_t t = {0};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    node.board = map_board(BOARD_FD);
    snprintf(t.url, sizeof t.url, "%s", argv[3]);
    while (role == FA_N_SHARE && !node.board->go)
        rest_us(100);
    fa_t_open(&t);
    node.board->ready++;
    if (role == FA_N_LIMITED)
        fa_t_crew_join(fa_t_crew_start(&t, FA_BOARD_THREADS, hold_until_over, &node));
    if (role == FA_N_SHARE)
        share(&t, &node);
    if (role == FA_N_SLEEPER)
        sleep_over_it(&t, node.board);
    while (!node.board->is_over)
        rest_us(1000);
    fa_t_close(&t);
    fa_arena_finish(&t.arena);
    return 0;
}

/* ------------------------------------------------------------------------------------------
 * In the test
 */

static struct fa_board *create_board(void)
{
    struct fa_board *board;
    int fd = memfd_create("board", 0);

    CHECK(fd >= 0, "no shared memory: %s", strerror(errno));
    CHECK(ftruncate(fd, sizeof *board) == 0, "no shared memory: %s", strerror(errno));
    board = map_board(fd);
    if (fd != BOARD_FD) {
        CHECK(dup2(fd, BOARD_FD) == BOARD_FD, "no descriptor: %s", strerror(errno));
        close(fd);
    }
    return board;
}

static void destroy_board(struct fa_board *board)
{
    munmap(board, sizeof *board);
    close(BOARD_FD);
}

void fa_n_start(struct fa_n *node, enum fa_n_role role, const char *url, int row)
{
    char texts[2][16];

    CHECK(row < FA_BOARD_ROWS, "too many nodes");
    snprintf(texts[0], sizeof texts[0], "%d", (int)role);
    snprintf(texts[1], sizeof texts[1], "%d", row);
    node->row = row;
    node->pid = vfork();
    CHECK(node->pid >= 0, "no process: %s", strerror(errno));
    if (node->pid == 0) {
        execl("/proc/self/exe", "node", mark, texts[0], url, texts[1], (char *)NULL);
        _exit(127);
    }
}

static void reap(struct fa_n *node, int *status)
{
    while (waitpid(node->pid, status, 0) < 0 && errno == EINTR)
        ;
    node->pid = 0;
}

void fa_n_kill(struct fa_n *node)
{
    int status = 0;

    kill(node->pid, SIGKILL);
    reap(node, &status);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
          "a node had ended before it was killed: status %x", (unsigned)status);
}

void fa_n_end(struct fa_n *node)
{
    int status = 0;

    reap(node, &status);
    CHECK(status == 0, "a node ended badly: status %x", (unsigned)status);
}

void fa_n_signal(struct fa_n *node, int number)
{
    kill(node->pid, number);
}

void fa_n_await(atomic_int *value, int least, const char *what)
{
    int64_t deadline_us = fa_clock_mono_us() + 3LL * FA_T_DEADLINE_MS * 1000;

    while (*value < least) {
        CHECK(fa_clock_mono_us() < deadline_us, "waited in vain for %s: %d of %d", what, *value,
              least);
        rest_us(1000);
    }
}

void fa_n_submit(struct fa_t *t, const char *type, const char *resource, int first, int count)
{
    struct faina_submit *submits = fa_arena_zero(&t->arena, (size_t)count, sizeof *submits);
    struct fa_op *ops = fa_arena_zero(&t->arena, (size_t)count, sizeof *ops);
    const char **resources = fa_arena_take(&t->arena, sizeof *resources);

    *resources = resource;
    for (int i = 0; i < count; i++) {
        submits[i] = (struct faina_submit){
            .type = type,
            .input = fa_arena_printf(&t->arena, "%d", first + i),
            .max_attempts = 1000,
            .resources = resources,
            .resource_count = resource != NULL,
        };
        ops[i] = (struct fa_op){.kind = FA_OP_SUBMIT, .submit = &submits[i]};
    }
    fa_t_run_all(t, ops, (size_t)count);
    for (int i = 0; i < count; i++)
        CHECK(ops[i].code == FAINA_OK, "submit: %s", ops[i].error.message);
}

/* ------------------------------------------------------------------------------------------
 * The world of a test
 */

int fa_n_set_up(void **state)
{
    struct fa_n_world *world = fa_alloc_zero(1, sizeof *world);

    *state = world;
    fa_t_init(&world->t);
    if (fa_psql_url())
        fa_t_set_url(&world->t, FA_T_POSTGRES);
    world->board = create_board();
    return 0;
}

int fa_n_tear_down(void **state)
{
    struct fa_n_world *world = *state;

    world->board->is_over = true;
    fa_psql_close(world->raw);
    fa_t_finish(&world->t);
    destroy_board(world->board);
    free(world);
    return 0;
}

void fa_n_open(struct fa_n_world *world)
{
    fa_t_open(&world->t);
    world->raw = fa_psql_connect(world->t.url);
}
