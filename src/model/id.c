/*
 * id.c - UUIDv7 in two 64-bit halves.
 *
 *     first half:  milliseconds (48) | 7 (4) | fraction (12)
 *     second half: 2 (2) | tail (62)
 *
 * A key is the first half without the version.
 */
#include "model/id.h"

#include <assert.h>

#define FRACTION_BITS 12
#define FRACTION_MASK ((1 << FRACTION_BITS) - 1)
#define TAIL_BITS 62
#define TAIL_MASK ((UINT64_C(1) << TAIL_BITS) - 1)
#define KEY_END (INT64_C(1) << 60) /* one past the greatest key, in the year 10889 */
#define MS_END (KEY_END >> FRACTION_BITS)
#define VERSION 7
#define EVENT_VERSION UINT64_C(8)
#define KEY_BITS 60
#define KEY_MASK ((UINT64_C(1) << KEY_BITS) - 1)
#define VARIANT 2
#define TEXT_LENGTH (FAINA_ID_SIZE - 1)

int64_t fa_id_key_at(int64_t us)
{
    int64_t ms = us / 1000, rest = us % 1000;

    if (us <= 0)
        return 0;
    if (ms >= MS_END)
        return KEY_END;
    /* Rounded up (I2). The rest is below 1000, so the fraction stays below 4096. */
    return (ms << FRACTION_BITS) + ((rest << FRACTION_BITS) + 999) / 1000;
}

int64_t fa_id_key_us(int64_t key)
{
    return (key >> FRACTION_BITS) * 1000 + ((key & FRACTION_MASK) * 1000 >> FRACTION_BITS);
}

/* The smallest key of the generator's slot that is not below `key` (I4). */
static int64_t next_in_slot(const struct fa_id_source *source, int64_t key)
{
    int64_t step = INT64_C(1) << source->slot_bits, found = (key & -step) + source->slot;

    return found < key ? found + step : found;
}

/* When the clock doesn't advance or steps back, the keys run ahead of it (I1). */
static int64_t next_key(const struct fa_id_source *source, int64_t now_us)
{
    int64_t key = fa_id_key_at(now_us);

    return next_in_slot(source, key <= source->last_key ? source->last_key + 1 : key);
}

static struct fa_id add_tail(struct fa_id_source *source, int64_t key)
{
    return (struct fa_id){key, (int64_t)(fa_random_next(&source->random) & TAIL_MASK)};
}

bool fa_id_has_next(const struct fa_id_source *source, int64_t now_us)
{
    return source->end_key == 0 || next_key(source, now_us) < source->end_key;
}

struct fa_id fa_id_next(struct fa_id_source *source, int64_t now_us)
{
    int64_t key = next_key(source, now_us);

    assert(key > 0);
    assert(key < KEY_END);
    assert(source->end_key == 0 || key < source->end_key);
    source->last_key = key;
    return add_tail(source, key);
}

struct fa_id fa_id_free(struct fa_id_source *source, int64_t now_us)
{
    int64_t key = fa_id_key_at(now_us);

    return add_tail(source, key > 0 ? key : 1);
}

/* Both halves as text, with dashes. */
static void put_uuid(uint64_t first, uint64_t second, char out[FAINA_ID_SIZE])
{
    char text[32];

    fa_put_hex16(fa_put_hex16(text, first), second);
    memcpy(out, text, 8);
    out[8] = '-';
    memcpy(out + 9, text + 8, 4);
    out[13] = '-';
    memcpy(out + 14, text + 12, 4);
    out[18] = '-';
    memcpy(out + 19, text + 16, 4);
    out[23] = '-';
    memcpy(out + 24, text + 20, 12);
    out[TEXT_LENGTH] = '\0';
}

void fa_id_format(struct fa_id id, char out[FAINA_ID_SIZE])
{
    /* An id read from a damaged file must not end the process: its text is some id that no task
     * has.
     */
    uint64_t key = (uint64_t)id.key;
    uint64_t first = key >> FRACTION_BITS << 16 | VERSION << FRACTION_BITS | (key & FRACTION_MASK);

    put_uuid(first, (uint64_t)VARIANT << TAIL_BITS | ((uint64_t)id.tail & TAIL_MASK), out);
}

void fa_event_id_format(int64_t task, int64_t at_us, const char *what, char out[FAINA_ID_SIZE])
{
    uint64_t us = (uint64_t)at_us, length = strlen(what);
    uint64_t first =
        us / 1000 << 16 | EVENT_VERSION << FRACTION_BITS | us % 1000 << 2 | (length & 3);
    uint64_t second = (uint64_t)VARIANT << TAIL_BITS | (length >> 2 & 3) << KEY_BITS |
                      ((uint64_t)task & KEY_MASK);

    put_uuid(first, second, out);
}

/* One more than the value of a hexadecimal digit; 0 for everything else. */
static const uint8_t digits[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

/* Reads `count` digits and the character after them, a dash or the end; NULL: invalid. */
static const char *take_digits(const char *at, int count, char after, uint64_t *bits)
{
    for (int i = 0; i < count; i++, at++) {
        unsigned digit = digits[(unsigned char)*at]; /* the end of the text is no digit either */

        if (digit == 0)
            return NULL;
        *bits = *bits << 4 | (digit - 1);
    }
    return *at == after ? at + 1 : NULL;
}

bool fa_id_parse(const char *text, struct fa_id *out)
{
    uint64_t first = 0, second = 0;
    int64_t key;

    if (text == NULL || !(text = take_digits(text, 8, '-', &first)) ||
        !(text = take_digits(text, 4, '-', &first)) ||
        !(text = take_digits(text, 4, '-', &first)) ||
        !(text = take_digits(text, 4, '-', &second)) || !take_digits(text, 12, '\0', &second))
        return false;
    if ((first >> FRACTION_BITS & 15) != VERSION || second >> TAIL_BITS != VARIANT)
        return false;
    key = (int64_t)(first >> 16 << FRACTION_BITS | (first & FRACTION_MASK));
    if (key == 0)
        return false;
    *out = (struct fa_id){key, (int64_t)(second & TAIL_MASK)};
    return true;
}

bool fa_uuid_parse(const char *text, char out[FAINA_ID_SIZE])
{
    if (text == NULL)
        return false;
    for (int i = 0; i < TEXT_LENGTH; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        unsigned digit = digits[(unsigned char)text[i]]; /* the end of the text is no digit */

        if (is_dash ? text[i] != '-' : digit == 0)
            return false;
        out[i] = is_dash ? '-' : "0123456789abcdef"[digit - 1];
    }
    out[TEXT_LENGTH] = '\0';
    return text[TEXT_LENGTH] == '\0';
}

bool fa_id_is_valid(struct fa_id id)
{
    return id.key > 0 && id.key < KEY_END && id.tail >= 0 && (uint64_t)id.tail <= TAIL_MASK;
}

bool fa_id_equal(struct fa_id a, struct fa_id b)
{
    return a.key == b.key && a.tail == b.tail;
}
