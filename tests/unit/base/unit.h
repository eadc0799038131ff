/*
 * unit.h - cmocka and what the tables of the unit tests share.
 *
 * A failing row of a table is named by its case, so that the line number isn't all there is.
 */
#ifndef FA_UNIT_H
#define FA_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"

#define SEED UINT64_C(20260102) /* of every random sequence: a failure can be repeated */

static inline void check_int(const char *name, int64_t got, int64_t expected)
{
    if (got != expected)
        fail_msg("%s: got %lld, expected %lld", name, (long long)got, (long long)expected);
}

static inline void check_str(const char *name, const char *got, const char *expected)
{
    if (!got || strcmp(got, expected) != 0)
        fail_msg("%s: got \"%s\", expected \"%s\"", name, got ? got : "(null)", expected);
}

static inline void check_true(const char *name, bool claim)
{
    if (!claim)
        fail_msg("%s: it is not so", name);
}

/* The whole of a file in our source tree, NUL-terminated; free it. */
static inline char *read_source(const char *path)
{
    char full[4096];
    char *text = NULL;
    size_t len = 0, size = 0;
    FILE *file;

    snprintf(full, sizeof(full), "%s/%s", FA_SOURCE_ROOT, path);
    file = fopen(full, "rb");
    if (!file)
        fail_msg("%s can't be read", full);
    do {
        size += 65536;
        text = fa_realloc(text, size + 1);
        len += fread(text + len, 1, size - len, file);
    } while (len == size);
    text[len] = '\0';
    fclose(file);
    return text;
}

#endif
