/*
 * test_power.c - the power goes at any moment: everything acknowledged is there afterwards, and the
 * file is sound.
 *
 * A life opens a store, works on it and closes it, on the disk of disk.h. Cuts come before any call
 * that changes a file: while the file is made, within and between transactions, while the log is
 * moved into the file. What each cut leaves is opened and compared with what was acknowledged at
 * that moment. Some lives begin with what a cut has left, so that recoveries are cut too.
 *
 * FA_POWER_CUTS sets how many cuts, FA_POWER_HEAVY how many while a long log is moved, FA_SEED
 * where the dice begin.
 */
#include "faults/disk.h"
#include "faults/inspect.h"
#include "support/moves.h"
#include "support/writer.h"

#include "json/json.h"
#include "base/random.h"

#include <pthread.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define CUTS_DEFAULT 200
#define HEAVY_DEFAULT 2
#define LIFE_OPS 40
#define GAP_MAX 24 /* calls from one cut to the next */
#define LEASE_MS (24LL * 3600 * 1000)
#define BIG_INPUT 30000
#define HEAVY_ROUNDS 58    /* then the log is nearly long enough to be moved */
#define HEAVY_GAP_MAX 5000 /* calls: a round makes some 25, a move thousands */
#define LIES "FA_POWER_LIES"

struct life {
    struct fa_t t;
    struct fa_l ledger;
    pthread_mutex_t mutex; /* the ledger's: a cut may come in another thread */
    struct fa_l at_cut;    /* the ledger at the moment of the cut */
    struct fa_random random;
    char path[FA_T_PATH_SIZE], crashed[FA_T_PATH_SIZE];
    char *big;
    int64_t cuts, wanted, lost;
    int in_doubt;
    bool has_crashed; /* `crashed` is what a cut has left, and `at_cut` is settled by it */
};

static void note(struct life *life, char kind, int32_t number, struct fa_l_state state)
{
    pthread_mutex_lock(&life->mutex);
    fa_l_note(&life->ledger,
              &(struct fa_l_record){.number = number, .parent = -1, .kind = kind, .state = state});
    pthread_mutex_unlock(&life->mutex);
}

static void on_cut(void *ctx)
{
    struct life *life = ctx;

    pthread_mutex_lock(&life->mutex);
    fa_l_clear(&life->at_cut);
    fa_l_copy(&life->at_cut, &life->ledger);
    pthread_mutex_unlock(&life->mutex);
}

static void arm(struct life *life)
{
    fa_disk_cut_at(1 + (long)fa_random_below(&life->random, GAP_MAX), on_cut, life);
}

/* Opens what the last cut has left, compares, and arms the next one. */
static void check_cut(struct life *life)
{
    struct fa_t copy = {0};
    char when[64];

    if (!fa_disk_has_cut())
        return;
    life->cuts++;
    life->lost += fa_disk_lost();
    for (int32_t i = 0; i < life->at_cut.count; i++)
        life->in_doubt += life->at_cut.entries[i].has_intent;
    fa_disk_write_crashed(life->crashed);
    snprintf(copy.url, sizeof copy.url, "sqlite:%.490s", life->crashed);
    fa_t_open(&copy);
    fa_l_check(&life->at_cut, &copy);
    fa_t_close(&copy);
    fa_arena_finish(&copy.arena);
    snprintf(when, sizeof when, "after cut %lld", (long long)life->cuts);
    fa_f_check_sound(life->crashed, when);
    life->has_crashed = true;
    arm(life);
}

/* ------------------------------------------------------------------------------------------
 * Work
 */

static void run_op(struct life *life, const struct fa_op *op, int32_t number,
                   struct fa_l_state after)
{
    note(life, 'i', number, after);
    CHECK_OK(&life->t, fa_t_run(&life->t, op));
    note(life, 'a', number, after);
}

static void submit(struct life *life, int32_t number)
{
    bool is_big = fa_random_below(&life->random, 10) == 0;
    char key[32];
    struct faina_submit task = {
        .type = "kept", .idempotency_key = key, .input = is_big ? life->big : "{\"a\":1}"};

    fa_l_key(number, key);
    run_op(life, &(struct fa_op){.kind = FA_OP_SUBMIT, .submit = &task}, number,
           (struct fa_l_state){FAINA_PENDING, 0, -1});
}

/* The next thing that may happen to a task. */
static void advance(struct life *life, int32_t number)
{
    struct fa_l_state state = life->ledger.entries[number].acked;
    uint32_t dice = (uint32_t)fa_random_below(&life->random, 8);
    char key[32], output[16];
    struct fa_op op = {.by = BY("w"), .lease_ms = LEASE_MS};

    if (state.status == FA_L_ABSENT)
        return;
    fa_l_key(number, key);
    CHECK_OK(&life->t, fa_t_get_by_key(&life->t, NULL, "kept", key));
    op.id = life->t.task->id;
    if (state.status >= FAINA_COMPLETED) {
        if (dice > 0)
            return;
        op = (struct fa_op){.kind = FA_OP_DELETE, .id = op.id, .removal = {.purge = true}};
        state = (struct fa_l_state){FA_L_ABSENT, 0, -1};
    } else if (dice == 0) {
        op = (struct fa_op){.kind = FA_OP_CANCEL, .id = op.id};
        state.status = FAINA_CANCELLED;
    } else if (state.status == FAINA_PENDING) {
        op.kind = FA_OP_START;
        state = (struct fa_l_state){FAINA_RUNNING, (int8_t)(state.attempts + 1), -1};
    } else {
        state.output = (int16_t)fa_random_below(&life->random, 10000);
        snprintf(output, sizeof output, "%d", state.output);
        op.kind = FA_OP_COMPLETE;
        op.output = output;
        state.status = FAINA_COMPLETED;
    }
    run_op(life, &op, number, state);
}

static void work(struct life *life)
{
    for (int i = 0; i < LIFE_OPS && life->cuts < life->wanted; i++) {
        int32_t count = life->ledger.count;

        if (count < 4 || fa_random_below(&life->random, 3) == 0)
            submit(life, count);
        else
            advance(life, (int32_t)fa_random_below(&life->random, (uint64_t)count));
        fa_t_forget(&life->t);
        check_cut(life);
    }
}

/* ------------------------------------------------------------------------------------------
 * Lives
 */

/* A new file, or, half of the time, the one that the last cut has left. */
static void begin(struct life *life, int number)
{
    fa_disk_leave();
    fa_l_clear(&life->ledger);
    if (life->has_crashed && fa_random_below(&life->random, 2))
        fa_l_copy(&life->ledger, &life->at_cut);
    else
        life->has_crashed = false;
    snprintf(life->path, sizeof life->path, "%.400s/power%d.db", life->t.dir, number);
    if (life->has_crashed)
        fa_f_copy_crashed(life->crashed, life->path);
    snprintf(life->t.url, sizeof life->t.url, "sqlite:%.490s", life->path);
    fa_disk_follow(life->path, fa_random_next(&life->random));
    arm(life);
    fa_t_open(&life->t);
    check_cut(life);
}

static void remove_files(const struct life *life)
{
    static const char *const parts[] = {"", "-wal", "-shm", "-journal", ".lock"};
    char name[FA_T_PATH_SIZE + 16];

    for (size_t i = 0; i < FA_COUNT(parts); i++) {
        snprintf(name, sizeof name, "%s%s", life->path, parts[i]);
        remove(name);
    }
}

static struct life *create_life(int64_t wanted)
{
    struct life *life = fa_alloc_zero(1, sizeof *life);
    uint64_t seed = fa_t_seed();

    pthread_mutex_init(&life->mutex, NULL);
    fa_t_init(&life->t);
    fa_random_seed(&life->random, seed);
    print_message("FA_SEED=%llu\n", (unsigned long long)seed);
    life->wanted = wanted;
    life->big = fa_alloc(BIG_INPUT + 1);
    memset(life->big, 'x', BIG_INPUT);
    life->big[0] = life->big[BIG_INPUT - 1] = '"';
    life->big[BIG_INPUT] = '\0';
    snprintf(life->crashed, sizeof life->crashed, "%.400s/crashed.db", life->t.dir);
    return life;
}

static void destroy_life(struct life *life)
{
    fa_disk_leave();
    fa_l_clear(&life->ledger);
    fa_l_clear(&life->at_cut);
    fa_t_finish(&life->t);
    pthread_mutex_destroy(&life->mutex);
    free(life->big);
    free(life);
}

static void test_power__acknowledged_is_there(void **state)
{
    struct life *life = create_life(fa_t_env_int("FA_POWER_CUTS", CUTS_DEFAULT));

    (void)state;
    for (int number = 0; life->cuts < life->wanted; number++) {
        begin(life, number);
        work(life);
        fa_t_close(&life->t);
        check_cut(life);
        remove_files(life);
    }
    print_message("%lld power cuts, %lld calls lost or torn, %d tasks in doubt\n",
                  (long long)life->cuts, (long long)life->lost, life->in_doubt);
    CHECK(life->wanted < 100 || (life->lost > life->cuts / 10 && life->in_doubt > 0),
          "the cuts came when nothing was under way");
    destroy_life(life);
}

/* ------------------------------------------------------------------------------------------
 * A disk that lies
 */

/* The same test on a disk whose flushes do nothing must fail: else it proves nothing. */
static void test_power__losses_are_found(void **state)
{
    char program[] = "/proc/self/exe", filter[] = "test_power__acknowledged_is_there";
    char *const argv[] = {program, filter, NULL};
    posix_spawn_file_actions_t actions;
    int status = 0;
    pid_t pid;

    (void)state;
    if (getenv(LIES))
        skip();
    setenv(LIES, "1", 1);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    CHECK_INT(posix_spawn(&pid, program, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    unsetenv(LIES);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 0, "losses of a disk that lies aren't found");
}

/* ------------------------------------------------------------------------------------------
 * A long log that is moved into the file
 */

struct heavy {
    struct fa_t t;
    struct fa_random random;
    atomic_int round; /* acknowledged */
    int at_cut;
    char path[FA_T_PATH_SIZE], crashed[FA_T_PATH_SIZE];
    char ids[FA_W_HEAVY_TASKS][FAINA_ID_SIZE];
};

static void on_heavy_cut(void *ctx)
{
    struct heavy *heavy = ctx;

    heavy->at_cut = heavy->round;
}

/* All tasks have the round that was acknowledged last, or all have the one under way. */
static void check_rounds(struct fa_t *t, int acknowledged)
{
    const struct faina_tasks *tasks;
    int64_t first = -1;

    CHECK_OK(t, fa_t_list(t, .type = "heavy"));
    tasks = t->op.tasks;
    CHECK_INT(tasks->count, FA_W_HEAVY_TASKS);
    for (size_t i = 0; i < tasks->count; i++) {
        struct fa_json value;
        int64_t round = -1;

        CHECK_TRUE(
            fa_json_member(fa_json_value(fa_str(tasks->items[i].metadata)), "round", &value));
        CHECK_TRUE(fa_json_int(value, &round));
        first = i == 0 ? round : first;
        CHECK(round == first, "half of a transaction: rounds %lld and %lld", (long long)first,
              (long long)round);
    }
    CHECK(first == acknowledged || first == acknowledged + 1,
          "round %d was acknowledged, and it is %lld", acknowledged, (long long)first);
    fa_t_forget(t);
}

static void check_heavy_cut(struct heavy *heavy)
{
    struct fa_t copy = {0};

    fa_disk_write_crashed(heavy->crashed);
    snprintf(copy.url, sizeof copy.url, "sqlite:%.490s", heavy->crashed);
    fa_t_open(&copy);
    check_rounds(&copy, heavy->at_cut);
    fa_t_close(&copy);
    fa_arena_finish(&copy.arena);
    fa_f_check_sound(heavy->crashed, "after a cut within a move");
}

static void test_power__while_a_long_log_is_moved(void **state)
{
    int64_t wanted = fa_t_env_int("FA_POWER_HEAVY", HEAVY_DEFAULT), cuts = 0;
    struct heavy *heavy;

    (void)state;
    if (wanted == 0)
        skip();
    heavy = fa_alloc_zero(1, sizeof *heavy);
    fa_t_init(&heavy->t);
    fa_random_seed(&heavy->random, fa_t_seed());
    snprintf(heavy->path, sizeof heavy->path, "%.400s/heavy.db", heavy->t.dir);
    snprintf(heavy->crashed, sizeof heavy->crashed, "%.400s/crashed.db", heavy->t.dir);
    snprintf(heavy->t.url, sizeof heavy->t.url, "sqlite:%.490s", heavy->path);
    fa_disk_follow(heavy->path, fa_random_next(&heavy->random));
    fa_t_open(&heavy->t);
    fa_w_make_heavy(&heavy->t, heavy->ids);
    CHECK_INT(fa_w_rewrite(&heavy->t, heavy->ids, 0), FAINA_OK);
    for (int round = 1; cuts < wanted; round++) {
        CHECK_INT(fa_w_rewrite(&heavy->t, heavy->ids, round), FAINA_OK);
        heavy->round = round;
        fa_t_forget(&heavy->t);
        if (fa_disk_has_cut()) {
            check_heavy_cut(heavy);
            cuts++;
        }
        if (round >= HEAVY_ROUNDS && (round == HEAVY_ROUNDS || fa_disk_has_cut()))
            fa_disk_cut_at(1 + (long)fa_random_below(&heavy->random, HEAVY_GAP_MAX), on_heavy_cut,
                           heavy);
    }
    print_message("%lld power cuts beside a move\n", (long long)cuts);
    fa_t_close(&heavy->t);
    fa_disk_leave();
    fa_t_finish(&heavy->t);
    free(heavy);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power__acknowledged_is_there),
        cmocka_unit_test(test_power__losses_are_found),
        cmocka_unit_test(test_power__while_a_long_log_is_moved),
    };

    fa_disk_install();
    if (getenv(LIES))
        fa_disk_lie();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("power", tests, NULL, NULL);
}
