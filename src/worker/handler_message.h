/*
 * said.h - what a handler says beside its output: JSON lines on descriptor 3 of a command, the
 * same from a plugin's process.
 *
 *     {"progress":40,"state":"decoding"}   {"metadata":{...}}
 *     {"subtask":{"type":...}}   {"failFast":true}
 *     {"background":{"reason":...,"timeout":"1h"}}
 *     {"error":{"message":...,"kind":...,"detail":...,"retryable":false}}
 *     {"resource":"gpu"}
 *
 *   S1  The first line that makes no sense is remembered, and what comes after it is not heard: the
 *       attempt has failed.
 *
 * Threads: one at a time.
 */
#ifndef FA_SAID_H
#define FA_SAID_H

#include "runtime/require.h"

struct fa_said {
    struct fa_job *job;
    struct fa_arena scratch; /* one line's */
    size_t line_count;
    bool is_wrong;   /* S1 */
    char wrong[640]; /* empty: nothing is */

    struct faina_submit *subtasks; /* in the job's arena */
    size_t subtask_count, subtask_size, subtask_bytes;
    bool fail_fast;
    bool has_background;
    const char *reason;
    int64_t timeout_ms;
    bool has_error, has_retryable;
    struct faina_failure failure;
    struct fa_require *require; /* in the job's arena; NULL: nothing was asked for */
};

void fa_said_init(struct fa_said *said, struct fa_job *job);
void fa_said_finish(struct fa_said *said);
/* One line, without its newline. Progress is reported to the pool at once. */
void fa_said_line(struct fa_said *said, struct fa_bytes line);
/* Notes that what was said makes no sense, unless something was noted before. */
void fa_said_refuse(struct fa_said *said, const char *format, ...) FA_PRINTF(2, 3);
/* The outcome of an attempt that ended well by itself, with this output (NULL: none; checked here).
 * It is a failure when what was said or the output makes no sense. */
struct fa_outcome fa_said_outcome(struct fa_said *said, const char *output);
/* True: it asked for resources that its task lacks, so it ends with *outcome, however it exited. */
bool fa_said_requires(struct fa_said *said, struct fa_outcome *outcome);

#endif
