/*
 * frame.h - what the pool and a plugin's process say to each other over a socket: frames of a
 * kind, the number of an attempt, and JSON.
 *
 *     pool -> host   START  the task, its phase and its subtasks      STOP  (nothing)
 *     host -> pool   HELLO  {"types":[{type, timeoutMs, concurrency, wish}]}, or {"error":...}
 *                    SAID   one line as on descriptor 3 of a command (said.h)
 *                    END    {"outcome":..., "output":..., "cpuSeconds":..., "memoryBytes":...}
 *
 * Both sides are the same program, so numbers are in its own byte order.
 */
#ifndef FA_FRAME_H
#define FA_FRAME_H

#include "base/bytes.h"

enum fa_frame_kind {
    FA_FRAME_START = 1,
    FA_FRAME_STOP,
    FA_FRAME_HELLO,
    FA_FRAME_SAID,
    FA_FRAME_END
};

struct fa_frame {
    uint32_t kind;
    uint32_t size; /* of the payload */
    uint64_t attempt;
};

#define FA_FRAME_SIZE_MAX ((size_t)768 * 1024 * 1024)

void fa_frame_add(struct fa_buf *out, enum fa_frame_kind kind, uint64_t attempt, const char *ptr,
                  size_t len);
/* The first frame of `in`. 1: *frame and *payload (ends with no NUL) are set, and *used tells how
 * many bytes it took; 0: it isn't whole yet; -1: it makes no sense. */
int fa_frame_read(struct fa_bytes in, struct fa_frame *frame, struct fa_bytes *payload,
                  size_t *used);

#endif
