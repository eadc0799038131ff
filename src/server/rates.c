/* rates.c - see rates.h. */
#include "server/rates.h"

#include "model/states.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#define SLOT_US 10000000
#define SLOTS 7 /* the one that is being filled, and a minute before it */
#define SUBMITTED FAINA_PENDING

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
    pthread_mutex_t mutex; /* guards what follows */
    struct entry *entries;
    size_t count, size;
};

struct fa_rates *fa_rates_create(int64_t now_us)
{
    struct fa_rates *rates = fa_alloc_zero(1, sizeof(*rates));

    rates->started_us = now_us;
    pthread_mutex_init(&rates->mutex, NULL);
    return rates;
}

void fa_rates_destroy(struct fa_rates *rates)
{
    if (!rates)
        return;
    for (size_t i = 0; i < rates->count; i++) {
        free(rates->entries[i].ns);
        free(rates->entries[i].type);
    }
    free(rates->entries);
    pthread_mutex_destroy(&rates->mutex);
    free(rates);
}

/* The mutex is held. */
static struct entry *find(struct fa_rates *rates, const char *ns, const char *type)
{
    for (size_t i = 0; i < rates->count; i++)
        if (strcmp(rates->entries[i].type, type) == 0 && strcmp(rates->entries[i].ns, ns) == 0)
            return &rates->entries[i];
    return NULL;
}

/* NULL: there are too many. The mutex is held. */
static struct entry *find_or_add(struct fa_rates *rates, const char *ns, const char *type)
{
    struct entry *entry = find(rates, ns, type);

    if (entry || rates->count == FA_RATES_MAX)
        return entry;
    if (rates->count == rates->size) {
        rates->size = rates->size ? rates->size * 2 : 16;
        rates->entries = fa_realloc(rates->entries, rates->size * sizeof(*rates->entries));
    }
    entry = &rates->entries[rates->count++];
    *entry = (struct entry){.ns = strdup(ns), .type = strdup(type)};
    return entry;
}

/* One type often comes many times in a row; `last` is its entry. */
static struct entry *count_one(struct fa_rates *rates, struct entry *last,
                               const struct fa_kind *kind, enum faina_status status, int64_t number)
{
    struct slot *slot;

    if (!last || strcmp(last->type, kind->type) != 0 || strcmp(last->ns, kind->ns) != 0)
        last = find_or_add(rates, kind->ns, kind->type);
    if (!last)
        return NULL;
    slot = &last->slots[number % SLOTS];
    if (slot->number != number)
        *slot = (struct slot){.number = number};
    slot->counts[status]++;
    return last;
}

void fa_rates_count(struct fa_rates *rates, const struct fa_facts *facts, int64_t now_us)
{
    int64_t number = now_us / SLOT_US;
    struct entry *last = NULL;

    pthread_mutex_lock(&rates->mutex);
    for (size_t i = 0; i < facts->submitted_count; i++)
        last = count_one(rates, last, &facts->submitted[i], SUBMITTED, number);
    for (size_t i = 0; i < facts->ended_count; i++)
        last = count_one(rates, last, &facts->ended[i].kind, facts->ended[i].status, number);
    pthread_mutex_unlock(&rates->mutex);
}

/* How long the slots have been counting, in seconds; one at least. */
static double window(const struct fa_rates *rates, int64_t now_us)
{
    int64_t from_us = (now_us / SLOT_US - (SLOTS - 1)) * SLOT_US;
    int64_t us = now_us - (from_us > rates->started_us ? from_us : rates->started_us);

    return us > 1000000 ? (double)us / 1e6 : 1;
}

struct fa_rate fa_rates_of(struct fa_rates *rates, const char *ns, const char *type, int64_t now_us)
{
    double seconds = window(rates, now_us);
    struct fa_rate rate = {0};
    const struct entry *entry;

    pthread_mutex_lock(&rates->mutex);
    entry = find(rates, ns, type);
    for (size_t i = 0; entry && i < SLOTS; i++) {
        const struct slot *slot = &entry->slots[i];

        if (slot->number <= now_us / SLOT_US - SLOTS)
            continue; /* of a minute long past */
        rate.submitted += slot->counts[SUBMITTED] / seconds;
        for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
            if (fa_status_is_ended(status))
                rate.ended[status] += slot->counts[status] / seconds;
    }
    pthread_mutex_unlock(&rates->mutex);
    return rate;
}

void fa_rate_add(struct fa_rate *sum, const struct fa_rate *rate)
{
    sum->submitted += rate->submitted;
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        sum->ended[status] += rate->ended[status];
}

static void put(struct fa_json_writer *w, const char *name, double value)
{
    fa_json_key(w, name);
    fa_json_put_double(w, round(value * 1000) / 1000);
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
