/*
 * test_kill.c - SIGKILL at any moment: everything acknowledged is there afterwards.
 *
 * A writer process with several threads works on one file and tells what was acknowledged. It is
 * killed at a random moment, some while it is still opening the file, and the file is opened here
 * and compared with what was told. The same file goes on through many kills.
 *
 * FA_KILLS sets how many kills; FA_SEED replays the moments, as far as the machine allows.
 */
#include "faults/inspect.h"
#include "support/writer.h"

#include "base/clock.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define KILLS_DEFAULT 500
#define KILLS_PER_FILE 25
#define OPENING_KILLS 120
#define RECORDS_MIN 20 /* what a writer that got ready has done at least when it is killed */

struct chain {
    struct fa_t t;
    struct fa_l ledger;
    struct fa_random random;
    char path[FA_T_PATH_SIZE];
    bool is_ready; /* the writer has the file open */
    int64_t records;
    int in_doubt;
};

static void on_record(void *ctx, const struct fa_l_record *record)
{
    struct chain *chain = ctx;

    if (record->kind == 'r') {
        chain->is_ready = true;
        return;
    }
    chain->records++;
    fa_l_note(&chain->ledger, record);
}

static void new_file(struct chain *chain, int number)
{
    fa_l_clear(&chain->ledger);
    snprintf(chain->path, sizeof chain->path, "%.400s/kill%d.db", chain->t.dir, number);
    snprintf(chain->t.url, sizeof chain->t.url, "sqlite:%.500s", chain->path);
}

/* Reads records until `until_us` by the monotonic clock. */
static void read_until(struct chain *chain, struct fa_w *writer, int64_t until_us)
{
    for (;;) {
        int64_t left_us = until_us - fa_clock_mono_us();

        if (left_us <= 0)
            return;
        CHECK(fa_w_read(writer, left_us, on_record, chain), "the writer has ended by itself");
    }
}

/* On a busy machine the time alone would let it do next to nothing. */
static void read_at_least(struct chain *chain, struct fa_w *writer, int64_t records)
{
    int64_t deadline_us = fa_clock_mono_us() + FA_T_DEADLINE_MS * 1000;

    while (chain->records < records && fa_clock_mono_us() < deadline_us)
        CHECK(fa_w_read(writer, 1000000, on_record, chain), "the writer has ended by itself");
    CHECK(chain->records >= records, "the writer doesn't get on");
}

/* Kills another process while it recovers the log that a killed one left, or moves it into the
 * file as it closes. */
static void kill_opener(struct chain *chain)
{
    struct fa_w writer;

    fa_w_start(&writer, &(struct fa_w_plan){.role = FA_W_OPEN, .url = chain->t.url});
    CHECK(fa_w_read(&writer, FA_T_DEADLINE_MS * 1000, on_record, chain), "it has ended by itself");
    read_until(chain, &writer, fa_clock_mono_us() + (int64_t)fa_random_below(&chain->random, 6000));
    fa_w_kill(&writer, on_record, chain);
}

/* Lets a writer work, kills it, and looks. One in three is killed while it begins. */
static void kill_once(struct chain *chain, int number)
{
    bool is_early = fa_random_below(&chain->random, 3) == 0;
    int64_t wait_us = (int64_t)fa_random_below(&chain->random, is_early ? 8000 : 40000);
    struct fa_w writer;
    int64_t deadline_us, records = chain->records;
    char when[64];

    chain->is_ready = false;
    fa_w_start(&writer, &(struct fa_w_plan){.role = FA_W_BUSY,
                                            .url = chain->t.url,
                                            .first = chain->ledger.count,
                                            .seed = fa_random_next(&chain->random) >> 1});
    deadline_us = fa_clock_mono_us() + FA_T_DEADLINE_MS * 1000;
    while (!is_early && !chain->is_ready && fa_clock_mono_us() < deadline_us)
        CHECK(fa_w_read(&writer, 1000000, on_record, chain), "the writer has ended by itself");
    CHECK(is_early || chain->is_ready, "the writer doesn't get ready");
    read_until(chain, &writer, fa_clock_mono_us() + wait_us);
    if (!is_early)
        read_at_least(chain, &writer, records + RECORDS_MIN);
    fa_w_kill(&writer, on_record, chain);
    if (fa_random_below(&chain->random, 4) == 0)
        kill_opener(chain);

    fa_t_open(&chain->t);
    for (int32_t i = 0; i < chain->ledger.count; i++)
        chain->in_doubt += chain->ledger.entries[i].has_intent;
    fa_l_check(&chain->ledger, &chain->t);
    fa_l_release_held(&chain->ledger, &chain->t);
    fa_t_close(&chain->t);
    snprintf(when, sizeof when, "after kill %d", number);
    /* What a checkpoint wrote is looked at now and then: it takes longer than the kill. */
    if (number % 5 == 0)
        fa_f_check_sound(chain->path, when);
}

static void test_kill__acknowledged_is_there(void **state)
{
    int64_t kills = fa_t_env_int("FA_KILLS", KILLS_DEFAULT);
    struct chain *chain = fa_alloc_zero(1, sizeof *chain);
    uint64_t seed = fa_t_seed();

    (void)state;
    fa_t_init(&chain->t);
    fa_random_seed(&chain->random, seed);
    print_message("FA_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < kills; i++) {
        if (i % KILLS_PER_FILE == 0)
            new_file(chain, i / KILLS_PER_FILE);
        kill_once(chain, i);
    }
    print_message("%lld kills, %lld records, %d tasks in doubt\n", (long long)kills,
                  (long long)chain->records, chain->in_doubt);
    /* A test that never caught the writer in the middle of something has tested nothing. */
    CHECK(chain->records > kills * 10, "the writers did next to nothing");
    CHECK(kills < 100 || chain->in_doubt > 0, "no kill met an operation under way");
    fa_l_clear(&chain->ledger);
    fa_t_finish(&chain->t);
    free(chain);
}

/* A new file each time: most kills come while it is made and brought up to date. */
static void test_kill__while_opening(void **state)
{
    int64_t kills = fa_t_env_int("FA_KILLS", KILLS_DEFAULT) * OPENING_KILLS / KILLS_DEFAULT;
    struct chain *chain = fa_alloc_zero(1, sizeof *chain);

    (void)state;
    fa_t_init(&chain->t);
    fa_random_seed(&chain->random, fa_t_seed());
    for (int i = 0; i < kills; i++) {
        struct fa_w writer;
        const char *id;

        if (i % 3 == 0) /* and some go on with a half-made one */
            new_file(chain, i);
        fa_w_start(&writer, &(struct fa_w_plan){.role = FA_W_OPEN, .url = chain->t.url});
        CHECK(fa_w_read(&writer, FA_T_DEADLINE_MS * 1000, on_record, chain), "it has ended");
        read_until(chain, &writer,
                   fa_clock_mono_us() + (int64_t)fa_random_below(&chain->random, 5000));
        fa_w_kill(&writer, on_record, chain);
        fa_t_open(&chain->t);
        id = fa_t_submit(&chain->t, .type = "x");
        fa_t_finish_task(&chain->t, id);
        fa_t_close(&chain->t);
        fa_f_check_sound(chain->path, "after a kill while opening");
    }
    fa_t_finish(&chain->t);
    free(chain);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kill__while_opening),
        cmocka_unit_test(test_kill__acknowledged_is_there),
    };

    if (fa_w_is_writer(argc, argv))
        return fa_w_main(argv);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("kill", tests, NULL, NULL);
}
