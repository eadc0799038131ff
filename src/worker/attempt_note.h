/*
 * attempt_note.h - what is stored about an attempt beside its outcome: exit status, resource usage
 * and log. It becomes the detail of the event "attempt".
 *
 *     {"exitCode":0,"signal":null,"seconds":1.52,"cpuSeconds":0.31,"memoryBytes":8192000,
 *      "log":"...","logIsCut":false}
 */
#ifndef FA_WORKER_ATTEMPT_NOTE_H
#define FA_WORKER_ATTEMPT_NOTE_H

#include "base/bytes.h"

#include <sys/resource.h>

#define FA_NOTE_LOG_KEPT (64 * 1024) /* the last bytes of the attempt's log */
#define FA_NOTE_LOG_MAX (2 * FA_NOTE_LOG_KEPT)
#define FA_NOTE_LOG_IN_ERROR 4096

struct fa_note {
    int status;         /* of wait4 */
    bool has_no_status; /* the attempt had no process of its own */
    struct rusage usage;
    int64_t took_us;
    const char *log; /* any bytes */
    size_t log_len;
    bool is_cut; /* there was more before */
};

/* Adds to a log whose maximum is at least FA_NOTE_LOG_MAX. True: the log was full and has been cut
 * to its last FA_NOTE_LOG_KEPT bytes. */
bool fa_note_log_add(struct fa_buf *log, const char *ptr, size_t len);
/* The detail of an attempt's error: {exitCode, signal, log}, with the last FA_NOTE_LOG_IN_ERROR
 * bytes of the log. NULL: it does not fit. */
const char *fa_note_error(struct fa_arena *arena, const struct fa_note *note);
const char *fa_note_json(struct fa_arena *arena, const struct fa_note *note);
/* Any bytes as text for JSON: bytes that are not UTF-8, and NUL, become U+FFFD. */
const char *fa_note_text(struct fa_arena *arena, const char *ptr, size_t len);

#endif
