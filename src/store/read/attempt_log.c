/* attempt_log.c - the log of an attempt: that of its note, or the parts that were stored so far. */
#include "store/read/lookup.h"

#include "json/json.h"
#include "model/attempts.h"
#include "model/limits.h"

static struct fa_json detail_of(const struct faina_event *event)
{
    /* It was valid when it was stored, but the store may be damaged. */
    if (!event->detail || fa_json_check(fa_str(event->detail), FA_JSON_DEPTH_MAX + 1, "detail",
                                        FAINA_INTERNAL, NULL) != FAINA_OK)
        return fa_json_value(fa_str("{}"));
    return fa_json_value(fa_str(event->detail));
}

static void add_note(struct fa_buf *text, const struct faina_event *event,
                     struct fa_attempt_log *out, struct fa_arena *arena)
{
    struct fa_json detail = detail_of(event), cut;
    const char *log = fa_json_member_text(detail, "log", arena);

    if (fa_json_member(detail, "logIsCut", &cut) && cut.type == FA_JSON_TRUE) {
        out->is_cut = true;
        out->end = -1;
    } else if (out->end >= 0) {
        out->end += log ? (int64_t)strlen(log) : 0;
    }
    if (log)
        fa_buf_add_str(text, log);
}

static void add_parts(struct fa_buf *text, const struct fa_hold *hold, struct fa_attempt_log *out,
                      struct fa_arena *arena)
{
    int64_t end = 0;
    size_t size = 0;

    for (size_t i = 0; i < hold->part_count; i++) {
        struct fa_json detail = detail_of(hold->parts[i]);
        const char *log = fa_json_member_text(detail, "log", arena);

        if (!log)
            continue;
        fa_buf_add_str(text, log);
        size += strlen(log);
        end = fa_json_member_int(detail, "end");
    }
    out->is_cut |= end > (int64_t)size;
    if (out->end >= 0)
        out->end += end;
}

/* The end of the text, from the beginning of a character on. */
static const char *keep_end(struct fa_buf *text, struct fa_attempt_log *out, struct fa_arena *arena)
{
    size_t skip = text->len > FA_LOG_SIZE_MAX ? text->len - FA_LOG_SIZE_MAX : 0;

    out->is_cut |= skip > 0;
    while (skip > 0 && skip < text->len && ((unsigned char)text->ptr[skip] & 0xC0) == 0x80)
        skip++;
    return text->len > 0 ? fa_arena_copy(arena, text->ptr + skip, text->len - skip) : "";
}

static void collect(const struct fa_attempts *attempts, int64_t number, struct fa_attempt_log *out,
                    struct fa_arena *arena)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX / 2);
    for (size_t i = 0; i < attempts->count; i++) {
        const struct fa_hold *hold = &attempts->holds[i];

        if (hold->number != number)
            continue;
        out->attempt = number;
        out->worker_id = hold->worker;
        if (out->claimed_us == 0)
            out->claimed_us = hold->claimed_us;
        out->is_open = hold->end == NULL;
        if (hold->event)
            add_note(&text, hold->event, out, arena);
        else
            add_parts(&text, hold, out, arena);
    }
    out->text = keep_end(&text, out, arena);
    fa_buf_finish(&text);
}

enum faina_code fa_read_log(struct fa_source *source, struct fa_op *op, int64_t now_us)
{
    struct fa_op get = {.kind = FA_OP_EVENTS,
                        .id = op->id,
                        .page = {.limit = FA_LIST_LIMIT_MAX, .parts = true},
                        .arena = op->arena};
    struct fa_attempts attempts;
    struct fa_attempt_log *out;
    struct fa_row row;
    int64_t number;
    enum faina_code code = fa_read_find(source, op->id, op->arena, &row, &op->error);

    if (code != FAINA_OK)
        return code;
    code = fa_read_op(source, &get, now_us);
    if (code != FAINA_OK) {
        op->error = get.error;
        return code;
    }
    fa_attempts_read(op->arena, get.events, row.attempts, &attempts);
    number = op->log.attempt > 0 ? op->log.attempt : attempts.attempts;
    if (number > attempts.attempts)
        return fa_error_set(&op->error, FAINA_NOT_FOUND,
                            "task %s has no attempt %lld: there %s %lld", op->id, (long long)number,
                            attempts.attempts == 1 ? "was" : "were", (long long)attempts.attempts);
    out = fa_arena_zero(op->arena, 1, sizeof(*out));
    collect(&attempts, number, out, op->arena);
    op->log_answer = out;
    return FAINA_OK;
}
