/*
 * steady.c - see steady.h.
 *
 * Each reading advances the clock by the time that has passed on the boot clock, plus or minus a
 * correction of at most a tenth of that. Readings may be a microsecond apart, so the remainder of
 * the division is kept (credit_us). Every operation reads the clock; while both clocks agree, most
 * readings read the boot clock alone.
 */
#include "base/steady.h"

#include "base/clock.h"

#include <stdbool.h>

#define SLEW_PART 10     /* a correction is at most one part in this many */
#define PAIR_US_MAX 1000 /* two clocks that were read further apart can't be compared */
#define PAIR_TRIES 4
#define CHECK_US 10000 /* how often the wall clock is read, at least, while the clocks ... */
#define AGREE_US 1000  /* ... differ by less than this */

/* Reads both clocks at the same time, as far as possible. False: the process was interrupted
 * between the readings each time, and *wall_us is not set. */
static bool read_pair(int64_t *boot_us, int64_t *wall_us)
{
    int64_t before_us = fa_clock_boot_us();

    for (int i = 0; i < PAIR_TRIES; i++) {
        int64_t wall = fa_clock_now_us();

        *boot_us = fa_clock_boot_us();
        if (*boot_us - before_us <= PAIR_US_MAX) {
            *wall_us = wall;
            return true;
        }
        before_us = *boot_us;
    }
    return false;
}

/* The mutex is held. */
static void note_jump(struct fa_steady *steady, int64_t wall_us)
{
    int64_t apart_us = wall_us - steady->boot_us, jump_us = apart_us - steady->apart_us;

    steady->apart_us = apart_us;
    if (jump_us < FA_STEADY_JUMP_US && jump_us > -FA_STEADY_JUMP_US)
        return;
    steady->report.jump_count++;
    steady->report.jump_us = jump_us;
    steady->report.jump_at_us = wall_us;
}

/* How much of a difference to the wall clock is corrected now. The mutex is held. */
static int64_t correct(struct fa_steady *steady, int64_t passed_us, int64_t behind_us)
{
    int64_t most_us;

    if (behind_us == 0 || behind_us >= FA_STEADY_STEP_US) { /* T2 */
        steady->credit_us = 0;
        return 0;
    }
    steady->credit_us += passed_us;
    most_us = steady->credit_us / SLEW_PART;
    steady->credit_us %= SLEW_PART;
    if (behind_us > 0)
        return behind_us < most_us ? behind_us : most_us;
    return behind_us > -most_us ? behind_us : -most_us;
}

/* How much has passed since the last reading. The mutex is held. */
static int64_t pass(struct fa_steady *steady, int64_t boot_us)
{
    int64_t passed_us = boot_us > steady->boot_us ? boot_us - steady->boot_us : 0;

    steady->boot_us = boot_us;
    steady->now_us += passed_us;
    return passed_us;
}

/* The mutex is held. */
static void read_on(struct fa_steady *steady)
{
    int64_t boot_us, wall_us, passed_us;
    bool is_pair = read_pair(&boot_us, &wall_us);

    passed_us = pass(steady, boot_us);
    if (is_pair) {
        int64_t change_us = correct(steady, passed_us, wall_us - steady->now_us);

        note_jump(steady, wall_us);
        steady->now_us += change_us > -passed_us ? change_us : -passed_us; /* T1 */
        steady->report.offset_us = steady->now_us - wall_us;
        steady->checked_us = boot_us;
    }
}

/* Whether the wall clock was read a moment ago, and both clocks agreed. The mutex is held. */
static bool is_known(const struct fa_steady *steady, int64_t boot_us)
{
    int64_t offset_us = steady->report.offset_us;

    return boot_us - steady->checked_us < CHECK_US && offset_us < AGREE_US && offset_us > -AGREE_US;
}

void fa_steady_init(struct fa_steady *steady)
{
    *steady = (struct fa_steady){0};
    pthread_mutex_init(&steady->mutex, NULL);
    steady->boot_us = fa_clock_boot_us();
    steady->now_us = fa_clock_now_us();
    steady->apart_us = steady->now_us - steady->boot_us;
}

void fa_steady_finish(struct fa_steady *steady)
{
    pthread_mutex_destroy(&steady->mutex);
}

int64_t fa_steady_now(struct fa_steady *steady)
{
    int64_t boot_us, now_us;

    pthread_mutex_lock(&steady->mutex);
    boot_us = fa_clock_boot_us();
    if (is_known(steady, boot_us))
        pass(steady, boot_us);
    else
        read_on(steady);
    now_us = steady->now_us;
    pthread_mutex_unlock(&steady->mutex);
    return now_us;
}

int64_t fa_steady_resume(struct fa_steady *steady, int64_t last_us)
{
    int64_t ahead_us;
    bool is_far;

    pthread_mutex_lock(&steady->mutex);
    read_on(steady);
    ahead_us = last_us - steady->now_us;
    is_far = ahead_us > FA_STEADY_BACK_US;
    if (ahead_us > 0 && !is_far) {
        steady->now_us = last_us;
        steady->report.offset_us += ahead_us;
    }
    if (ahead_us >= FA_STEADY_JUMP_US) {
        steady->report.jump_count++;
        steady->report.jump_us = -ahead_us;
        steady->report.jump_at_us = steady->boot_us + steady->apart_us;
    }
    pthread_mutex_unlock(&steady->mutex);
    return is_far ? ahead_us : 0;
}

int64_t fa_steady_step_due(struct fa_steady *steady)
{
    int64_t offset_us;

    pthread_mutex_lock(&steady->mutex);
    read_on(steady);
    offset_us = steady->report.offset_us;
    pthread_mutex_unlock(&steady->mutex);
    return offset_us <= -FA_STEADY_STEP_US || offset_us > FA_STEADY_BACK_US ? -offset_us : 0;
}

void fa_steady_step(struct fa_steady *steady, int64_t step_us)
{
    pthread_mutex_lock(&steady->mutex);
    steady->now_us += step_us;
    steady->report.offset_us += step_us;
    steady->credit_us = 0;
    pthread_mutex_unlock(&steady->mutex);
}

void fa_steady_report(struct fa_steady *steady, struct fa_steady_report *out)
{
    pthread_mutex_lock(&steady->mutex);
    read_on(steady);
    *out = steady->report;
    pthread_mutex_unlock(&steady->mutex);
}
