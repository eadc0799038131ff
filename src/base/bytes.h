/*
 * bytes.h - slices, arenas and growing buffers.
 *
 * A slice (fa_bytes) owns nothing. An arena (fa_arena) owns all memory taken from it and frees it
 * at once. A buffer (fa_buf) grows up to a maximum that is set when it is made.
 *
 *   M1  Memory from an arena is aligned for any type and lives until fa_arena_finish.
 *   M2  A buffer never grows past its maximum; bytes that don't fit set `overflow`.
 *   M3  Out of memory ends the process with a message: nothing acknowledged is lost by that.
 *
 * Threads: each object belongs to one thread at a time.
 */
#ifndef FA_BASE_BYTES_H
#define FA_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FA_MUST_CHECK __attribute__((warn_unused_result))
#define FA_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define FA_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* The struct of this type whose `member` the pointer points to. */
#define FA_CONTAINER_OF(pointer, type, member)                                                     \
    ((type *)(void *)((char *)(uintptr_t)(pointer)-offsetof(type, member)))

/* Borrowed bytes. NUL bytes are allowed inside. */
struct fa_bytes {
    const char *ptr;
    size_t len;
};

#define FA_LIT(text) ((struct fa_bytes){(text), sizeof(text) - 1})

static inline struct fa_bytes fa_str(const char *text) /* NULL gives an empty slice */
{
    return (struct fa_bytes){text, text ? strlen(text) : 0};
}

#define FA_INT_LENGTH_MAX 20

static inline bool fa_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* These write at `at`, without a NUL, and return the end. */
char *fa_put_int(char *at, int64_t value);   /* at most FA_INT_LENGTH_MAX */
char *fa_put_hex(char *at, uint64_t bits);   /* without leading zeros, at most 16 */
char *fa_put_hex16(char *at, uint64_t bits); /* all 16 digits */

/* Borrowed texts. */
struct fa_texts {
    const char *const *items; /* NULL: absent, which may mean any */
    size_t count;
};

bool fa_texts_have(const struct fa_texts *texts, const char *text);

/* Names of types and resources keep their spelling. Two of them are the same name if they differ
 * only in the case of ASCII letters, whatever the locale. */
bool fa_name_is_same(const char *a, const char *b);
int fa_name_compare(const char *a, const char *b); /* 0: the same */
bool fa_names_have(const struct fa_texts *names, const char *name);
/* As fa_name_is_same, for the first `len` bytes; the texts may not end there. */
bool fa_name_has_prefix(const char *text, const char *name, size_t len);
char *fa_name_fold(char *name); /* to lower case, in place; returns it */

bool fa_bytes_equal(struct fa_bytes a, struct fa_bytes b);
/* As memcmp, then the shorter one first. */
int fa_bytes_compare(struct fa_bytes a, struct fa_bytes b);

/* malloc, calloc and realloc that end the process when there is no memory (M3). */
void *fa_alloc(size_t size);
void *fa_alloc_zero(size_t count, size_t size);
void *fa_realloc(void *ptr, size_t size);
/* An array with room for one more item than `count`: `items` itself, or a copy of twice the size,
 * which is stored in `*size`. The items are not zeroed. */
FA_MUST_CHECK void *fa_grow(void *items, size_t count, size_t *size, size_t item_size);

struct fa_arena_block;

/* All zero is an empty arena. */
struct fa_arena {
    struct fa_arena_block *blocks;
    char *next, *end;
    size_t next_size;
    size_t size; /* of all blocks together */
};

void *fa_arena_take(struct fa_arena *arena, size_t size);                 /* not zeroed */
void *fa_arena_zero(struct fa_arena *arena, size_t count, size_t size);   /* zeroed */
char *fa_arena_copy(struct fa_arena *arena, const char *ptr, size_t len); /* adds a NUL */
char *fa_arena_strdup(struct fa_arena *arena, const char *text);          /* NULL gives NULL */
/* Copies of the texts in a new array that ends with a NULL. */
const char **fa_arena_strs(struct fa_arena *arena, const char *const *texts, size_t count);
char *fa_arena_printf(struct fa_arena *arena, const char *format, ...) FA_PRINTF(2, 3);
/* An array with room for one more than `count` items: `items` itself, or a larger, zeroed copy. */
void *fa_arena_grow(struct fa_arena *arena, void *items, size_t count, size_t *size,
                    size_t item_size);
void fa_arena_finish(struct fa_arena *arena); /* frees all; the arena is empty again */
void fa_arena_reset(struct fa_arena *arena);  /* as finish, but keeps one block for reuse */

/* Text being built. Always ends with a NUL that `len` doesn't count, once anything was added. */
struct fa_buf {
    char *ptr;
    size_t len, size, max;
    bool overflow; /* something did not fit (M2) */
};

void fa_buf_init(struct fa_buf *buf, size_t max);
void fa_buf_add(struct fa_buf *buf, const char *ptr, size_t len);
void fa_buf_add_str(struct fa_buf *buf, const char *text);
void fa_buf_add_char(struct fa_buf *buf, char c);
void fa_buf_printf(struct fa_buf *buf, const char *format, ...) FA_PRINTF(2, 3);
/* Adds `len` bytes for the caller to fill in. NULL: they don't fit (M2). */
char *fa_buf_extend(struct fa_buf *buf, size_t len);
/* Takes memory for `len` bytes beforehand. */
void fa_buf_reserve(struct fa_buf *buf, size_t len);
void fa_buf_clear(struct fa_buf *buf); /* empties it, keeps its memory */
void fa_buf_finish(struct fa_buf *buf);

#endif
