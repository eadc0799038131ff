/*
 * handler_message.h - the messages of a handler: JSON lines on descriptor 3 of a command, MESSAGE
 * frames of a plugin's process, lines of a process that serves many tasks (command/lines.h).
 *
 *     {"progress":40,"state":"decoding"}   {"metadata":{...}}
 *     {"subtask":{"type":...}}   {"failFast":true}
 *     {"background":{"reason":...,"timeout":"1h"}}
 *     {"error":{"message":...,"kind":...,"detail":...,"retryable":false,"retryAfter":"10m"}}
 *     {"snooze":"10m"}
 *     {"resource":"gpu"}
 *
 * Only in the last of these: {"output":...}   {"subtasks":[{"type":...}, ...]}   {"log":"..."}
 *
 *   S1  The first invalid line fails the attempt. It is kept for the error, and the lines after it
 *       are ignored.
 *
 * Threads: one at a time.
 */
#ifndef FA_WORKER_HANDLER_MESSAGE_H
#define FA_WORKER_HANDLER_MESSAGE_H

#include "json/json.h"
#include "worker/pool/require.h"

struct fa_handler_messages {
    struct fa_job *job;
    struct fa_arena scratch; /* of one line */
    size_t line_count;
    bool is_wrong;   /* S1 */
    char wrong[640]; /* a sentence; empty: all lines are valid */

    struct faina_submit *subtasks; /* in the job's arena */
    size_t subtask_count, subtask_size, subtask_bytes;
    bool fail_fast;
    bool has_background;
    const char *reason;
    int64_t timeout_ms;
    bool has_snooze;
    int64_t snooze_ms;
    bool has_error, has_retryable;
    struct faina_failure failure;
    struct fa_require *require; /* in the job's arena; NULL: no resource was required */
    const char *output;         /* a line's, in the job's arena; NULL: none */
    struct fa_buf *log;         /* where a line's log goes; NULL: this is no line */
    bool has_ended;             /* a line has ended the attempt */
};

void fa_handler_messages_init(struct fa_handler_messages *messages, struct fa_job *job);
void fa_handler_messages_finish(struct fa_handler_messages *messages);
/* Takes one line, without its newline. Progress is reported to the pool at once. */
void fa_handler_messages_add(struct fa_handler_messages *messages, struct fa_bytes line);
/* Takes one line of a process that serves many tasks, an object that passed fa_json_check. Its `id`
 * is skipped. */
void fa_handler_messages_add_object(struct fa_handler_messages *messages, struct fa_json object);
/* Sets S1, unless it is set already. */
void fa_handler_messages_refuse(struct fa_handler_messages *messages, const char *format, ...)
    FA_PRINTF(2, 3);
/* The outcome of an attempt that ended without an error, with this output (NULL: none; checked
 * here). It is a failure when a line or the output is invalid. */
struct fa_outcome fa_handler_messages_outcome(struct fa_handler_messages *messages,
                                              const char *output);
/* True: the handler asked for a later start, and reported no error: *outcome. */
bool fa_handler_messages_snoozes(struct fa_handler_messages *messages, struct fa_outcome *outcome);
/* True: the handler required resources that its task lacks, so the attempt ends with *outcome,
 * whatever its exit code. */
bool fa_handler_messages_requires(struct fa_handler_messages *messages, struct fa_outcome *outcome);

#endif
