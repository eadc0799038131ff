/*
 * test_log.c - the write-ahead log: it is moved into the file in time, also while others read, and
 * a kill in the middle of that loses nothing.
 *
 * A few large tasks are rewritten again and again, so that the log grows fast and the file doesn't.
 * FA_KILLS sets how many kills.
 */
#include "faults/inspect.h"
#include "support/writer.h"

#include "base/clock.h"
#include "json/json.h"
#include "base/random.h"
#include "support/crew.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MIB (1024LL * 1024)
#define WRITTEN (400 * MIB)
#define LOG_MAX (230 * MIB) /* far less than is written, and room for two checkpoints */
#define KILLS_DEFAULT 500
#define HEAVY_KILLS 20 /* of that many */

struct world {
    struct fa_t t;
    char path[FA_T_PATH_SIZE], log_path[FA_T_PATH_SIZE];
    atomic_bool is_over;
    atomic_long looks;
};

static void begin(struct world *world)
{
    memset(world, 0, sizeof *world);
    fa_t_init(&world->t);
    snprintf(world->path, sizeof world->path, "%.400s/log.db", world->t.dir);
    snprintf(world->log_path, sizeof world->log_path, "%.480s-wal", world->path);
    snprintf(world->t.url, sizeof world->t.url, "sqlite:%.500s", world->path);
}

static int64_t size_of(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? info.st_size : 0;
}

/* Writes WRITTEN bytes or so through the log, which must never get long. */
static void rewrite_much(struct world *world)
{
    char ids[FA_W_HEAVY_TASKS][FAINA_ID_SIZE];
    int64_t rounds = WRITTEN / (FA_W_HEAVY_TASKS * 64 * 1024);

    fa_w_make_heavy(&world->t, ids);
    for (int32_t i = 0; i < rounds; i++) {
        int64_t size;

        CHECK_INT(fa_w_rewrite(&world->t, ids, i), FAINA_OK);
        size = size_of(world->log_path);
        CHECK(size < LOG_MAX, "the log grew to %lld MiB", (long long)(size / MIB));
        fa_t_forget(&world->t);
    }
}

static void end(struct world *world)
{
    fa_t_check_sound(&world->t);
    fa_t_close(&world->t);
    fa_f_check_sound(world->path, "after many checkpoints");
    fa_t_finish(&world->t);
}

static void test_log__stays_short(void **state)
{
    struct world world;

    (void)state;
    begin(&world);
    fa_t_open(&world.t);
    rewrite_much(&world);
    end(&world);
}

/* Reads without a pause. With several such threads there is always one in the middle of it. */
static void read_all_the_time(struct fa_t *mine, size_t index, void *arg)
{
    struct world *world = arg;

    (void)index;
    while (!world->is_over) {
        CHECK_OK(mine, fa_t_list(mine, .limit = 1000));
        world->looks++;
        fa_t_forget(mine);
    }
}

static void test_log__stays_short_while_others_read(void **state)
{
    struct fa_t_crew *crew;
    struct world world;

    (void)state;
    begin(&world);
    fa_t_open(&world.t);
    crew = fa_t_crew_start(&world.t, 3, read_all_the_time, &world);
    rewrite_much(&world);
    world.is_over = true;
    fa_t_crew_join(crew);
    CHECK(world.looks > 20, "the readers hardly got a look: %ld", world.looks);
    end(&world);
}

/* ------------------------------------------------------------------------------------------
 * Kills
 */

struct promised {
    int32_t about, done; /* rounds; -1: none */
};

static void on_record(void *ctx, const struct fa_l_record *record)
{
    struct promised *promised = ctx;

    if (record->kind == 'i')
        promised->about = record->number;
    if (record->kind == 'a')
        promised->done = record->number;
}

/* The round that a task's metadata tells; -1 when it has none. */
static int64_t round_of(const struct faina_task *task)
{
    struct fa_json value;
    int64_t round = -1;

    if (task->metadata && fa_json_member(fa_json_value(fa_str(task->metadata)), "round", &value))
        CHECK_TRUE(fa_json_int(value, &round));
    return round;
}

/* All tasks tell the same round, since one transaction rewrote them: the one that was acknowledged
 * last, or the one that was about to be. What is there settles which. */
static void check_rounds(struct world *world, struct promised *promised)
{
    const struct faina_tasks *tasks;

    CHECK_OK(&world->t, fa_t_list(&world->t, .type = "heavy"));
    tasks = world->t.op.tasks;
    CHECK(tasks->count == FA_W_HEAVY_TASKS || promised->done < 0, "%zu tasks", tasks->count);
    for (size_t i = 0; i < tasks->count; i++) {
        int64_t round = round_of(&tasks->items[i]);

        CHECK(round == round_of(&tasks->items[0]), "half of a transaction is there");
        CHECK(round == promised->done || round == promised->about,
              "round %d was acknowledged and %d begun, but it is %lld", (int)promised->done,
              (int)promised->about, (long long)round);
    }
    if (tasks->count > 0)
        promised->about = promised->done = (int32_t)round_of(&tasks->items[0]);
    fa_t_forget(&world->t);
}

static void test_log__killed_in_a_checkpoint(void **state)
{
    int64_t kills = fa_t_env_int("FA_KILLS", KILLS_DEFAULT) * HEAVY_KILLS / KILLS_DEFAULT;
    struct promised promised = {-1, -1};
    struct fa_random random;
    struct world world;

    (void)state;
    begin(&world);
    fa_random_seed(&random, fa_t_seed());
    for (int i = 0; i < kills; i++) {
        struct fa_w writer;
        int64_t until_us;

        fa_w_start(&writer, &(struct fa_w_plan){.role = FA_W_HEAVY,
                                                .url = world.t.url,
                                                .first = promised.done + 1});
        until_us = fa_clock_mono_us() + (int64_t)fa_random_below(&random, 900000);
        while (fa_clock_mono_us() < until_us)
            CHECK(fa_w_read(&writer, until_us - fa_clock_mono_us(), on_record, &promised),
                  "the writer has ended by itself");
        fa_w_kill(&writer, on_record, &promised);
        fa_t_open(&world.t);
        check_rounds(&world, &promised);
        if (i % 4 == 0)
            fa_t_check_sound(&world.t);
        if (i + 1 < kills)
            fa_t_close(&world.t);
    }
    CHECK(kills < 10 || promised.about > 100, "the writers did next to nothing");
    end(&world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log__stays_short),
        cmocka_unit_test(test_log__stays_short_while_others_read),
        cmocka_unit_test(test_log__killed_in_a_checkpoint),
    };

    if (fa_w_is_writer(argc, argv))
        return fa_w_main(argv);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
