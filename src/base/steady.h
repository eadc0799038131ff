/*
 * steady.h - a clock that follows the wall clock without its jumps.
 *
 * It runs on the boot clock (fa_clock_boot_us), which can't be set. At its start it is set to the
 * wall clock. From then on it corrects a difference to the wall clock:
 *
 *   up to FA_STEADY_STEP_US behind         the steady clock runs a tenth faster until it agrees
 *   up to FA_STEADY_BACK_US ahead          it runs a tenth slower until it agrees
 *   more                                   a step is due; the owner makes it (fa_steady_step)
 *
 *   T1  It never goes back, and never stops while the boot clock runs, unless its owner makes a
 *       step back. Between two steps it advances by 0.9 to 1.1 seconds in a second.
 *   T2  It makes no step by itself: the owner first moves the times that must not be affected.
 *   T3  A change of the wall clock of FA_STEADY_JUMP_US or more is recorded as a jump.
 *
 * Threads: any.
 */
#ifndef FA_BASE_STEADY_H
#define FA_BASE_STEADY_H

#include <pthread.h>
#include <stdint.h>

#define FA_STEADY_STEP_US INT64_C(1000000)
#define FA_STEADY_BACK_US (24 * INT64_C(3600000000))
#define FA_STEADY_JUMP_US INT64_C(1000000)

/* The state of the wall clock. Times are microseconds since 1970 UTC. */
struct fa_steady_report {
    int64_t offset_us;  /* how far the steady clock is ahead of the wall clock; negative: behind */
    int64_t jump_count; /* of the wall clock, since the start */
    int64_t jump_us;    /* by how much the last jump changed it; negative: it was set back */
    int64_t jump_at_us; /* the wall clock right after the last jump; 0: there was none */
};

struct fa_steady {
    pthread_mutex_t mutex; /* guards what follows */
    int64_t boot_us;       /* the boot clock at the last reading ... */
    int64_t now_us;        /* ... and the steady clock */
    int64_t checked_us;    /* the boot clock when the wall clock was last read */
    int64_t credit_us;     /* time that has not yet allowed a correction of a microsecond */
    int64_t apart_us;      /* wall clock minus boot clock at the last reading */
    struct fa_steady_report report;
};

void fa_steady_init(struct fa_steady *steady);
void fa_steady_finish(struct fa_steady *steady);

/* Microseconds since 1970 UTC. */
int64_t fa_steady_now(struct fa_steady *steady);

/*
 * For an owner that has recorded times before, the latest of which is `last_us`: the clock goes on
 * from there, when that is at most FA_STEADY_BACK_US ahead of the wall clock. The difference is
 * recorded as a jump if it is FA_STEADY_JUMP_US or more. Returns 0; or, when it is further ahead,
 * by how much: then the clock stays at the wall clock.
 */
int64_t fa_steady_resume(struct fa_steady *steady, int64_t last_us);

/* The step that would make it agree with the wall clock; 0: none is due. */
int64_t fa_steady_step_due(struct fa_steady *steady);
void fa_steady_step(struct fa_steady *steady, int64_t step_us);

void fa_steady_report(struct fa_steady *steady, struct fa_steady_report *out);

#endif
