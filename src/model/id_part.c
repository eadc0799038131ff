/*
 * id_part.c - see id_part.h.
 *
 * A part is put into the 32 digits of an id at its place. Each digit then adds its bits to the
 * masks and values of the two halves; the bits of version and variant are compared at once.
 */
#include "model/id_part.h"

#include <ctype.h>

#define KEY_BITS 60
#define VERSION_DIGIT 12 /* always 7 */
#define VARIANT_DIGIT 16 /* its upper two bits are always 2 */
#define VARIANT 2

/* The digits of the text without its dashes. Returns how many. */
static int read_digits(const char *text, int out[FA_ID_DIGITS])
{
    int count = 0;

    for (; *text; text++) {
        char c = (char)tolower((unsigned char)*text);

        if (c != '-')
            out[count++] = c <= '9' ? c - '0' : c - 'a' + 10;
    }
    return count;
}

bool fa_id_part_is_text(const char *text)
{
    size_t digits = 0;

    for (; *text; text++)
        if (isxdigit((unsigned char)*text))
            digits++;
        else if (*text != '-')
            return false;
    return digits > 0 && digits <= FA_ID_DIGITS;
}

/* Adds the digit at this place of an id. False: no id has it there. */
static bool add_digit(struct fa_id_part *part, int place, int digit)
{
    int64_t bits = digit, mask = 15;
    int shift;

    if (place == VERSION_DIGIT)
        return digit == 7;
    if (place < VARIANT_DIGIT) {
        shift = KEY_BITS - 4 * (place < VERSION_DIGIT ? place + 1 : place);
        part->mask.key |= mask << shift;
        part->value.key |= bits << shift;
        return true;
    }
    if (place == VARIANT_DIGIT) {
        if (digit >> 2 != VARIANT)
            return false;
        bits &= 3;
        mask = 3;
    }
    shift = 4 * (FA_ID_DIGITS - 1 - place);
    part->mask.tail |= mask << shift;
    part->value.tail |= bits << shift;
    return true;
}

static bool add_digits(struct fa_id_part *part, int from, const int *digits, int count)
{
    *part = (struct fa_id_part){0};
    for (int i = 0; i < count; i++)
        if (!add_digit(part, from + i, digits[i]))
            return false;
    part->low = part->value.key;
    part->high = part->value.key | (((INT64_C(1) << KEY_BITS) - 1) & ~part->mask.key);
    return true;
}

bool fa_id_part_begin(const char *text, struct fa_id_part *out)
{
    int digits[FA_ID_DIGITS], count = read_digits(text, digits);

    return add_digits(out, 0, digits, count);
}

bool fa_id_part_end(const char *text, struct fa_id_part *out)
{
    int digits[FA_ID_DIGITS], count = read_digits(text, digits);

    return count >= FA_ID_SUFFIX_MIN && add_digits(out, FA_ID_DIGITS - count, digits, count);
}

bool fa_id_part_matches(const struct fa_id_part *part, struct fa_id id)
{
    return (id.key & part->mask.key) == part->value.key &&
           (id.tail & part->mask.tail) == part->value.tail;
}
