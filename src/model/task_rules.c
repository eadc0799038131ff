/* task_rules.c - see task_rules.h. */
#include "model/task_rules.h"

#include "json/json.h"
#include "model/limits.h"

#include <assert.h>

const char *fa_task_state(enum faina_status status)
{
    static const char *const states[FAINA_STATUS_COUNT] = {
        [FAINA_PENDING] = "Queued",
        [FAINA_CLAIMED] = "Claimed",
        [FAINA_RUNNING] = "Running",
        [FAINA_BLOCKED] = "Waiting for other tasks",
        [FAINA_BACKGROUND] = "In the background",
        [FAINA_COMPLETED] = "Completed",
        [FAINA_FAILED] = "Failed",
        [FAINA_DEAD_LETTER] = "Out of attempts",
        [FAINA_CANCELLED] = "Cancelled by user",
    };

    assert((unsigned)status < FAINA_STATUS_COUNT);
    return states[status];
}

int64_t fa_task_max_attempts(int submitted)
{
    if (submitted == 0)
        return FA_ATTEMPTS_DEFAULT;
    return submitted == FAINA_UNLIMITED ? 0 : submitted;
}

int64_t fa_lease_us(int64_t lease_ms)
{
    return (lease_ms > 0 ? lease_ms : FA_LEASE_MS_DEFAULT) * 1000;
}

void fa_input_hash(const char *input, char out[FA_SHA256_HEX_SIZE])
{
    uint8_t digest[FA_SHA256_SIZE];
    struct fa_buf canonical;

    fa_buf_init(&canonical, SIZE_MAX / 2);
    fa_json_canonical(fa_str(input ? input : "null"), &canonical);
    fa_sha256((struct fa_bytes){canonical.ptr, canonical.len}, digest);
    fa_hex(digest, sizeof(digest), out);
    fa_buf_finish(&canonical);
}

/* ------------------------------------------------------------------------------------------
 * Details of events
 */

static void begin(struct fa_json_writer *w, struct fa_buf *buf)
{
    fa_buf_init(buf, SIZE_MAX / 2);
    fa_json_writer_init(w, buf, 0);
    fa_json_begin_object(w);
}

static const char *end(struct fa_json_writer *w, struct fa_buf *buf, struct fa_arena *arena)
{
    const char *text;

    fa_json_end_object(w);
    text = fa_arena_copy(arena, buf->ptr, buf->len);
    fa_buf_finish(buf);
    return text;
}

const char *fa_failure_json(const struct faina_failure *failure, struct fa_arena *arena)
{
    struct fa_json_writer w;
    struct fa_buf buf;

    begin(&w, &buf);
    fa_json_set_str(&w, "message", failure->message);
    fa_json_set_str(&w, "kind", failure->kind);
    fa_json_set_raw(&w, "detail", failure->detail);
    fa_json_set_bool(&w, "retryable", !failure->permanent);
    return end(&w, &buf, arena);
}

int64_t fa_failure_retry_us(const struct faina_failure *failure, int64_t now_us)
{
    return failure->retry_after_ms > 0 ? now_us + failure->retry_after_ms * 1000
                                       : failure->retry_at_us;
}

const char *fa_snooze_json(int64_t for_ms, struct fa_arena *arena)
{
    return fa_arena_printf(arena, "{\"seconds\":%lld.%03lld}", (long long)(for_ms / 1000),
                           (long long)(for_ms % 1000));
}

const char *fa_created_json(const struct faina_task *task, struct fa_arena *arena)
{
    struct fa_json_writer w;
    struct fa_buf buf;

    begin(&w, &buf);
    fa_json_set_str(&w, "type", task->type);
    fa_json_set_int(&w, "priority", task->priority);
    fa_json_set_int(&w, "maxAttempts", task->max_attempts);
    fa_json_opt_str(&w, "idempotencyKey", task->idempotency_key);
    return end(&w, &buf, arena);
}

const char *fa_late_json(const char *outcome, bool has_fence, int64_t fence, enum faina_code code,
                         struct fa_arena *arena)
{
    struct fa_json_writer w;
    struct fa_buf buf;

    begin(&w, &buf);
    fa_json_set_str(&w, "outcome", outcome);
    fa_json_key(&w, "fence");
    if (has_fence)
        fa_json_put_int(&w, fence);
    else
        fa_json_put_null(&w);
    fa_json_set_str(&w, "refused", faina_code_name(code));
    return end(&w, &buf, arena);
}
