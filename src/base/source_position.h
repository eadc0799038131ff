/*
 * place.h - where in a text: line and column, both from 1. Columns count bytes.
 */
#ifndef FA_PLACE_H
#define FA_PLACE_H

#include "base/bytes.h"

struct fa_place {
    int line, column;
};

/* The place of a byte of `text`, or right behind it. */
struct fa_place fa_place_find(struct fa_bytes text, size_t offset);

#define FA_SNIPPET_SIZE 48

/* A piece of somebody's text for a message: short, whole characters, no control characters. Bytes
 * that are not UTF-8 show as question marks. Returns `out`. */
const char *fa_snippet(struct fa_bytes text, char out[FA_SNIPPET_SIZE]);

#endif
