/* rates.c - see rates.h. */
#include "server/rates.h"

#include "base/map.h"
#include "model/states.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define SLOT_US 10000000
#define SLOTS 7 /* the current one, and those of the minute before */
#define SUBMITTED FAINA_PENDING
#define IDLE_TRIES 4

struct slot {
    int64_t number; /* of its time, in slots */
    uint32_t counts[FAINA_STATUS_COUNT];
};

struct entry {
    char *ns, *type;
    struct slot slots[SLOTS];
};

struct fa_rates {
    int64_t started_us;
    pthread_mutex_t mutex; /* guards the fields below */
    struct fa_map by_name;
    struct entry *entries[FA_RATES_MAX];
    size_t count, next_idle;
};

static bool is_entry(const void *item, const char *a, const char *b)
{
    const struct entry *entry = item;

    return fa_name_is_same(entry->type, b) && strcmp(entry->ns, a) == 0;
}

struct fa_rates *fa_rates_create(int64_t now_us)
{
    struct fa_rates *rates = fa_alloc_zero(1, sizeof(*rates));

    rates->started_us = now_us;
    rates->by_name.is = is_entry;
    pthread_mutex_init(&rates->mutex, NULL);
    return rates;
}

void fa_rates_destroy(struct fa_rates *rates)
{
    if (!rates)
        return;
    for (size_t i = 0; i < rates->count; i++) {
        free(rates->entries[i]->ns);
        free(rates->entries[i]->type);
        free(rates->entries[i]);
    }
    fa_map_finish(&rates->by_name);
    pthread_mutex_destroy(&rates->mutex);
    free(rates);
}

/* An entry that counted nothing for a minute, to be reused for another type; NULL: none. Checks
 * only a few entries each time, so that many new types cost little. The mutex is held. */
static struct entry *find_idle(struct fa_rates *rates, int64_t number)
{
    for (int tries = 0; tries < IDLE_TRIES; tries++) {
        struct entry *entry = rates->entries[rates->next_idle++ % FA_RATES_MAX];
        bool is_idle = true;

        for (size_t i = 0; i < SLOTS; i++)
            is_idle = is_idle && entry->slots[i].number <= number - SLOTS;
        if (is_idle)
            return entry;
    }
    return NULL;
}

/* NULL: there are too many types. The mutex is held. */
static struct entry *find_or_add(struct fa_rates *rates, const char *ns, const char *type,
                                 int64_t number)
{
    struct entry *entry = fa_map_get(&rates->by_name, ns, type);

    if (entry)
        return entry;
    if (rates->count < FA_RATES_MAX) {
        entry = rates->entries[rates->count++] = fa_alloc(sizeof(*entry));
    } else {
        entry = find_idle(rates, number);
        if (!entry)
            return NULL;
        fa_map_remove(&rates->by_name, entry->ns, entry->type, entry);
        free(entry->ns);
        free(entry->type);
    }
    *entry = (struct entry){.ns = strdup(ns), .type = strdup(type)};
    fa_map_put(&rates->by_name, entry->ns, entry->type, entry);
    return entry;
}

/* Several tasks in a row often have the same type; `last` is the previous entry. */
static struct entry *count_one(struct fa_rates *rates, struct entry *last,
                               const struct fa_kind *kind, enum faina_status status, int64_t number,
                               int64_t n)
{
    struct slot *slot;

    if (!last || strcmp(last->type, kind->type) != 0 || strcmp(last->ns, kind->ns) != 0)
        last = find_or_add(rates, kind->ns, kind->type, number);
    if (!last)
        return NULL;
    slot = &last->slots[number % SLOTS];
    if (slot->number != number)
        *slot = (struct slot){.number = number};
    slot->counts[status] += (uint32_t)n;
    return last;
}

void fa_rates_count(struct fa_rates *rates, const struct fa_commit_stats *stats, int64_t now_us)
{
    int64_t number = now_us / SLOT_US;
    struct entry *last = NULL;

    pthread_mutex_lock(&rates->mutex);
    for (size_t i = 0; i < stats->submitted_count; i++)
        last = count_one(rates, last, &stats->submitted[i], SUBMITTED, number, 1);
    for (size_t i = 0; i < stats->sql_submitted_count; i++)
        last = count_one(rates, last, &stats->sql_submitted[i].kind, SUBMITTED, number,
                         stats->sql_submitted[i].n);
    for (size_t i = 0; i < stats->ended_count; i++)
        last = count_one(rates, last, &stats->ended[i].kind, stats->ended[i].status, number, 1);
    pthread_mutex_unlock(&rates->mutex);
}

/* The time that the slots cover, in seconds; at least 1. */
static double window(const struct fa_rates *rates, int64_t now_us)
{
    int64_t from_us = (now_us / SLOT_US - (SLOTS - 1)) * SLOT_US;
    int64_t us = now_us - (from_us > rates->started_us ? from_us : rates->started_us);

    return us > 1000000 ? (double)us / 1e6 : 1;
}

/* The mutex is held. */
static void add_entry(struct fa_rate *rate, const struct entry *entry, int64_t now_us,
                      double seconds)
{
    for (size_t i = 0; i < SLOTS; i++) {
        const struct slot *slot = &entry->slots[i];

        if (slot->number <= now_us / SLOT_US - SLOTS)
            continue; /* older than the window */
        rate->submitted += slot->counts[SUBMITTED] / seconds;
        for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
            if (fa_status_is_ended(status))
                rate->ended[status] += slot->counts[status] / seconds;
    }
}

struct fa_rate fa_rates_of(struct fa_rates *rates, const char *ns, const char *type, int64_t now_us)
{
    struct fa_rate rate = {0};
    const struct entry *entry;

    pthread_mutex_lock(&rates->mutex);
    entry = fa_map_get(&rates->by_name, ns, type);
    if (entry)
        add_entry(&rate, entry, now_us, window(rates, now_us));
    pthread_mutex_unlock(&rates->mutex);
    return rate;
}

struct fa_rate fa_rates_sum(struct fa_rates *rates, const char *ns, const char *type,
                            int64_t now_us)
{
    struct fa_rate rate = {0};

    pthread_mutex_lock(&rates->mutex);
    for (size_t i = 0; i < rates->count; i++) {
        const struct entry *entry = rates->entries[i];

        if ((!ns || strcmp(entry->ns, ns) == 0) && (!type || fa_name_is_same(entry->type, type)))
            add_entry(&rate, entry, now_us, window(rates, now_us));
    }
    pthread_mutex_unlock(&rates->mutex);
    return rate;
}

static void put(struct fa_json_writer *w, const char *name, double value)
{
    fa_json_set_double(w, name, round(value * 1000) / 1000);
}

void fa_rate_put(struct fa_json_writer *w, const struct fa_rate *rate)
{
    fa_json_begin_object(w);
    put(w, "submitted", rate->submitted);
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        if (fa_status_is_ended(status))
            put(w, faina_status_name(status), rate->ended[status]);
    fa_json_end_object(w);
}
