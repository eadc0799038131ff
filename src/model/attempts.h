/*
 * attempts.h - the attempts at a task, by its events.
 *
 * Events don't contain the number of the attempt, so they are read from the first one on: each
 * claim begins an attempt, unless the task only resumes after its subtasks. A released claim
 * doesn't count.
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_ATTEMPTS_H
#define FA_MODEL_ATTEMPTS_H

#include "json/json.h"

#include <faina.h>

struct fa_attempt_log;

/* The event of a part of a log: {log, end}, where `end` counts the bytes of the log so far. Lists
 * of events don't have it. */
#define FA_LOG_PART "log_lines"

/* The time in which a worker held the task, from the claim on. */
struct fa_hold {
    int64_t number; /* of the attempt; that of the previous hold when it resumed the task */
    bool is_counted;
    const char *worker;
    const char *end;                 /* the event that ended it; NULL: the task is still held */
    const struct faina_event *event; /* "attempt"; NULL: there is no log */
    int64_t claimed_us;
    const struct faina_event **parts; /* FA_LOG_PART, oldest first */
    size_t part_count, part_size;
};

struct fa_attempts {
    struct fa_hold *holds;
    size_t count;
    int64_t attempts; /* how many were counted */
    bool is_held;     /* the last hold hasn't ended */
    bool is_resumed;  /* the next hold is no new attempt */
};

/* Reads events, newest first. The attempts refer to them. `attempts_made`: of the task. */
void fa_attempts_read(struct fa_arena *arena, const struct faina_events *events,
                      int64_t attempts_made, struct fa_attempts *out);

/* How much of a log that grows was shown. All zero: nothing. */
#define FA_LOG_TAIL_SIZE 256
struct fa_log_place {
    int64_t shown;               /* of the whole log */
    char tail[FA_LOG_TAIL_SIZE]; /* the last bytes that were shown */
    size_t tail_len;
};

/* What of the log was not shown yet, in its text; it is from now on. */
const char *fa_log_rest(struct fa_log_place *place, const struct fa_attempt_log *log);

#endif
