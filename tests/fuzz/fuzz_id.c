/*
 * fuzz_id.c - task ids: what parses prints the same, but for upper case; what prints parses. What
 * looks like a part of an id is one of the ids that match it.
 */
#include "model/id.h"
#include "model/id_part.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_text(const char *text)
{
    char printed[FAINA_ID_SIZE];
    struct fa_id id, again;

    if (!fa_id_parse(text, &id))
        return;
    require(id.key > 0);
    require(id.tail >= 0);
    fa_id_format(id, printed);
    require(strlen(text) == strlen(printed));
    for (size_t i = 0; printed[i]; i++)
        require(printed[i] == text[i] || printed[i] == (text[i] | 32));
    require(fa_id_parse(printed, &again));
    require(fa_id_equal(id, again));
}

/* An id with the bits of the part, and zeros elsewhere, begins or ends with its digits. */
static void check_part_of(const struct fa_id_part *part, const char *text, bool is_end)
{
    char printed[FAINA_ID_SIZE], digits[FAINA_ID_SIZE];
    size_t wanted = 0, count = 0, from;

    require(part->low <= part->value.key && part->value.key <= part->high);
    require(fa_id_part_matches(part, part->value));
    fa_id_format(part->value, printed);
    for (const char *at = printed; *at; at++)
        if (*at != '-')
            digits[count++] = *at;
    for (const char *at = text; *at; at++)
        wanted += *at != '-';
    require(count == FA_ID_DIGITS && wanted <= count);
    from = is_end ? count - wanted : 0;
    for (const char *at = text; *at; at++)
        if (*at != '-')
            require(digits[from++] == (*at | 32));
}

static void check_part(const char *text)
{
    struct fa_id_part part;

    if (!fa_id_part_is_text(text))
        return;
    if (fa_id_part_begin(text, &part))
        check_part_of(&part, text, false);
    if (fa_id_part_end(text, &part))
        check_part_of(&part, text, true);
}

static void check_number(const uint8_t *data)
{
    struct fa_id_source source = {.last_key = 0};
    char printed[FAINA_ID_SIZE];
    struct fa_id id, again;
    int64_t us;

    memcpy(&us, data, sizeof(us));
    us &= (INT64_C(1) << 57) - 1; /* no clock goes beyond */
    fa_random_seed(&source.random, (uint64_t)us);
    for (int i = 0; i < 3; i++) {
        int64_t before = source.last_key;

        id = fa_id_next(&source, us);
        require(id.key > before);
        require(fa_id_key_us(id.key) >= us);
        fa_id_format(id, printed);
        require(fa_id_parse(printed, &again));
        require(fa_id_equal(id, again));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fa_arena arena = {0};

    check_text(fa_arena_copy(&arena, (const char *)data, size));
    check_part(fa_arena_copy(&arena, (const char *)data, size));
    if (size >= sizeof(int64_t))
        check_number(data);
    fa_arena_finish(&arena);
    return 0;
}
