/* attempt_note.c - see attempt_note.h. */
#include "worker/attempt_note.h"

#include "json/json.h"
#include "base/utf8.h"
#include "model/limits.h"
#include <sys/wait.h>

#define REPLACEMENT "\xEF\xBF\xBD"

bool fa_note_log_add(struct fa_buf *log, const char *ptr, size_t len)
{
    bool is_full = log->len + len > log->max;

    if (is_full) {
        size_t keep = log->len < FA_NOTE_LOG_KEPT ? log->len : FA_NOTE_LOG_KEPT;

        memmove(log->ptr, log->ptr + log->len - keep, keep);
        log->len = keep;
    }
    fa_buf_add(log, ptr, len);
    return is_full;
}

/* Up to the first NUL or byte that is not UTF-8. */
static size_t good_length(const char *ptr, size_t len)
{
    const char *nul = memchr(ptr, '\0', len);

    return fa_utf8_valid_length((struct fa_bytes){ptr, nul ? (size_t)(nul - ptr) : len});
}

const char *fa_note_text(struct fa_arena *arena, const char *ptr, size_t len)
{
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, len * strlen(REPLACEMENT) + 1);
    while (len > 0) {
        size_t good = good_length(ptr, len);

        fa_buf_add(&buf, ptr, good);
        if (good < len) {
            fa_buf_add_str(&buf, REPLACEMENT);
            good++;
        }
        ptr += good;
        len -= good;
    }
    text = fa_arena_copy(arena, buf.ptr ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    return text;
}

static int64_t to_us(const struct timeval *time)
{
    return (int64_t)time->tv_sec * 1000000 + time->tv_usec;
}

static void put_log(struct fa_json_writer *w, struct fa_arena *arena, const struct fa_note *note,
                    size_t max)
{
    size_t skip = note->log_len > max ? note->log_len - max : 0;

    while (skip > 0 && skip < note->log_len && ((unsigned char)note->log[skip] & 0xC0) == 0x80)
        skip++; /* not in the middle of a character */
    fa_json_set_str(w, "log",
                    note->log_len ? fa_note_text(arena, note->log + skip, note->log_len - skip)
                                  : NULL);
    fa_json_set_bool(w, "logIsCut", note->is_cut || skip > 0);
}

static void put_status(struct fa_json_writer *w, const struct fa_note *note)
{
    fa_json_key(w, "exitCode");
    if (!note->has_no_status && WIFEXITED(note->status))
        fa_json_put_int(w, WEXITSTATUS(note->status));
    else
        fa_json_put_null(w);
    fa_json_key(w, "signal");
    if (!note->has_no_status && WIFSIGNALED(note->status))
        fa_json_put_int(w, WTERMSIG(note->status));
    else
        fa_json_put_null(w);
}

static void put_usage(struct fa_json_writer *w, const struct fa_note *note)
{
    int64_t cpu_us = to_us(&note->usage.ru_utime) + to_us(&note->usage.ru_stime);

    fa_json_set_double(w, "seconds", (double)note->took_us / 1e6);
    fa_json_set_double(w, "cpuSeconds", (double)cpu_us / 1e6);
    fa_json_set_int(w, "memoryBytes", (int64_t)note->usage.ru_maxrss * 1024);
}

static const char *write_note(struct fa_arena *arena, const struct fa_note *note, size_t max,
                              bool with_usage)
{
    struct fa_json_writer w;
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, max);
    fa_json_writer_init(&w, &buf, 0);
    fa_json_begin_object(&w);
    put_status(&w, note);
    if (with_usage)
        put_usage(&w, note);
    put_log(&w, arena, note, with_usage ? FA_NOTE_LOG_KEPT : FA_NOTE_LOG_IN_ERROR);
    fa_json_end_object(&w);
    text = buf.overflow ? NULL : fa_arena_copy(arena, buf.ptr, buf.len);
    fa_buf_finish(&buf);
    return text;
}

const char *fa_note_json(struct fa_arena *arena, const struct fa_note *note)
{
    return write_note(arena, note, FA_NOTE_SIZE_MAX, true);
}

const char *fa_note_error(struct fa_arena *arena, const struct fa_note *note)
{
    return write_note(arena, note, FA_ERROR_DETAIL_SIZE_MAX, false);
}
