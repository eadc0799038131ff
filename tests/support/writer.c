/*
 * writer.c - see writer.h.
 */
#include "support/writer.h"

#include "base/clock.h"
#include "base/random.h"
#include "support/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 4
#define GPU_LIMIT 3
#define LEASE_MS (24LL * 3600 * 1000)
#define LIFETIME_S 60 /* in case the test ends before it has killed the writer */
#define YEAR_MS (365LL * 24 * 3600 * 1000)
#define HEAVY_SIZE 60000

static const char mark[] = "--writer";

/* ------------------------------------------------------------------------------------------
 * In the writer
 */

struct work {
    int fd;
    uint64_t seed;
    bool is_patient;
    int step;
    atomic_int next; /* the number of the next task */
};

/* One task that a thread works on. */
struct life {
    struct fa_t *t;
    struct work *work;
    struct fa_random *random;
    const char *worker;
    int32_t number;
    bool uses_gpu;
    bool is_lost; /* its state is unknown, so it isn't used any more */
    char id[FAINA_ID_SIZE];
};

static void send_record(int fd, const struct fa_l_record *records, size_t count)
{
    size_t size = count * sizeof *records;

    if (write(fd, records, size) != (ssize_t)size)
        _exit(0); /* the test has ended */
}

static bool chance(struct life *life, int percent)
{
    return (int)fa_random_below(life->random, 100) < percent;
}

static struct fa_l_record record(const struct life *life, int32_t number, int status, int attempts)
{
    return (struct fa_l_record){
        .number = number,
        .parent = number == life->number ? -1 : life->number,
        .uses_gpu = number == life->number && life->uses_gpu,
        .state = {.status = (int8_t)status, .attempts = (int8_t)attempts, .output = -1},
    };
}

static void send_all(struct life *life, struct fa_l_record *records, size_t count, char kind)
{
    for (size_t i = 0; i < count; i++)
        records[i].kind = kind;
    send_record(life->work->fd, records, count);
}

static void rest(void)
{
    nanosleep(&(const struct timespec){.tv_nsec = 2000000}, NULL);
}

/* Sends the intent, runs the operation, and sends its result. The code `or_else` is allowed. */
static bool act(struct life *life, struct fa_l_record *records, size_t count,
                const struct fa_op *op, enum faina_code or_else)
{
    enum faina_code code;

    if (life->is_lost)
        return false;
    for (;;) {
        send_all(life, records, count, 'i');
        code = fa_t_run(life->t, op);
        if (code == or_else || !life->work->is_patient || !fa_l_is_away(code))
            break;
        life->is_lost = fa_l_is_unknown(&life->t->op.error);
        if (life->is_lost)
            return false;
        send_all(life, records, count, 'n');
        rest();
    }
    CHECK(code == FAINA_OK || code == or_else, "%s of n%d: %s (%s)", fa_op_name(op->kind),
          (int)records[0].number, faina_code_name(code), life->t->op.error.message);
    send_all(life, records, count, code == FAINA_OK ? 'a' : 'n');
    return code == FAINA_OK;
}

/* The ids of a task's two children. */
static void read_children(struct life *life, char ids[2][FAINA_ID_SIZE])
{
    while (fa_l_is_away(fa_t_children(life->t, life->id, 0, NULL)) && life->work->is_patient)
        rest();
    CHECK_OK(life->t, life->t->op.code);
    CHECK_INT(life->t->op.tasks->count, 2);
    for (size_t i = 0; i < 2; i++)
        memcpy(ids[i], life->t->op.tasks->items[i].id, FAINA_ID_SIZE);
}

static bool act_on_one(struct life *life, struct fa_l_state state, const struct fa_op *op,
                       enum faina_code or_else)
{
    struct fa_l_record one = record(life, life->number, state.status, state.attempts);

    one.state = state;
    return act(life, &one, 1, op, or_else);
}

#define STATE(s, a, o) ((struct fa_l_state){FAINA_##s, a, o})

static void submit(struct life *life)
{
    const char *gpu = "gpu";
    char key[32];
    struct faina_submit task = {
        .type = "kept",
        .idempotency_key = key,
        .input = "{\"some\":\"input of a length that a real one may have\"}",
        .resources = &gpu,
        .resource_count = life->uses_gpu,
        .retry = {.base_ms = YEAR_MS, .max_ms = YEAR_MS},
    };

    fa_l_key(life->number, key);
    if (!act_on_one(life, STATE(PENDING, 0, -1),
                    &(struct fa_op){.kind = FA_OP_SUBMIT, .submit = &task}, FAINA_OK))
        return;
    memcpy(life->id, life->t->op.task_id, sizeof life->id);
}

static bool claim(struct life *life)
{
    return act_on_one(
        life, STATE(CLAIMED, 1, -1),
        &(struct fa_op){
            .kind = FA_OP_CLAIM, .id = life->id, .by = BY(life->worker), .lease_ms = LEASE_MS},
        FAINA_OVERLOADED);
}

static void start(struct life *life)
{
    act_on_one(
        life, STATE(RUNNING, 1, -1),
        &(struct fa_op){
            .kind = FA_OP_START, .id = life->id, .by = BY(life->worker), .lease_ms = LEASE_MS},
        FAINA_OK);
}

static void complete(struct life *life, struct faina_by by)
{
    int value = (int)fa_random_below(life->random, 30000);
    const char *output = fa_arena_printf(&life->t->arena, "%d", value);

    act_on_one(life, STATE(COMPLETED, 1, (int16_t)value),
               &(struct fa_op){.kind = FA_OP_COMPLETE, .id = life->id, .by = by, .output = output},
               FAINA_OK);
}

static void fail(struct life *life, bool permanent)
{
    struct faina_failure failure = {.message = "it broke", .permanent = permanent};

    act_on_one(life, permanent ? STATE(FAILED, 1, -1) : STATE(PENDING, 1, -1),
               &(struct fa_op){
                   .kind = FA_OP_FAIL, .id = life->id, .by = BY(life->worker), .failure = &failure},
               FAINA_OK);
}

/* Completes child number `which` (1 or 2); with the last one the parent continues. */
static void finish_child(struct life *life, int which, const char *id, bool is_last)
{
    struct fa_l_record records[2] = {
        record(life, life->number + which, FAINA_RUNNING, 1),
        record(life, life->number, FAINA_PENDING, 1),
    };

    act(life, records, 1,
        &(struct fa_op){
            .kind = FA_OP_START, .id = id, .by = BY(life->worker), .lease_ms = LEASE_MS},
        FAINA_OK);
    records[0].state = STATE(COMPLETED, 1, -1);
    act(life, records, is_last ? 2 : 1,
        &(struct fa_op){.kind = FA_OP_COMPLETE, .id = id, .by = BY(life->worker)}, FAINA_OK);
}

static void block(struct life *life)
{
    char names[2][32];
    char ids[2][FAINA_ID_SIZE];
    struct faina_submit children[2];
    struct fa_l_record records[3] = {
        record(life, life->number, FAINA_BLOCKED, 1),
        record(life, life->number + 1, FAINA_PENDING, 0),
        record(life, life->number + 2, FAINA_PENDING, 0),
    };

    for (int i = 0; i < 2; i++) {
        fa_l_key(life->number + 1 + i, names[i]);
        children[i] = (struct faina_submit){.type = "child", .name = names[i]};
    }
    if (!act(life, records, 3,
             &(struct fa_op){.kind = FA_OP_BLOCK,
                             .id = life->id,
                             .by = BY(life->worker),
                             .block = {children, 2, false}},
             FAINA_OK))
        return;
    read_children(life, ids);
    if (chance(life, 10))
        return;
    finish_child(life, 1, ids[0], false);
    if (chance(life, 10))
        return;
    finish_child(life, 2, ids[1], true);
    if (claim(life)) {
        start(life);
        complete(life, BY(life->worker));
    }
}

static void end(struct life *life)
{
    int roll = (int)fa_random_below(life->random, 100);

    if (roll < 35) {
        complete(life, BY(life->worker));
    } else if (roll < 50) {
        fail(life, false);
    } else if (roll < 60) {
        fail(life, true);
    } else if (roll < 70) {
        act_on_one(life, STATE(CANCELLED, 1, -1),
                   &(struct fa_op){.kind = FA_OP_CANCEL, .id = life->id}, FAINA_OK);
    } else if (roll < 90) {
        block(life);
        return;
    } else {
        act_on_one(life, STATE(BACKGROUND, 1, -1),
                   &(struct fa_op){.kind = FA_OP_BACKGROUND,
                                   .id = life->id,
                                   .by = BY(life->worker),
                                   .background = {"away", YEAR_MS}},
                   FAINA_OK);
        if (chance(life, 60))
            complete(life, NOBODY);
        return;
    }
    if (roll >= 50 && chance(life, 30))
        act_on_one(life, (struct fa_l_state){FA_L_ABSENT, 0, -1},
                   &(struct fa_op){.kind = FA_OP_DELETE,
                                   .id = life->id,
                                   .removal = {.cancel = true, .purge = chance(life, 50)}},
                   FAINA_OK);
}

static void live(struct life *life)
{
    life->number = atomic_fetch_add(&life->work->next, life->work->step);
    life->uses_gpu = chance(life, 30);
    submit(life);
    if (chance(life, 10) || !claim(life) || chance(life, 5))
        return;
    if (chance(life, 10)) {
        act_on_one(life, STATE(PENDING, 0, -1),
                   &(struct fa_op){.kind = FA_OP_RELEASE, .id = life->id, .by = BY(life->worker)},
                   FAINA_OK);
        return;
    }
    start(life);
    end(life);
}

static void work_until_killed(struct fa_t *mine, size_t index, void *arg)
{
    struct work *work = arg;
    struct fa_random random;
    char worker[32];

    fa_random_seed(&random, work->seed + index);
    snprintf(worker, sizeof worker, "w%zu", index);
    for (;;) {
        struct life life = {.t = mine, .work = work, .random = &random, .worker = worker};

        live(&life);
        fa_t_forget(mine);
    }
}

static __attribute__((noreturn)) void open_and_close(struct fa_t *t, int fd)
{
    for (;;) {
        send_record(fd, &(struct fa_l_record){.kind = 'r'}, 1);
        fa_t_open(t);
        fa_t_close(t);
    }
}

/* ------------------------------------------------------------------------------------------
 * Large rows, rewritten: a log that grows fast, and a file that doesn't
 */

/* An earlier writer may have been killed between a submit and its start. */
void fa_w_make_heavy(struct fa_t *t, char ids[FA_W_HEAVY_TASKS][FAINA_ID_SIZE])
{
    for (int i = 0; i < FA_W_HEAVY_TASKS; i++) {
        const char *key = fa_arena_printf(&t->arena, "heavy %d", i);
        const char *id = fa_t_submit(t, .type = "heavy", .idempotency_key = key);
        bool existing = t->op.existing;

        memcpy(ids[i], id, FAINA_ID_SIZE);
        if (fa_t_start(t, ids[i], NOBODY) != FAINA_OK) /* without a worker, so no lease expires */
            CHECK(existing && t->op.code == FAINA_INVALID_TRANSITION, "%s", t->op.error.message);
    }
}

enum faina_code fa_w_rewrite(struct fa_t *t, char ids[FA_W_HEAVY_TASKS][FAINA_ID_SIZE],
                             int32_t round)
{
    char *pad = fa_arena_take(&t->arena, HEAVY_SIZE + 1);
    struct faina_report report;
    struct fa_op ops[FA_W_HEAVY_TASKS];

    memset(pad, 'a' + round % 26, HEAVY_SIZE); /* SQLite doesn't write pages that stay the same */
    pad[HEAVY_SIZE] = '\0';
    report = (struct faina_report){
        .metadata = fa_arena_printf(&t->arena, "{\"round\":%d,\"pad\":\"%s\"}", (int)round, pad)};
    for (int i = 0; i < FA_W_HEAVY_TASKS; i++)
        ops[i] = (struct fa_op){.kind = FA_OP_PROGRESS, .id = ids[i], .report = &report};
    fa_t_run_all(t, ops, FA_W_HEAVY_TASKS);
    for (int i = 0; i < FA_W_HEAVY_TASKS; i++)
        if (ops[i].code != FAINA_OK)
            return ops[i].code;
    return FAINA_OK;
}

static __attribute__((noreturn)) void rewrite_until_killed(struct fa_t *t, struct work *work)
{
    char ids[FA_W_HEAVY_TASKS][FAINA_ID_SIZE];

    fa_w_make_heavy(t, ids);
    for (;;) {
        struct fa_l_record record = {.number = work->next++, .kind = 'i'};

        send_record(work->fd, &record, 1);
        CHECK_INT(fa_w_rewrite(t, ids, record.number), FAINA_OK);
        record.kind = 'a';
        send_record(work->fd, &record, 1);
        fa_t_forget(t);
    }
}

bool fa_w_is_writer(int argc, char **argv)
{
    return argc == 9 && strcmp(argv[1], mark) == 0;
}

int fa_w_main(char **argv)
{
    enum fa_w_role role = (enum fa_w_role)fa_t_int(argv[2]);
    struct work work = {.fd = (int)fa_t_int(argv[4]),
                        .step = (int)fa_t_int(argv[6]),
                        .seed = (uint64_t)fa_t_int(argv[7]),
                        .is_patient = fa_t_int(argv[8]) != 0};
    struct faina_error err = {0};
    struct fa_t t = {0};

    alarm(LIFETIME_S);
    atomic_init(&work.next, (int)fa_t_int(argv[5]));
    snprintf(t.url, sizeof t.url, "%s", argv[3]);
    if (role == FA_W_OPEN)
        open_and_close(&t, work.fd);
    while (work.is_patient && fa_l_is_away(fa_t_try_open(&t, &err)))
        rest();
    if (t.svc == NULL)
        fa_t_open(&t);
    send_record(work.fd, &(struct fa_l_record){.kind = 'r'}, 1);
    if (role == FA_W_HOLD)
        return pause();
    if (role == FA_W_HEAVY)
        rewrite_until_killed(&t, &work);
    while (fa_t_resource_set(&t, "gpu", GPU_LIMIT) != FAINA_OK) {
        CHECK(work.is_patient && fa_l_is_away(t.op.code), "no gpu: %s", t.op.error.message);
        rest();
    }
    fa_t_crew_join(fa_t_crew_start(&t, THREADS, work_until_killed, &work));
    return 0;
}

/* ------------------------------------------------------------------------------------------
 * In the test
 */

void fa_w_start(struct fa_w *writer, const struct fa_w_plan *plan)
{
    char texts[6][32];
    int ends[2];

    CHECK(pipe2(ends, O_CLOEXEC) == 0, "no pipe: %s", strerror(errno));
    snprintf(texts[0], sizeof texts[0], "%d", (int)plan->role);
    snprintf(texts[1], sizeof texts[1], "%d", ends[1]);
    snprintf(texts[2], sizeof texts[2], "%d", (int)plan->first);
    snprintf(texts[3], sizeof texts[3], "%d", plan->step ? (int)plan->step : 3);
    snprintf(texts[4], sizeof texts[4], "%llu", (unsigned long long)plan->seed);
    snprintf(texts[5], sizeof texts[5], "%d", plan->is_patient);
    *writer = (struct fa_w){.fd = ends[0], .pid = vfork()};
    CHECK(writer->pid >= 0, "no process: %s", strerror(errno));
    if (writer->pid == 0) {
        fcntl(ends[1], F_SETFD, 0);
        execl("/proc/self/exe", "writer", mark, texts[0], plan->url, texts[1], texts[2], texts[3],
              texts[4], texts[5], (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
}

bool fa_w_read(struct fa_w *writer, int64_t timeout_us,
               void (*on_record)(void *ctx, const struct fa_l_record *record), void *ctx)
{
    struct pollfd poll_fd = {.fd = writer->fd, .events = POLLIN};
    struct timespec timeout = {timeout_us / 1000000, timeout_us % 1000000 * 1000};
    struct fa_l_record records[256];
    ssize_t got;
    size_t have;

    if (ppoll(&poll_fd, 1, &timeout, NULL) <= 0)
        return true;
    memcpy(records, &writer->rest, writer->rest_size);
    got = read(writer->fd, (char *)records + writer->rest_size, sizeof records - writer->rest_size);
    if (got <= 0)
        return false;
    have = writer->rest_size + (size_t)got;
    for (size_t i = 0; i < have / sizeof records[0]; i++)
        if (on_record)
            on_record(ctx, &records[i]);
    writer->rest_size = have % sizeof records[0];
    memcpy(&writer->rest, &records[have / sizeof records[0]], writer->rest_size);
    return true;
}

void fa_w_kill(struct fa_w *writer, void (*on_record)(void *ctx, const struct fa_l_record *record),
               void *ctx)
{
    int status = 0;

    kill(writer->pid, SIGKILL);
    waitpid(writer->pid, &status, 0);
    while (fa_w_read(writer, 0, on_record, ctx)) {
        /* The pipe's other end is closed: there is something to read, or it is the end. */
    }
    close(writer->fd);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
          "the writer was not killed by us: status %x", (unsigned)status);
    CHECK(writer->rest_size == 0, "half a record in the pipe");
}
