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

struct fa_id fa_id_next(struct fa_id_source *source, int64_t now_us)
{
    int64_t key = fa_id_key_at(now_us);

    /* When the clock stands still or steps back, the keys run ahead of it (I1). */
    if (key <= source->last_key)
        key = source->last_key + 1;
    assert(key > 0);
    assert(key < KEY_END);
    source->last_key = key;
    return (struct fa_id){key, (int64_t)(fa_random_next(&source->random) & TAIL_MASK)};
}

/* Writes the `count` lowest hexadecimal digits of `bits`. */
static char *put_hex(char *at, uint64_t bits, int count)
{
    for (int i = count - 1; i >= 0; i--)
        *at++ = "0123456789abcdef"[bits >> (i * 4) & 15];
    return at;
}

void fa_id_format(struct fa_id id, char out[FAINA_ID_SIZE])
{
    uint64_t key = (uint64_t)id.key;
    uint64_t second = (uint64_t)VARIANT << TAIL_BITS | (uint64_t)id.tail;

    assert(id.key > 0 && id.key < KEY_END);
    assert(id.tail >= 0 && (uint64_t)id.tail <= TAIL_MASK);
    out = put_hex(out, key >> 28, 8);
    *out++ = '-';
    out = put_hex(out, key >> 12, 4);
    *out++ = '-';
    out = put_hex(out, VERSION, 1);
    out = put_hex(out, key, 3);
    *out++ = '-';
    out = put_hex(out, second >> 48, 4);
    *out++ = '-';
    out = put_hex(out, second, 12);
    *out = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool fa_id_parse(const char *text, struct fa_id *out)
{
    uint64_t half[2] = {0, 0};
    int digits = 0;
    int64_t key;

    if (!text)
        return false;
    /* A NUL is neither a dash nor a digit, so this never reads past the end. */
    for (int i = 0; i < TEXT_LENGTH; i++) {
        int digit;

        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text[i] != '-')
                return false;
            continue;
        }
        digit = hex_digit(text[i]);
        if (digit < 0)
            return false;
        half[digits / 16] = half[digits / 16] << 4 | (uint64_t)digit;
        digits++;
    }
    if (text[TEXT_LENGTH] != '\0')
        return false;
    if ((half[0] >> FRACTION_BITS & 15) != VERSION || half[1] >> TAIL_BITS != VARIANT)
        return false;
    key = (int64_t)(half[0] >> 16 << FRACTION_BITS | (half[0] & FRACTION_MASK));
    if (key == 0)
        return false;
    *out = (struct fa_id){key, (int64_t)(half[1] & TAIL_MASK)};
    return true;
}

bool fa_id_equal(struct fa_id a, struct fa_id b)
{
    return a.key == b.key && a.tail == b.tail;
}
