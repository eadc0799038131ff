/* task_rules.c - see task_rules.h. */
#include "model/task_rules.h"

#include "json/json.h"
#include "model/limits.h"
#include "model/states.h"
#include "model/times.h"

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

enum faina_code fa_key_scope_parse(const char *text, int64_t *out, struct faina_error *err)
{
    int64_t ms = 0;

    if (text == NULL || strcmp(text, "exists") == 0)
        *out = FA_KEY_SCOPE_EXISTS;
    else if (strcmp(text, "active") == 0)
        *out = FA_KEY_SCOPE_ACTIVE;
    else if (fa_duration_parse(text, "keyScope", &ms, NULL) == FAINA_OK && ms > 0)
        *out = ms;
    else
        return fa_error_field(err, FAINA_INVALID_TASK, "keyScope",
                              "keyScope is %.60s; it must be \"exists\", \"active\", or a duration "
                              "such as \"10m\"",
                              text);
    return FAINA_OK;
}

const char *fa_key_scope_text(int64_t scope, struct fa_arena *arena)
{
    if (scope == FA_KEY_SCOPE_EXISTS)
        return "exists";
    if (scope == FA_KEY_SCOPE_ACTIVE)
        return "active";
    return scope % 1000 == 0 ? fa_arena_printf(arena, "%llds", (long long)(scope / 1000))
                             : fa_arena_printf(arena, "%lldms", (long long)scope);
}

bool fa_key_scope_holds(int64_t scope, enum faina_status status, int64_t created_us, int64_t now_us)
{
    if (scope == FA_KEY_SCOPE_EXISTS)
        return true;
    if (scope == FA_KEY_SCOPE_ACTIVE)
        return !fa_status_is_ended(status);
    return now_us < created_us + scope * 1000;
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
