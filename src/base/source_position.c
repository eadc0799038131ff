/*
 * source_position.c - see source_position.h.
 */
#include "base/source_position.h"

#include "base/utf8.h"

#include <assert.h>
#include <limits.h>

#define CUT_MARK "..."

struct fa_source_position fa_source_position_find(struct fa_bytes text, size_t offset)
{
    size_t lines = 1, start = 0;

    assert(offset <= text.len);
    for (size_t i = 0; i < offset; i++) {
        if (text.ptr[i] == '\n') {
            lines++;
            start = i + 1;
        }
    }
    return (struct fa_source_position){
        .line = lines < INT_MAX ? (int)lines : INT_MAX,
        .column = offset - start < INT_MAX ? (int)(offset - start + 1) : INT_MAX,
    };
}

const char *fa_snippet(struct fa_bytes text, char out[FA_SNIPPET_SIZE])
{
    size_t room = FA_SNIPPET_SIZE - sizeof(CUT_MARK);
    bool is_cut = text.len > room;
    size_t shown = fa_utf8_clip(text, room);

    if (shown > 0)
        memcpy(out, text.ptr, shown);
    for (size_t i = 0; i < shown; i++) {
        unsigned char c = (unsigned char)out[i];

        if (c < 0x20 || c == 0x7f)
            out[i] = c == '\n' || c == '\t' || c == '\r' ? ' ' : '?';
    }
    for (size_t valid; (valid = fa_utf8_valid_length((struct fa_bytes){out, shown})) < shown;)
        out[valid] = '?';
    memcpy(out + shown, is_cut ? CUT_MARK : "", is_cut ? sizeof(CUT_MARK) : 1);
    return out;
}
