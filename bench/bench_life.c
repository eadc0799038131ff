/*
 * bench_life.c - the rates of submit, claim and complete: raw statements and the engine, in
 * alternating rounds.
 *
 * The subjects of a part are open together. In a round each of them runs all steps with its tasks;
 * each round begins with another subject. So the size of their files and their checkpoints are
 * those of a store in use, and the same for all.
 */
#include "bench/bench_driver.h"
#include "bench/bench_engine.h"
#include "bench/bench_posted.h"
#include "bench/bench_raw.h"
#include "bench/bench_raw_postgres.h"

#include <assert.h>

enum row {
    MINIMAL_1,
    OWN_1,
    ENGINE_1,
    ENGINE_1_8_CALLERS,
    MINIMAL_100,
    OWN_100,
    ENGINE_100,
    ENGINE_1_64_CALLERS,
    POSTED_1_64_CALLERS,
    ENGINE_100_8_CALLERS,
    ENGINE_100_64_CALLERS,
    MINIMAL_1000,
    OWN_1000,
    ENGINE_1000,
    ENGINE_1000_8_CALLERS,
    ENGINE_1000_64_CALLERS,
    OWN_KEY,
    ENGINE_1000_AGAIN,
    ENGINE_KEY,
    ENGINE_LIMITED,
    ENGINE_RATED,
    PG_MINIMAL_1,
    PG_ENGINE_1,
    PG_MINIMAL_1000,
    PG_ENGINE_1000,
    PG_FIRST = PG_MINIMAL_1, /* it and those after it are for PostgreSQL, the others for SQLite */
    ROW_COUNT = PG_ENGINE_1000 + 1
};

/* clang-format off */
/* Tasks are a multiple of callers times batch (quick: of callers), and as many as take a second or
 * so: long enough to include checkpoints. Rows that are compared are in the same part. With one
 * task at a time the disk dominates, and its speed changes within a second, so rounds are short and
 * there are more of them (SHORT_TURNS). */
static const struct {
    struct fa_bench_speed speed;
    int64_t quick_tasks;
} rows[ROW_COUNT] = {
    /*                            part         subject        callers batch has_key tasks, quick */
    [MINIMAL_1] =              {{"life-1",    FA_BENCH_MINIMAL, 1,    1, false,    100},    50},
    [OWN_1] =                  {{"life-1",    FA_BENCH_OWN,     1,    1, false,    100},    50},
    [ENGINE_1] =               {{"life-1",    FA_BENCH_ENGINE,  1,    1, false,    100},    50},
    [ENGINE_1_8_CALLERS] =     {{"life-1",    FA_BENCH_ENGINE,  8,    1, false,    400},   200},
    [MINIMAL_100] =            {{"life-100",  FA_BENCH_MINIMAL, 1,  100, false,  30000},   500},
    [OWN_100] =                {{"life-100",  FA_BENCH_OWN,     1,  100, false,  30000},   500},
    [ENGINE_100] =             {{"life-100",  FA_BENCH_ENGINE,  1,  100, false,  30000},   500},
    [ENGINE_1_64_CALLERS] =    {{"life-100",  FA_BENCH_ENGINE, 64,    1, false,  16000},   640},
    [POSTED_1_64_CALLERS] =    {{"life-100",  FA_BENCH_POSTED, 64,    1, false,  16000},   640},
    [ENGINE_100_8_CALLERS] =   {{"life-100",  FA_BENCH_ENGINE,  8,  100, false,  32000},   800},
    [ENGINE_100_64_CALLERS] =  {{"life-100",  FA_BENCH_ENGINE, 64,  100, false,  32000},  1280},
    [MINIMAL_1000] =           {{"life-1000", FA_BENCH_MINIMAL, 1, 1000, false,  60000},  2000},
    [OWN_1000] =               {{"life-1000", FA_BENCH_OWN,     1, 1000, false,  60000},  2000},
    [ENGINE_1000] =            {{"life-1000", FA_BENCH_ENGINE,  1, 1000, false,  60000},  2000},
    [ENGINE_1000_8_CALLERS] =  {{"life-1000", FA_BENCH_ENGINE,  8, 1000, false,  64000},  4000},
    [ENGINE_1000_64_CALLERS] = {{"life-1000", FA_BENCH_ENGINE, 64, 1000, false,  64000},  6400},
    [OWN_KEY] =                {{"life-key",  FA_BENCH_OWN,     1, 1000, true,   60000},  2000},
    [ENGINE_1000_AGAIN] =      {{"life-key",  FA_BENCH_ENGINE,  1, 1000, false,  60000},  2000},
    [ENGINE_KEY] =             {{"life-key",  FA_BENCH_ENGINE,  1, 1000, true,   60000},  2000},
    [ENGINE_LIMITED] =         {{"life-rate", FA_BENCH_ENGINE,  1, 1000, false,  60000,
                                 .limit = FA_BENCH_CONCURRENCY},                         2000},
    [ENGINE_RATED] =           {{"life-rate", FA_BENCH_ENGINE,  1, 1000, false,  60000,
                                 .limit = FA_BENCH_RATE},                                2000},
    [PG_MINIMAL_1] =           {{"life-1",    FA_BENCH_MINIMAL, 32,    1, false,   3200},   320},
    [PG_ENGINE_1] =            {{"life-1",    FA_BENCH_ENGINE, 64,    1, false,   6400},   640},
    [PG_MINIMAL_1000] =        {{"life-1000", FA_BENCH_MINIMAL, 2, 1000, false,  20000},  2000},
    [PG_ENGINE_1000] =         {{"life-1000", FA_BENCH_ENGINE,  2, 1000, false,  20000},  2000},
};
/* clang-format on */

/* The comparisons. Those without a target show the share of each step. */
static const struct {
    enum row above, below;
    int rate;
    enum fa_bench_aim aim;
    double target;
    const char *name;
} ratios[] = {
    {ENGINE_1000, MINIMAL_1000, FA_BENCH_LIFE, FA_BENCH_AT_LEAST, 0.35,
     "submit, claim and complete by 1,000: engine / raw minimal table"},
    {ENGINE_1000, OWN_1000, FA_BENCH_LIFE, FA_BENCH_AT_LEAST, 0.8,
     "submit, claim and complete by 1,000: engine / raw on our schema"},
    {ENGINE_1000, OWN_1000, FA_BENCH_SUBMIT, FA_BENCH_NO_AIM, 0,
     "    submit by 1,000: engine / raw on our schema"},
    {ENGINE_1000, OWN_1000, FA_BENCH_CLAIM, FA_BENCH_NO_AIM, 0,
     "    claim by 1,000: engine / raw on our schema"},
    {ENGINE_1000, OWN_1000, FA_BENCH_COMPLETE, FA_BENCH_NO_AIM, 0,
     "    complete by 1,000: engine / raw on our schema"},
    {ENGINE_100, OWN_100, FA_BENCH_LIFE, FA_BENCH_NO_AIM, 0,
     "submit, claim and complete by 100: engine / raw on our schema"},
    {ENGINE_1, OWN_1, FA_BENCH_LIFE, FA_BENCH_AT_LEAST, 0.85,
     "one caller, one at a time: engine / raw on our schema"},
    {POSTED_1_64_CALLERS, ENGINE_100, FA_BENCH_LIFE, FA_BENCH_AT_LEAST, 0.6,
     "64 callers, one at a time, posted / one caller by 100"},
    {ENGINE_1_64_CALLERS, ENGINE_100, FA_BENCH_LIFE, FA_BENCH_NO_AIM, 0,
     "    64 threads, one at a time / one caller by 100"},
    {ENGINE_KEY, ENGINE_1000_AGAIN, FA_BENCH_LIFE, FA_BENCH_AT_LEAST, 0.5,
     "random keys / without keys"},
    {ENGINE_KEY, OWN_KEY, FA_BENCH_LIFE, FA_BENCH_NO_AIM, 0,
     "random keys: engine / raw on our schema"},
    {ENGINE_RATED, ENGINE_LIMITED, FA_BENCH_LIFE, FA_BENCH_AT_LEAST, 0.9,
     "a resource with a rate that never runs out / with a plain limit"},
    {PG_ENGINE_1000, PG_MINIMAL_1000, FA_BENCH_LIFE, FA_BENCH_AT_LEAST, 0.35,
     "submit, claim and complete by 1,000, two callers: engine / raw minimal table"},
    {PG_ENGINE_1000, PG_MINIMAL_1000, FA_BENCH_SUBMIT, FA_BENCH_NO_AIM, 0,
     "    submit by 1,000: engine / raw minimal table"},
    {PG_ENGINE_1000, PG_MINIMAL_1000, FA_BENCH_CLAIM, FA_BENCH_NO_AIM, 0,
     "    claim by 1,000: engine / raw minimal table"},
    {PG_ENGINE_1000, PG_MINIMAL_1000, FA_BENCH_COMPLETE, FA_BENCH_NO_AIM, 0,
     "    complete by 1,000: engine / raw minimal table"},
    {PG_ENGINE_1, PG_MINIMAL_1, FA_BENCH_SUBMIT, FA_BENCH_AT_LEAST, 2,
     "64 callers, one submit at a time / raw inserts by 32 clients"},
    {PG_ENGINE_1, PG_MINIMAL_1, FA_BENCH_LIFE, FA_BENCH_NO_AIM, 0,
     "    submit, claim and complete: 64 callers / 32 raw clients"},
};

#define SHORT_TURNS 10 /* in each round of life-1 */

struct subject {
    struct fa_bench_speed *speed;
    struct fa_bench_engine *engine; /* one of the four */
    struct fa_bench_posted *posted;
    struct fa_bench_raw *raw;
    struct fa_bench_minimal *minimal;
};

static enum faina_code subject_open(const struct fa_bench *bench, struct subject *subject,
                                    const char *location, size_t number, struct faina_error *err)
{
    const struct fa_bench_speed *speed = subject->speed;
    char name[32], path[4200];

    snprintf(name, sizeof name, "%zu", number);
    if (speed->subject == FA_BENCH_ENGINE)
        return fa_bench_engine_open(&subject->engine, bench, location, name, speed, err);
    if (speed->subject == FA_BENCH_POSTED)
        return fa_bench_posted_open(&subject->posted, bench, location, name, speed, err);
    if (fa_bench_is_postgres(bench))
        return fa_bench_minimal_open(&subject->minimal, bench, location, name, speed, err);
    snprintf(path, sizeof path, "%s/%s.db", location, name);
    return fa_bench_raw_open(&subject->raw, path, speed, &bench->inputs, err);
}

static enum faina_code subject_grow_log(const struct fa_bench *bench, struct subject *subject,
                                        struct faina_error *err)
{
    if (bench->is_quick || subject->posted || strcmp(bench->url, "sqlite:") != 0)
        return FAINA_OK;
    return subject->engine ? fa_bench_engine_grow_log(subject->engine, err)
                           : fa_bench_raw_grow_log(subject->raw, err);
}

static void subject_close(struct subject *subject)
{
    fa_bench_engine_close(subject->engine);
    fa_bench_posted_close(subject->posted);
    fa_bench_raw_close(subject->raw);
    fa_bench_minimal_close(subject->minimal);
}

static enum faina_code subject_round(struct subject *subject, bool is_kept, struct faina_error *err)
{
    int64_t ns[FA_BENCH_STEPS];
    enum faina_code code = subject->engine    ? fa_bench_engine_round(subject->engine, ns, err)
                           : subject->posted  ? fa_bench_posted_round(subject->posted, ns, err)
                           : subject->minimal ? fa_bench_minimal_round(subject->minimal, ns, err)
                                              : fa_bench_raw_round(subject->raw, ns, err);

    if (code == FAINA_OK && is_kept)
        fa_bench_speed_add(subject->speed, ns);
    return code;
}

/* The first round is a warm-up, in which files grow and caches fill. */
static enum faina_code run_rounds(const struct fa_bench *bench, const char *part,
                                  struct subject *subjects, size_t count, struct faina_error *err)
{
    int rounds = bench->rounds;

    if (!bench->is_quick && !fa_bench_is_postgres(bench) && strcmp(part, "life-1") == 0)
        rounds *= SHORT_TURNS;
    for (int round = 0; round <= rounds; round++) {
        fa_bench_progress_bar(bench, part, round, rounds + 1);
        for (size_t i = 0; i < count; i++) {
            struct subject *subject = &subjects[(i + (size_t)round) % count];
            enum faina_code code = FAINA_OK;

            if (round == 0)
                code = subject_grow_log(bench, subject, err);
            if (code == FAINA_OK)
                code = subject_round(subject, round > 0, err);
            if (code != FAINA_OK)
                return code;
        }
    }
    return FAINA_OK;
}

static void add_ratios(struct fa_bench_report *report,
                       const struct fa_bench_speed *const measured[ROW_COUNT])
{
    for (size_t i = 0; i < FA_COUNT(ratios); i++) {
        const struct fa_bench_speed *above = measured[ratios[i].above];
        const struct fa_bench_speed *below = measured[ratios[i].below];

        if (above && below)
            fa_bench_ratio_add(report, &above->rates[ratios[i].rate], &below->rates[ratios[i].rate],
                               ratios[i].aim, ratios[i].target, "%s", ratios[i].name);
    }
}

enum faina_code fa_bench_life(struct fa_bench *bench, const char *name, struct faina_error *err)
{
    struct subject subjects[ROW_COUNT] = {0};
    const struct fa_bench_speed *measured[ROW_COUNT] = {0};
    const bool is_postgres = fa_bench_is_postgres(bench);
    size_t count = 0;
    char location[4100];
    enum faina_code code = fa_bench_location_make(bench, name, location, sizeof location, err);

    if (code != FAINA_OK)
        return code;
    for (size_t i = 0; code == FAINA_OK && i < ROW_COUNT; i++) {
        struct fa_bench_speed *speed = &bench->report.speeds[bench->report.speed_count];

        if (strcmp(rows[i].speed.part, name) != 0 || (i >= PG_FIRST) != is_postgres ||
            (rows[i].speed.subject < FA_BENCH_ENGINE && !bench->has_raw))
            continue;
        assert(bench->report.speed_count < FA_BENCH_ROWS_MAX);
        bench->report.speed_count++;
        *speed = rows[i].speed;
        if (bench->is_quick)
            speed->tasks = rows[i].quick_tasks;
        measured[i] = speed;
        subjects[count].speed = speed;
        code = subject_open(bench, &subjects[count], location, count, err);
        count++;
    }
    if (code == FAINA_OK)
        code = run_rounds(bench, name, subjects, count, err);
    fa_bench_progress_clear(bench);
    for (size_t i = 0; i < count; i++)
        subject_close(&subjects[i]);
    if (code == FAINA_OK)
        add_ratios(&bench->report, measured);
    fa_bench_location_remove(bench, location);
    return code;
}
