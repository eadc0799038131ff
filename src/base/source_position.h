/*
 * source_position.h - a position in a text: line and column, both from 1. Columns count bytes.
 */
#ifndef FA_BASE_SOURCE_POSITION_H
#define FA_BASE_SOURCE_POSITION_H

#include "base/bytes.h"

struct fa_source_position {
    int line, column;
};

/* The position of a byte of `text`, or of its end. */
struct fa_source_position fa_source_position_find(struct fa_bytes text, size_t offset);

#define FA_SNIPPET_SIZE 48

/* The beginning of a text for a message: short, whole characters, no control characters. Bytes that
 * are not UTF-8 become question marks. Returns `out`. */
const char *fa_snippet(struct fa_bytes text, char out[FA_SNIPPET_SIZE]);

#endif
