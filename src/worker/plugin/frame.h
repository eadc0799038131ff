/*
 * frame.h - the protocol between the pool and a plugin's process, over a socket. A frame has a
 * kind, the number of an attempt, and JSON.
 *
 *     pool -> host   START    the task, its phase and its subtasks, and the worker's id
 *                    STOP     (nothing)
 *     host -> pool   HELLO    {"types":[{type, timeoutMs, concurrency, settings}], "workflow":...},
 *     or
 *                             {"error":...}
 *                    MESSAGE  one line as on descriptor 3 of a command (handler_message.h)
 *                    END      {"output":..., "cpuSeconds":..., "memoryBytes":...}
 *
 * Both sides are the same program, so numbers are in its own byte order.
 */
#ifndef FA_WORKER_PLUGIN_FRAME_H
#define FA_WORKER_PLUGIN_FRAME_H

#include "base/bytes.h"

enum fa_frame_kind {
    FA_FRAME_START = 1,
    FA_FRAME_STOP,
    FA_FRAME_HELLO,
    FA_FRAME_MESSAGE,
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
/* Reads the first frame of `in`. 1: *frame, *payload (without a NUL) and *used, its size with the
 * head, are set; 0: it is not complete yet; -1: it is invalid. */
int fa_frame_read(struct fa_bytes in, struct fa_frame *frame, struct fa_bytes *payload,
                  size_t *used);

#endif
