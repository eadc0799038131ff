/*
 * error.c - filling in a struct faina_error.
 */
#include "base/error.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>

/* Copies what fits, in whole characters: the sentence is written as JSON later. */
static void copy_clipped(char *to, size_t size, const char *from)
{
    size_t len = strlen(from);

    if (len >= size) {
        len = size - 1;
        while (len > 0 && ((unsigned char)from[len] & 0xc0) == 0x80)
            len--;
    }
    memcpy(to, from, len);
    to[len] = '\0';
}

/* A precision in a format ("%.100s") may have cut a character in the middle: its remaining bytes
 * are removed. */
static void drop_halves(char *text)
{
    for (;;) {
        size_t good = fa_utf8_valid_length(fa_str(text));

        text += good;
        if (*text == '\0')
            return;
        memmove(text, text + 1, strlen(text));
    }
}

FA_PRINTF(4, 0)
static void fill(struct faina_error *err, enum faina_code code, const char *field,
                 const char *format, va_list args)
{
    /* A byte more than fits, so that a sentence cut short shows where its last character began. The
     * copy also lets the arguments point into `err`: "task 7: %s", err->message. */
    char text[sizeof(err->message) + 1];

    if (!err)
        return;
    vsnprintf(text, sizeof(text), format, args);
    copy_clipped(err->field, sizeof(err->field), field);
    copy_clipped(err->message, sizeof(err->message), text);
    drop_halves(err->field);
    drop_halves(err->message);
    err->code = code;
    err->line = 0;
    err->column = 0;
}

enum faina_code fa_error_set(struct faina_error *err, enum faina_code code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, code, "", format, args);
    va_end(args);
    return code;
}

enum faina_code fa_error_field(struct faina_error *err, enum faina_code code, const char *field,
                               const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill(err, code, field, format, args);
    va_end(args);
    return code;
}

void fa_error_position(struct faina_error *err, int line, int column)
{
    if (!err)
        return;
    err->line = line;
    err->column = column;
}

void fa_error_clear(struct faina_error *err)
{
    if (!err)
        return;
    err->code = FAINA_OK;
    err->line = 0;
    err->column = 0;
    err->field[0] = '\0';
    err->message[0] = '\0';
}
