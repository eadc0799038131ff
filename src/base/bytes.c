/*
 * bytes.c - arenas allocate from growing blocks; buffers double up to their maximum.
 *
 * An arena's blocks form a list whose head is the one being filled:
 *
 *     blocks -> [header | taken ... | next ..... end] -> [full block] -> [big request] -> NULL
 *
 * A request too big for a normal block gets a block of its own behind the head, so that what is
 * left of the head stays in use.
 */
#include "base/bytes.h"

#include <assert.h>
#include <endian.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_BLOCK_MIN ((size_t)1008) /* with its header not larger than malloc's cached sizes */
#define ARENA_BLOCK_MAX ((size_t)256 * 1024)
#define BUF_SIZE_MIN ((size_t)64)
#define GROW_MIN ((size_t)16)

struct fa_arena_block {
    struct fa_arena_block *behind;
    size_t size; /* of the data alone */
    alignas(max_align_t) char data[];
};

/* M3. There is nothing to clean up: acknowledged data is on disk already. */
static _Noreturn void die(const char *why)
{
    fprintf(stderr, "faina: %s\n", why);
    abort();
}

static size_t size_add(size_t a, size_t b)
{
    size_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        die("a size does not fit in memory");
    return sum;
}

static size_t size_multiply(size_t a, size_t b)
{
    size_t product;

    if (__builtin_mul_overflow(a, b, &product))
        die("a size does not fit in memory");
    return product;
}

char *fa_put_int(char *at, int64_t value)
{
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    char text[FA_INT_LENGTH_MAX], *first = text + sizeof(text);
    size_t len;

    do {
        *--first = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0)
        *--first = '-';
    len = (size_t)(text + sizeof(text) - first);
    memcpy(at, first, len);
    return at + len;
}

/* Eight digits at once: each gets a byte, the first one the lowest, and then its letter. */
static char *put_hex8(char *at, uint32_t bits)
{
    uint64_t digits = __builtin_bswap32(bits), letters;

    digits = (digits | digits << 16) & UINT64_C(0x0000ffff0000ffff);
    digits = (digits | digits << 8) & UINT64_C(0x00ff00ff00ff00ff);
    digits = (digits >> 4 | digits << 8) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    /* What is above 9 is moved from behind '9' to 'a'. */
    letters = (digits + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    digits += UINT64_C(0x3030303030303030) + letters * ('a' - '9' - 1);
    digits = htole64(digits);
    memcpy(at, &digits, sizeof(digits));
    return at + sizeof(digits);
}

char *fa_put_hex16(char *at, uint64_t bits)
{
    return put_hex8(put_hex8(at, (uint32_t)(bits >> 32)), (uint32_t)bits);
}

char *fa_put_hex(char *at, uint64_t bits)
{
    size_t len = bits ? (size_t)(67 - __builtin_clzll(bits)) / 4 : 1;
    char text[16];

    fa_put_hex16(text, bits);
    memcpy(at, text + 16 - len, len);
    return at + len;
}

bool fa_texts_have(const struct fa_texts *texts, const char *text)
{
    for (size_t i = 0; i < texts->count; i++)
        if (strcmp(texts->items[i], text) == 0)
            return true;
    return false;
}

static int fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

int fa_name_compare(const char *a, const char *b)
{
    while (*a != '\0' && fold(*a) == fold(*b))
        a++, b++;
    return fold(*a) - fold(*b);
}

bool fa_name_is_same(const char *a, const char *b)
{
    return fa_name_compare(a, b) == 0;
}

bool fa_name_has_prefix(const char *text, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (fold(text[i]) != fold(name[i]))
            return false;
    return true;
}

bool fa_names_have(const struct fa_texts *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (fa_name_is_same(names->items[i], name))
            return true;
    return false;
}

char *fa_name_fold(char *name)
{
    for (char *at = name; *at != '\0'; at++)
        *at = (char)fold(*at);
    return name;
}

bool fa_bytes_equal(struct fa_bytes a, struct fa_bytes b)
{
    /* The length test comes first also because memcmp must not see the NULL of an empty slice. */
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

int fa_bytes_compare(struct fa_bytes a, struct fa_bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common ? memcmp(a.ptr, b.ptr, common) : 0;

    if (order != 0)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

void *fa_alloc(size_t size)
{
    void *ptr = malloc(size ? size : 1);

    if (!ptr)
        die("out of memory");
    return ptr;
}

void *fa_alloc_zero(size_t count, size_t size)
{
    void *ptr = count && size ? calloc(count, size) : calloc(1, 1);

    if (!ptr)
        die("out of memory");
    return ptr;
}

void *fa_realloc(void *ptr, size_t size)
{
    void *moved = realloc(ptr, size ? size : 1);

    if (!moved)
        die("out of memory");
    return moved;
}

void *fa_grow(void *items, size_t count, size_t *size, size_t item_size)
{
    if (count < *size)
        return items;
    *size = *size ? *size * 2 : GROW_MIN;
    return fa_realloc(items, size_multiply(*size, item_size));
}

static struct fa_arena_block *block_create(struct fa_arena *arena, size_t size)
{
    struct fa_arena_block *block = fa_alloc(size_add(sizeof(*block), size));

    block->behind = NULL;
    block->size = size;
    arena->size += size;
    return block;
}

static void *take_own_block(struct fa_arena *arena, size_t size)
{
    struct fa_arena_block *block = block_create(arena, size);

    if (arena->blocks) {
        block->behind = arena->blocks->behind;
        arena->blocks->behind = block;
    } else {
        arena->blocks = block;
    }
    return block->data;
}

static void add_block(struct fa_arena *arena)
{
    size_t size = arena->next_size ? arena->next_size : ARENA_BLOCK_MIN;
    struct fa_arena_block *block = block_create(arena, size);

    block->behind = arena->blocks;
    arena->blocks = block;
    arena->next = block->data;
    arena->end = block->data + size;
    arena->next_size = size < ARENA_BLOCK_MAX ? size * 2 : size;
}

void *fa_arena_take(struct fa_arena *arena, size_t size)
{
    size_t rounded = size_add(size, alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    char *taken;

    /* An empty request still gets an address of its own. */
    if (rounded == 0)
        rounded = alignof(max_align_t);
    if (rounded > (size_t)(arena->end - arena->next)) {
        if (rounded > ARENA_BLOCK_MAX / 2)
            return take_own_block(arena, rounded);
        while (arena->next_size < rounded)
            arena->next_size = arena->next_size ? arena->next_size * 2 : ARENA_BLOCK_MIN;
        add_block(arena);
    }
    taken = arena->next;
    arena->next += rounded;
    return taken;
}

void *fa_arena_zero(struct fa_arena *arena, size_t count, size_t size)
{
    size_t total = size_multiply(count, size);

    return memset(fa_arena_take(arena, total), 0, total);
}

char *fa_arena_copy(struct fa_arena *arena, const char *ptr, size_t len)
{
    char *copy = fa_arena_take(arena, size_add(len, 1));

    if (len)
        memcpy(copy, ptr, len);
    copy[len] = '\0';
    return copy;
}

char *fa_arena_strdup(struct fa_arena *arena, const char *text)
{
    return text ? fa_arena_copy(arena, text, strlen(text)) : NULL;
}

const char **fa_arena_strs(struct fa_arena *arena, const char *const *texts, size_t count)
{
    const char **copy = fa_arena_zero(arena, count + 1, sizeof(char *));

    for (size_t i = 0; i < count; i++)
        copy[i] = fa_arena_strdup(arena, texts[i]);
    return copy;
}

/* Most texts fit into what is left of the block, and are written once. */
char *fa_arena_printf(struct fa_arena *arena, const char *format, ...)
{
    size_t room = (size_t)(arena->end - arena->next);
    va_list args;
    char *text;
    int len;

    va_start(args, format);
    len = vsnprintf(arena->next, room, format, args);
    va_end(args);
    assert(len >= 0);
    text = fa_arena_take(arena, (size_t)len + 1);
    if ((size_t)len < room)
        return text;
    va_start(args, format);
    vsnprintf(text, (size_t)len + 1, format, args);
    va_end(args);
    return text;
}

static void free_blocks(struct fa_arena_block *block)
{
    while (block) {
        struct fa_arena_block *behind = block->behind;

        free(block);
        block = behind;
    }
}

void *fa_arena_grow(struct fa_arena *arena, void *items, size_t count, size_t *size,
                    size_t item_size)
{
    void *more;

    if (count < *size)
        return items;
    *size = *size ? *size * 2 : 8;
    more = fa_arena_zero(arena, *size, item_size);
    if (count > 0)
        memcpy(more, items, count * item_size);
    return more;
}

void fa_arena_finish(struct fa_arena *arena)
{
    free_blocks(arena->blocks);
    *arena = (struct fa_arena){0};
}

void fa_arena_reset(struct fa_arena *arena)
{
    struct fa_arena_block *kept = arena->blocks;

    /* The head is the largest of the normal blocks. If it is not one (there was only one large
     * allocation), it is freed too: keeping it would hold the memory. */
    if (!kept || kept->size > ARENA_BLOCK_MAX) {
        fa_arena_finish(arena);
        return;
    }
    free_blocks(kept->behind);
    kept->behind = NULL;
    arena->next = kept->data;
    arena->end = kept->data + kept->size;
    arena->size = kept->size;
}

void fa_buf_init(struct fa_buf *buf, size_t max)
{
    *buf = (struct fa_buf){.max = max};
}

/* Makes room for `len` more bytes and a NUL. False: that would be more than the maximum (M2). After
 * an overflow nothing more is added, so that the text has no gap. */
static bool grow(struct fa_buf *buf, size_t len)
{
    size_t needed, size;

    if (buf->overflow || len > buf->max - buf->len) {
        buf->overflow = true;
        return false;
    }
    needed = size_add(buf->len + len, 1);
    if (needed <= buf->size)
        return true;
    size = buf->size ? buf->size : BUF_SIZE_MIN;
    while (size < needed)
        size = size_multiply(size, 2);
    if (size - 1 > buf->max)
        size = size_add(buf->max, 1);
    buf->ptr = fa_realloc(buf->ptr, size);
    buf->size = size;
    return true;
}

/* The same, inline for the usual case that there is room. (The size is never beyond the maximum and
 * its NUL.) */
static inline bool make_room(struct fa_buf *buf, size_t len)
{
    return (len < buf->size - buf->len && !buf->overflow) || grow(buf, len);
}

char *fa_buf_extend(struct fa_buf *buf, size_t len)
{
    char *at;

    if (!make_room(buf, len))
        return NULL;
    at = buf->ptr + buf->len;
    buf->len += len;
    buf->ptr[buf->len] = '\0';
    return at;
}

void fa_buf_reserve(struct fa_buf *buf, size_t len)
{
    if (len <= buf->max - buf->len)
        (void)make_room(buf, len);
}

void fa_buf_add(struct fa_buf *buf, const char *ptr, size_t len)
{
    char *at = fa_buf_extend(buf, len);

    if (at && len)
        memcpy(at, ptr, len);
}

void fa_buf_add_str(struct fa_buf *buf, const char *text)
{
    fa_buf_add(buf, text, strlen(text));
}

void fa_buf_add_char(struct fa_buf *buf, char c)
{
    char *at = fa_buf_extend(buf, 1);

    if (at)
        *at = c;
}

/* Most texts fit into what is there, and are written once. */
void fa_buf_printf(struct fa_buf *buf, const char *format, ...)
{
    size_t room = buf->overflow ? 0 : buf->size - buf->len;
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(room ? buf->ptr + buf->len : NULL, room, format, args);
    va_end(args);
    assert(len >= 0);
    if (room && (size_t)len >= room)
        buf->ptr[buf->len] = '\0'; /* undoes the truncated write */
    if (!make_room(buf, (size_t)len))
        return;
    if ((size_t)len >= room) {
        va_start(args, format);
        vsnprintf(buf->ptr + buf->len, (size_t)len + 1, format, args);
        va_end(args);
    }
    buf->len += (size_t)len;
}

void fa_buf_clear(struct fa_buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
    if (buf->ptr)
        buf->ptr[0] = '\0';
}

void fa_buf_finish(struct fa_buf *buf)
{
    free(buf->ptr);
    *buf = (struct fa_buf){.max = buf->max};
}
