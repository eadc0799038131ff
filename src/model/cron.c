/*
 * cron.c - reads schedules, and finds the next and the previous time.
 *
 * Fields are sets of bits, so the next value in a set is found by a shift and a count of zeroes. A
 * search goes from the day down to the second in local time, which zone.h converts to UTC. The
 * conversion is monotonic, so the first local time that is late enough in UTC is the result.
 */
#include "model/cron.h"

#include "base/calendar.h"
#include "base/source_position.h"
#include "model/limits.h"
#include "model/times.h"

#include <assert.h>
#include <stdio.h>
#include <strings.h>

#define SECOND_US INT64_C(1000000)
#define TIME_MAX (INT64_C(253402300800) - 1) /* the last second of the year 9999 */
#define SEARCH_DAYS INT64_C(146097)          /* 400 years: then the calendar repeats */
#define STEP_MAX 100000
#define BEFORE_LAST_MAX 30

/* ------------------------------------------------------------------------------------------
 * Reading
 */

static const char *const month_names[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL",
                                          "AUG", "SEP", "OCT", "NOV", "DEC", NULL};
static const char *const weekday_names[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", NULL};

struct field {
    const char *name;
    int min, max;
    const char *const *names; /* of the values from `min` on; NULL: none */
    const char *names_text;   /* for messages */
    bool is_day;              /* may be "?" */
};

enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELD_COUNT };

static const struct field fields[FIELD_COUNT] = {
    [SECOND] = {"second", 0, 59, NULL, "", false},
    [MINUTE] = {"minute", 0, 59, NULL, "", false},
    [HOUR] = {"hour", 0, 23, NULL, "", false},
    [DAY] = {"day of the month", 1, 31, NULL, "", true},
    [MONTH] = {"month", 1, 12, month_names, " or JAN to DEC", false},
    [WEEKDAY] = {"day of the week", 0, 7, weekday_names, " or SUN to SAT", true},
};

static const struct {
    const char *name, *fields;
} macros[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

#define MACROS_TEXT "@yearly, @monthly, @weekly, @daily, @hourly or @every 5m"

struct reader {
    const char *text, *at;
    const char *field; /* the name of the request's field, for errors */
    struct faina_error *err;
    const struct field *now; /* the field being read */
    bool has_seconds;
    bool is_stored; /* accepted by an earlier version: weekdays may be numbers */
    bool is_starred[FIELD_COUNT];
    uint64_t sets[FIELD_COUNT];
    struct fa_cron_days special;
};

static enum faina_code refuse(struct reader *r, const char *at, const char *what)
{
    int column = (int)(at - r->text) + 1;

    fa_error_field(r->err, FAINA_INVALID_REQUEST, r->field, "%s: %s at column %d", r->field, what,
                   column);
    fa_error_position(r->err, 1, column);
    return FAINA_INVALID_REQUEST;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *word_end(const char *at)
{
    while (*at && !is_space(*at))
        at++;
    return at;
}

/* Names what the field accepts, and what was found. */
static enum faina_code refuse_value(struct reader *r, const char *at)
{
    const struct field *f = r->now;
    char what[256], shown[FA_SNIPPET_SIZE];

    snprintf(what, sizeof(what), "expected %d to %d%s%s for the %s, found %s", f->min, f->max,
             f->names_text, f->is_day ? ", * or ?" : " or *", f->name,
             *at && !is_space(*at)
                 ? fa_snippet((struct fa_bytes){at, (size_t)(word_end(at) - at)}, shown)
                 : "nothing");
    return refuse(r, at, what);
}

/* With six fields. In cron 0 and 7 are Sunday, in Quartz 1 is. */
static enum faina_code refuse_number(struct reader *r, const char *at, int value)
{
    const char *cron = weekday_names[value % 7];
    const char *quartz = value > 0 ? weekday_names[value - 1] : "no day";
    char what[192];

    snprintf(what, sizeof(what),
             "with 6 fields the day of the week can't be a number, because %d is %s in cron and %s "
             "in Quartz: write %s%s%s",
             value, cron, quartz, cron, value > 0 ? " or " : "", value > 0 ? quartz : "");
    return refuse(r, at, what);
}

static bool is_letter_of(char c, char wanted)
{
    return (c | 0x20) == (wanted | 0x20);
}

/* The first letters of a name may be followed by L: FRIL. */
static bool is_last_weekday(const char *at)
{
    for (size_t i = 0; weekday_names[i] != NULL; i++)
        if (strncasecmp(at, weekday_names[i], 3) == 0)
            return is_letter_of(at[3], 'L') && !is_letter(at[4]);
    return false;
}

/* A number, or one of the field's names. */
static enum faina_code read_value(struct reader *r, int *out)
{
    const struct field *f = r->now;
    const char *from = r->at;
    int value = 0;

    if (fa_is_digit(*r->at)) {
        for (; fa_is_digit(*r->at); r->at++)
            value = value <= f->max ? value * 10 + (*r->at - '0') : value;
        if (value < f->min || value > f->max)
            return refuse_value(r, from);
        if (f == &fields[WEEKDAY] && r->has_seconds && !r->is_stored)
            return refuse_number(r, from, value);
        *out = value;
        return FAINA_OK;
    }
    if (f == &fields[WEEKDAY] && is_last_weekday(from))
        r->at += 3;
    else
        while (is_letter(*r->at))
            r->at++;
    for (int i = 0; f->names && f->names[i]; i++) {
        if (r->at - from == 3 && strncasecmp(from, f->names[i], 3) == 0) {
            *out = f->min + i;
            return FAINA_OK;
        }
    }
    return refuse_value(r, from);
}

static enum faina_code read_step(struct reader *r, int *out)
{
    const char *from = ++r->at;
    int step = 0;

    for (; fa_is_digit(*r->at); r->at++)
        step = step < STEP_MAX ? step * 10 + (*r->at - '0') : step;
    if (step == 0)
        return refuse(r, from, "expected a step of 1 or more after /");
    if (step > r->now->max - r->now->min + 1) {
        char what[128];

        snprintf(what, sizeof(what), "a step of %.*s is longer than the %s",
                 (int)(r->at - from < 20 ? r->at - from : 20), from, r->now->name);
        return refuse(r, from, what);
    }
    *out = step;
    return FAINA_OK;
}

/* "a-b", after a and before the dash. */
static enum faina_code read_range_end(struct reader *r, int low, int *high)
{
    const char *from = ++r->at;
    enum faina_code code = read_value(r, high);
    char what[128];

    if (code != FAINA_OK)
        return code;
    if (r->now == &fields[WEEKDAY] && *high == 0 && low > 0)
        *high = 7; /* MON-SUN */
    if (*high >= low)
        return FAINA_OK;
    snprintf(what, sizeof(what), "the range for the %s ends before it begins", r->now->name);
    return refuse(r, from, what);
}

/* L, LW, L-3 and L-3W in the day of the month, at the L. */
static enum faina_code read_last_day(struct reader *r)
{
    int before = 0;

    r->at++;
    if (*r->at == '-') {
        const char *from = ++r->at;

        for (; fa_is_digit(*r->at); r->at++)
            before = before <= BEFORE_LAST_MAX ? before * 10 + (*r->at - '0') : before;
        if (r->at == from || before > BEFORE_LAST_MAX)
            return refuse(r, from, "expected 0 to 30 days before the last of the month after L-");
    }
    if (is_letter_of(*r->at, 'W')) {
        r->at++;
        r->special.workdays_before_last |= UINT32_C(1) << before;
    } else {
        r->special.before_last |= UINT32_C(1) << before;
    }
    return FAINA_OK;
}

/* "15W", after the 15. */
static void read_workday(struct reader *r, int day)
{
    r->at++;
    r->special.workdays |= UINT32_C(1) << day;
}

/* "FRIL", after the day. */
static void read_last_weekday(struct reader *r, int weekday)
{
    r->at++;
    r->special.last_weekdays |= (uint8_t)(1u << weekday % 7);
}

/* "MON#2", after the day. */
static enum faina_code read_nth_weekday(struct reader *r, int weekday)
{
    const char *from = ++r->at;

    if (*from < '1' || *from > '5' || fa_is_digit(from[1]))
        return refuse(r, from, "expected 1 to 5 after #");
    r->at++;
    r->special.nth_weekdays[*from - '1'] |= (uint8_t)(1u << weekday % 7);
    return FAINA_OK;
}

/* What may follow a single day. *is_special: it did, and the day by itself is not meant. */
static enum faina_code read_day_suffix(struct reader *r, int day, bool *is_special)
{
    bool is_weekday = r->now == &fields[WEEKDAY];

    *is_special = true;
    if (r->now == &fields[DAY] && is_letter_of(*r->at, 'W'))
        read_workday(r, day);
    else if (is_weekday && is_letter_of(*r->at, 'L'))
        read_last_weekday(r, day);
    else if (is_weekday && *r->at == '#')
        return read_nth_weekday(r, day);
    else
        *is_special = false;
    return FAINA_OK;
}

/* One item of a list. */
static enum faina_code read_item(struct reader *r, uint64_t *set)
{
    const struct field *f = r->now;
    int low = f->min, high = f->max, step = 1;
    bool is_single = false, is_special = false;
    enum faina_code code = FAINA_OK;

    if (f == &fields[DAY] && is_letter_of(*r->at, 'L'))
        return read_last_day(r);
    if (f == &fields[WEEKDAY] && is_letter_of(*r->at, 'L') &&
        !is_letter(r->at[1])) { /* the last day of the week */
        r->at++;
        *set |= UINT64_C(1) << 6;
        return FAINA_OK;
    }
    if (*r->at == '*' || (*r->at == '?' && f->is_day)) {
        r->at++;
        if (f == &fields[WEEKDAY])
            high = 6;
    } else {
        code = read_value(r, &low);
        if (code == FAINA_OK)
            code = read_day_suffix(r, low, &is_special);
        if (code != FAINA_OK || is_special)
            return code;
        is_single = *r->at != '-';
        if (code == FAINA_OK && !is_single)
            code = read_range_end(r, low, &high);
    }
    if (code != FAINA_OK)
        return code;
    if (*r->at == '/')
        code = read_step(r, &step);
    else if (is_single)
        high = low;
    for (int value = low; value <= high; value += step)
        *set |= UINT64_C(1) << value;
    return code;
}

static enum faina_code read_field(struct reader *r, int index)
{
    const char *from = r->at;

    r->now = &fields[index];
    r->is_starred[index] = *from == '*' || *from == '?';
    for (;;) {
        enum faina_code code = read_item(r, &r->sets[index]);

        if (code != FAINA_OK)
            return code;
        if (*r->at != ',')
            break;
        r->at++;
    }
    if (*r->at == '\0' || is_space(*r->at))
        return FAINA_OK;
    return refuse(r, r->at, "expected a comma, a dash, a slash or the end of the field");
}

static int count_fields(const char *at)
{
    int count = 0;

    while (*at) {
        while (is_space(*at))
            at++;
        count += *at != '\0';
        at = word_end(at);
    }
    return count;
}

static enum faina_code read_fields(struct reader *r, struct fa_cron *out)
{
    int count = count_fields(r->at);
    enum faina_code code = FAINA_OK;
    char what[128];

    if (count != 5 && count != 6) {
        snprintf(what, sizeof(what),
                 "expected 5 fields, or 6 with seconds, or " MACROS_TEXT ", found %d", count);
        return refuse(r, r->text, what);
    }
    r->sets[SECOND] = 1;
    r->has_seconds = count == 6;
    for (int i = count == 6 ? SECOND : MINUTE; i < FIELD_COUNT && code == FAINA_OK; i++) {
        if (i == SECOND)
            r->sets[SECOND] = 0;
        while (is_space(*r->at))
            r->at++;
        code = read_field(r, i);
    }
    if (code != FAINA_OK)
        return code;
    *out = (struct fa_cron){
        .seconds = r->sets[SECOND],
        .minutes = r->sets[MINUTE],
        .hours = (uint32_t)r->sets[HOUR],
        .days = (uint32_t)r->sets[DAY],
        .months = (uint32_t)r->sets[MONTH],
        .weekdays = (uint8_t)((r->sets[WEEKDAY] | r->sets[WEEKDAY] >> 7) & 0x7f),
        .is_either_day = !r->is_starred[DAY] && !r->is_starred[WEEKDAY],
        .special = r->special,
    };
    return FAINA_OK;
}

/* "@every 5m": the words after it are a duration. */
static enum faina_code read_every(struct reader *r, struct fa_cron *out)
{
    struct faina_error why;
    char duration[FA_CRON_SIZE_MAX + 1];
    int64_t ms;
    size_t len;

    while (is_space(*r->at))
        r->at++;
    len = (size_t)(word_end(r->at) - r->at);
    snprintf(duration, sizeof(duration), "%.*s", (int)len, r->at);
    if (fa_duration_parse(duration, "@every", &ms, &why) != FAINA_OK)
        return refuse(r, r->at, why.message);
    if (ms < 1000 || ms % 1000 != 0)
        return refuse(r, r->at, "expected a duration of whole seconds after @every");
    for (r->at += len; is_space(*r->at);)
        r->at++;
    if (*r->at)
        return refuse(r, r->at, "expected nothing after the duration");
    *out = (struct fa_cron){.every_s = ms / 1000};
    return FAINA_OK;
}

static enum faina_code read_macro(struct reader *r, struct fa_cron *out)
{
    const char *from = r->at, *end = word_end(from), *rest = end;
    size_t len = (size_t)(end - from);
    char what[256], shown[FA_SNIPPET_SIZE];

    while (is_space(*rest))
        rest++;
    if (len == strlen("@every") && strncasecmp(from, "@every", len) == 0) {
        r->at = end;
        return read_every(r, out);
    }
    for (size_t i = 0; i < FA_COUNT(macros); i++) {
        struct reader inner = {.text = macros[i].fields, .at = macros[i].fields};

        if (strlen(macros[i].name) != len || strncasecmp(from, macros[i].name, len) != 0)
            continue;
        if (*rest)
            return refuse(r, rest, "expected nothing after the word");
        return read_fields(&inner, out);
    }
    snprintf(what, sizeof(what), "expected " MACROS_TEXT ", found %s",
             fa_snippet((struct fa_bytes){from, len}, shown));
    return refuse(r, from, what);
}

static bool find_day(const struct fa_cron *cron, int64_t *days, int direction);

static enum faina_code parse(const char *text, const char *field, bool is_stored,
                             struct fa_cron *out, struct faina_error *err)
{
    struct reader r = {
        .text = text, .at = text, .field = field, .err = err, .is_stored = is_stored};
    struct fa_cron cron;
    enum faina_code code;
    int64_t days = 0;

    if (!text)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field, "%s is missing", field);
    if (strlen(text) > FA_CRON_SIZE_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, field,
                              "%s is %zu bytes long; the limit is %d", field, strlen(text),
                              FA_CRON_SIZE_MAX);
    while (is_space(*r.at))
        r.at++;
    code = *r.at == '@' ? read_macro(&r, &cron) : read_fields(&r, &cron);
    if (code != FAINA_OK)
        return code;
    if (cron.every_s == 0 && !find_day(&cron, &days, 1)) /* K3 */
        return refuse(&r, text, "never happens, because no month has such a day,");
    *out = cron;
    return FAINA_OK;
}

enum faina_code fa_cron_parse(const char *text, const char *field, struct fa_cron *out,
                              struct faina_error *err)
{
    return parse(text, field, false, out, err);
}

enum faina_code fa_cron_parse_stored(const char *text, const char *field, struct fa_cron *out,
                                     struct faina_error *err)
{
    return parse(text, field, true, out, err);
}

/* ------------------------------------------------------------------------------------------
 * Searching, in local time
 */

/* The lowest value of a set from `value` on; -1 when there is none. */
static int bit_from(uint64_t set, int value)
{
    set = value < 64 ? set >> value : 0;
    return set ? value + __builtin_ctzll(set) : -1;
}

/* The highest value of a set up to `value`; -1 when there is none. */
static int bit_until(uint64_t set, int value)
{
    if (value < 0)
        return -1;
    set &= UINT64_MAX >> (63 - value);
    return set ? 63 - __builtin_clzll(set) : -1;
}

static int bit_toward(uint64_t set, int value, int direction)
{
    return direction > 0 ? bit_from(set, value) : bit_until(set, value);
}

/* The workday nearest to a day, in the same month. `days` is the first of the month. */
static int nearest_workday(int64_t days, int day, int last)
{
    switch (fa_weekday(days + day - 1)) {
    case 0:
        return day == last ? day - 2 : day + 1;
    case 6:
        return day == 1 ? day + 2 : day - 1;
    default:
        return day;
    }
}

/* Whether `day` is the nearest workday to a day at most two days away. */
static bool is_workday(const struct fa_cron_days *special, int64_t days, int day, int last)
{
    for (int near = day - 2; near <= day + 2; near++) {
        if (near >= 1 && near <= last &&
            (special->workdays >> near & 1 || special->workdays_before_last >> (last - near) & 1) &&
            nearest_workday(days - day + 1, near, last) == day)
            return true;
    }
    return false;
}

static bool is_special_day(const struct fa_cron *cron, int64_t days, int day, int last)
{
    const struct fa_cron_days *special = &cron->special;

    return special->before_last >> (last - day) & 1 || is_workday(special, days, day, last);
}

static bool is_special_weekday(const struct fa_cron *cron, int weekday, int day, int last)
{
    const struct fa_cron_days *special = &cron->special;

    return special->nth_weekdays[(day - 1) / 7] >> weekday & 1 ||
           (day + 7 > last && special->last_weekdays >> weekday & 1);
}

static bool is_day(const struct fa_cron *cron, int64_t days, int day, int last)
{
    int weekday = fa_weekday(days);
    bool fits_day = cron->days >> day & 1 || is_special_day(cron, days, day, last);
    bool fits_weekday =
        cron->weekdays >> weekday & 1 || is_special_weekday(cron, weekday, day, last);

    return cron->is_either_day ? fits_day || fits_weekday : fits_day && fits_weekday;
}

/* Moves to the nearest day of the schedule, from *days on forward or backward. */
static bool find_day(const struct fa_cron *cron, int64_t *days, int direction)
{
    int64_t end = *days + direction * SEARCH_DAYS, at = *days;

    while (direction > 0 ? at <= end : at >= end) {
        struct fa_date date = fa_date_from_days(at);
        int last = fa_days_in_month(date.year, date.month);

        if (!(cron->months >> date.month & 1)) { /* skip the month */
            at += direction > 0 ? last - date.day + 1 : -date.day;
            continue;
        }
        for (; date.day >= 1 && date.day <= last; date.day += direction, at += direction) {
            if (is_day(cron, at, date.day, last)) {
                *days = at;
                return true;
            }
        }
    }
    return false;
}

/* Finds the nearest second of the schedule within a day, from *second on. Forward that is the
 * smallest not less than it, backward the largest not more than it. */
static bool find_second(const struct fa_cron *cron, int *second, int direction)
{
    int edge = direction > 0 ? 0 : 59; /* where a lower unit starts when a higher one moved */
    int start = *second, hour = start / 3600;

    for (; (hour = bit_toward(cron->hours, hour, direction)) >= 0; hour += direction) {
        int minute = hour == start / 3600 ? start / 60 % 60 : edge;

        for (; (minute = bit_toward(cron->minutes, minute, direction)) >= 0; minute += direction) {
            bool is_start = hour == start / 3600 && minute == start / 60 % 60;
            int found = bit_toward(cron->seconds, is_start ? start % 60 : edge, direction);

            if (found >= 0) {
                *second = hour * 3600 + minute * 60 + found;
                return true;
            }
        }
    }
    return false;
}

/* The nearest local time of the schedule, from *local on. */
static bool find_local(const struct fa_cron *cron, int64_t *local, int direction)
{
    int64_t days = *local / FA_DAY_SECONDS;
    int second = (int)(*local % FA_DAY_SECONDS);
    int64_t first;

    if (second < 0) {
        second += FA_DAY_SECONDS;
        days--;
    }
    first = days;
    /* The second round is on another day and starts at its edge, where a second is always found. */
    for (int i = 0; i < 2; i++) {
        if (!find_day(cron, &days, direction))
            return false;
        if (days != first)
            second = direction > 0 ? 0 : FA_DAY_SECONDS - 1;
        if (find_second(cron, &second, direction)) {
            *local = days * FA_DAY_SECONDS + second;
            return true;
        }
        days += direction;
        first = INT64_MIN;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------
 * Times
 */

static int64_t floor_seconds(int64_t us)
{
    return us / SECOND_US - (us % SECOND_US < 0);
}

static bool put_time(int64_t seconds, int64_t *out_us)
{
    if (seconds < 0 || seconds > TIME_MAX)
        return false;
    *out_us = seconds * SECOND_US;
    return true;
}

bool fa_cron_next(const struct fa_cron *cron, const struct fa_zone *zone, int64_t after_us,
                  int64_t *out_us)
{
    int64_t after = floor_seconds(after_us), local, time;

    if (after > TIME_MAX)
        return false;
    if (after < -1)
        after = -1;
    if (cron->every_s > 0)
        return put_time((after - (after < 0) * (cron->every_s - 1)) / cron->every_s *
                                cron->every_s +
                            cron->every_s,
                        out_us);
    local = fa_zone_to_local(zone, after);
    do {
        local++;
        if (!find_local(cron, &local, 1))
            return false;
        time = fa_zone_from_local(zone, local);
    } while (time <= after); /* a local time that occurs for the second time */
    return put_time(time, out_us);
}

bool fa_cron_previous(const struct fa_cron *cron, const struct fa_zone *zone, int64_t until_us,
                      int64_t *out_us)
{
    int64_t until = floor_seconds(until_us), local, time, before;
    struct fa_zone_span span;

    if (until < 0)
        return false;
    if (until > TIME_MAX)
        until = TIME_MAX;
    if (cron->every_s > 0)
        return put_time(until - until % cron->every_s, out_us);
    /* After clocks went back, later local times have already occurred before the change. */
    span = fa_zone_span_at(zone, until);
    local = until + span.offset;
    if (span.from > 0) {
        before = fa_zone_to_local(zone, span.from - 1);
        if (before > local)
            local = before;
    }
    for (;; local--) {
        if (!find_local(cron, &local, -1))
            return false;
        time = fa_zone_from_local(zone, local);
        if (time <= until)
            return put_time(time, out_us);
    }
}

size_t fa_cron_missed(const struct fa_cron *cron, const struct fa_zone *zone, int64_t after_us,
                      int64_t until_us, size_t max, int64_t *times_us)
{
    size_t count = 0;
    int64_t time_us = after_us;

    while (count < max && fa_cron_next(cron, zone, time_us, &time_us) && time_us <= until_us) {
        if (times_us)
            times_us[count] = time_us;
        count++;
    }
    return count;
}
