/*
 * note.h - what is kept about an attempt, beside its outcome: how the process ended, what it used,
 * and its log. It becomes the detail of the event "attempt".
 *
 *     {"exitCode":0,"signal":null,"seconds":1.52,"cpuSeconds":0.31,"memoryBytes":8192000,
 *      "log":"...","logIsCut":false}
 */
#ifndef FA_NOTE_H
#define FA_NOTE_H

#include "base/bytes.h"

#include <sys/resource.h>

#define FA_NOTE_LOG_IN_ERROR 4096

struct fa_note {
    int status;         /* as wait4 gave it ... */
    bool has_no_status; /* ... unless no process of its own ended */
    struct rusage usage;
    int64_t took_us;
    const char *log; /* any bytes */
    size_t log_len;
    bool is_cut; /* there was more before */
};

/* The part that belongs into the error of an attempt: {exitCode, signal, log}, of the log the last
 * FA_NOTE_LOG_IN_ERROR bytes. NULL: it does not fit. */
const char *fa_note_error(struct fa_arena *arena, const struct fa_note *note);
const char *fa_note_json(struct fa_arena *arena, const struct fa_note *note);
/* Any bytes as text that may stand in JSON: what is no UTF-8, or NUL, becomes U+FFFD. */
const char *fa_note_text(struct fa_arena *arena, const char *ptr, size_t len);

#endif
