/* frame.c - a head of 16 bytes, then the payload. */
#include "worker/plugin/frame.h"

void fa_frame_add(struct fa_buf *out, enum fa_frame_kind kind, uint64_t attempt, const char *ptr,
                  size_t len)
{
    struct fa_frame frame = {.kind = kind, .size = (uint32_t)len, .attempt = attempt};

    fa_buf_add(out, (const char *)&frame, sizeof(frame));
    fa_buf_add(out, ptr, len);
}

int fa_frame_read(struct fa_bytes in, struct fa_frame *frame, struct fa_bytes *payload,
                  size_t *used)
{
    if (in.len < sizeof(*frame))
        return 0;
    memcpy(frame, in.ptr, sizeof(*frame));
    if (frame->kind < FA_FRAME_START || frame->kind > FA_FRAME_END ||
        frame->size > FA_FRAME_SIZE_MAX)
        return -1;
    if (in.len - sizeof(*frame) < frame->size)
        return 0;
    *payload = (struct fa_bytes){in.ptr + sizeof(*frame), frame->size};
    *used = sizeof(*frame) + frame->size;
    return 1;
}
