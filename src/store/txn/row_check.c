/* row_check.c - see row_check.h. */
#include "store/txn/row_check.h"

#include "json/json.h"
#include "base/utf8.h"
#include "model/id.h"
#include "model/limits.h"
#include "model/states.h"

#include <math.h>

#define KEY_END (INT64_C(1) << 60)
#define TAIL_END (INT64_C(1) << 62)
#define DEPTH_MAX (FA_JSON_DEPTH_MAX + 8)    /* a payload may be nested in JSON of the engine */
#define TIME_END INT64_C(253402300800000000) /* the year 10000, in microseconds */

static bool is_int(const struct fa_value *value, int64_t min, int64_t max)
{
    return value->kind == FA_INT && value->i >= min && value->i <= max;
}

static bool is_status(const struct fa_value *value, bool held, bool parked, bool ended)
{
    enum faina_status status;

    if (!is_int(value, 0, FAINA_STATUS_COUNT - 1))
        return false;
    status = (enum faina_status)value->i;
    if (fa_status_is_ended(status))
        return ended;
    return fa_status_is_held(status) ? held : parked;
}

static bool is_text(const struct fa_value *value)
{
    return value->kind == FA_TEXT && fa_utf8_is_valid(value->text) &&
           (value->text.len == 0 || memchr(value->text.ptr, '\0', value->text.len) == NULL);
}

static bool is_json(const struct fa_value *value)
{
    return value->kind == FA_TEXT &&
           fa_json_check(value->text, DEPTH_MAX, "value", FAINA_INTERNAL, NULL) == FAINA_OK;
}

static bool is_measure(const struct fa_value *value)
{
    return is_int(value, 0, INT64_MAX) ||
           (value->kind == FA_REAL && isfinite(value->d) && value->d >= 0);
}

static bool fits(char kind, const struct fa_value *value)
{
    bool is_null = value->kind == FA_NULL;

    switch (kind) {
    case 'k':
        return is_int(value, 1, KEY_END - 1);
    case 'K':
        return is_null || is_int(value, 0, KEY_END - 1);
    case 'i':
        return is_int(value, 0, TAIL_END - 1);
    case 'l':
        return is_int(value, 1, INT64_MAX);
    case 'r':
        return is_int(value, -FA_PRIORITY_MAX, -(int64_t)FA_PRIORITY_MIN);
    case 'n':
        return is_int(value, 0, INT64_MAX / 2);
    case 'w': /* the size of a pool; -1: the node runs no tasks */
        return is_int(value, -1, INT64_MAX / 2);
    case 'W':
        return is_null || is_int(value, -1, INT64_MAX / 2);
    case 'N':
        return is_null || is_int(value, 0, INT64_MAX / 2);
    case 'm':
        return is_int(value, 0, FA_DURATION_MS_MAX);
    case 'M':
        return is_null || is_int(value, 0, FA_DURATION_MS_MAX);
    case 't':
        return is_int(value, 0, TIME_END - 1);
    case 'T':
        return is_null || is_int(value, 0, TIME_END - 1);
    case 'g':
        return is_int(value, 0, 100);
    case 'G':
        return is_null || is_int(value, 0, 100);
    case 'd':
        return is_null || is_measure(value);
    case 'H':
        return is_status(value, true, false, false);
    case 'P':
        return is_status(value, false, true, false);
    case 'E':
        return is_status(value, false, false, true);
    case 'S':
        return is_status(value, true, true, true);
    case 'a':
        return is_int(value, 0, FAINA_ACTOR_SYSTEM);
    case 'x':
        return is_text(value);
    case 'X':
        return is_null || is_text(value);
    case 'B':
        return is_null || value->kind == FA_TEXT;
    case 'j':
        return is_json(value);
    case 'J':
        return is_null || is_json(value);
    default:
        return true;
    }
}

/* The nth name of a list that is separated by spaces. */
static struct fa_bytes name_at(const char *names, size_t n)
{
    for (; n > 0 && *names != '\0'; n--) {
        names += strcspn(names, " ");
        names += *names == ' ';
    }
    return (struct fa_bytes){names, strcspn(names, " ")};
}

static const char *describe(const struct fa_value *value)
{
    switch (value->kind) {
    case FA_NULL:
        return "is null";
    case FA_INT:
        return "has a number that is out of range";
    case FA_REAL:
        return "has a fractional number";
    default:
        return "has text that does not belong there";
    }
}

const char *fa_form_check(const struct fa_form *form, const struct fa_value *values,
                          struct fa_arena *arena)
{
    for (size_t i = 0; form->kinds[i] != '\0'; i++) {
        struct fa_bytes name;

        if (fits(form->kinds[i], &values[i]))
            continue;
        name = name_at(form->columns, i);
        return fa_arena_printf(arena, "column %.*s of its row in table %s %s", (int)name.len,
                               name.ptr, form->table, describe(&values[i]));
    }
    return NULL;
}

char *fa_value_json(const struct fa_value *value, struct fa_arena *arena)
{
    return is_json(value) ? fa_value_dup(value, arena) : NULL;
}

bool fa_is_json(const char *text)
{
    return text == NULL ||
           fa_json_check(fa_str(text), DEPTH_MAX, "value", FAINA_INTERNAL, NULL) == FAINA_OK;
}

bool fa_is_names(struct fa_bytes json)
{
    struct fa_json value, array;
    struct fa_json_iter it;

    if (fa_json_check(json, 2, "names", FAINA_INTERNAL, NULL) != FAINA_OK)
        return false;
    array = fa_json_value(json);
    if (array.type != FA_JSON_ARRAY)
        return false;
    it = fa_json_iter(array);
    while (fa_json_next(&it, NULL, &value)) {
        if (value.type != FA_JSON_STRING)
            return false;
    }
    return true;
}
