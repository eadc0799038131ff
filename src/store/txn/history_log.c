/* history_log.c - see history_log.h. */
#include "store/txn/history_log.h"

#include "base/random.h"
#include "service/service.h"
#include "store/lanes/types.h"
#include "store/txn/unit.h"

#include <pthread.h>
#include <stdlib.h>

#define TYPES_MAX 4000
#define MINUTES_MAX 120
#define KEPT_US (2 * FA_HISTORY_MINUTE_US) /* after a minute was stored: reads take less (L2) */

/* A minute, and its entries by name. */
struct minute {
    struct fa_history_minute base; /* first member */
    struct fa_map by_name;
    size_t size;                   /* of base.entries */
    struct fa_history_entry *rest; /* what is beyond TYPES_MAX; NULL: nothing */
    int64_t stored_us;             /* 0: not yet */
    struct minute *next;           /* the next older one */
};

struct fa_history_log {
    pthread_mutex_t mutex;
    struct fa_random random;
    struct minute *newest;
    size_t minute_count;
    uint64_t epoch; /* grows with each new minute; what lanes have of an earlier one is void */
    const struct minute *taken;
};

static bool is_entry(const void *item, const char *ns, const char *type)
{
    const struct fa_history_entry *entry = item;

    return fa_name_is_same(entry->type, type) && strcmp(entry->ns, ns) == 0;
}

struct fa_history_log *fa_history_log_create(void)
{
    struct fa_history_log *log = fa_alloc_zero(1, sizeof(*log));

    pthread_mutex_init(&log->mutex, NULL);
    fa_random_seed_system(&log->random);
    return log;
}

static void free_minute(struct minute *minute)
{
    for (size_t i = 0; i < minute->base.count; i++) {
        free((void *)(uintptr_t)minute->base.entries[i]->ns);
        free((void *)(uintptr_t)minute->base.entries[i]->type);
        free(minute->base.entries[i]);
    }
    free(minute->base.entries);
    fa_map_finish(&minute->by_name);
    free(minute);
}

void fa_history_log_destroy(struct fa_history_log *log)
{
    if (log == NULL)
        return;
    for (struct minute *minute = log->newest, *next; minute != NULL; minute = next) {
        next = minute->next;
        free_minute(minute);
    }
    pthread_mutex_destroy(&log->mutex);
    free(log);
}

/* Drops minutes that were stored a while ago, and the oldest ones that are too many. The mutex is
 * held. */
static void drop_old(struct fa_history_log *log, int64_t now_us)
{
    struct minute **link = &log->newest;
    size_t kept = 0;

    while (*link != NULL) {
        struct minute *minute = *link;
        bool is_done = minute->stored_us != 0 &&
                       (now_us - minute->stored_us > KEPT_US || now_us < minute->stored_us);

        if (minute != log->taken && (is_done || kept >= MINUTES_MAX)) {
            *link = minute->next;
            free_minute(minute);
            continue;
        }
        kept++;
        link = &minute->next;
    }
    log->minute_count = kept;
}

/* The minute of a time, which is mostly the newest. A minute that was stored, or is being stored,
 * doesn't change any more: another one of the same time follows. The mutex is held. */
static struct minute *minute_of(struct fa_history_log *log, int64_t now_us)
{
    int64_t at = now_us - now_us % FA_HISTORY_MINUTE_US;
    struct minute *minute = log->newest;

    if (minute != NULL && minute->base.at_us == at && minute->stored_us == 0 &&
        minute != log->taken)
        return minute;
    minute = fa_alloc_zero(1, sizeof(*minute));
    minute->base.at_us = at;
    minute->base.seq = fa_history_seq(
        at, 1 + (int64_t)(fa_random_next(&log->random) % (FA_HISTORY_GAUGE_PART - 1)), 0);
    minute->by_name.is = is_entry;
    minute->next = log->newest;
    log->newest = minute;
    log->epoch++;
    drop_old(log, now_us);
    return minute;
}

static struct fa_history_entry *add_entry(struct minute *minute, const char *ns, const char *type)
{
    struct fa_history_entry *entry = fa_alloc_zero(1, sizeof(*entry));

    entry->ns = fa_name_copy(ns);
    entry->type = fa_name_fold(fa_name_copy(type));
    minute->base.entries = fa_grow(minute->base.entries, minute->base.count, &minute->size,
                                   sizeof(struct fa_history_entry *));
    minute->base.entries[minute->base.count++] = entry;
    return entry;
}

static struct fa_history_entry *entry_of(struct minute *minute, const char *ns, const char *type)
{
    struct fa_history_entry *entry = fa_map_get(&minute->by_name, ns, type);

    if (entry != NULL)
        return entry;
    if (minute->base.count >= TYPES_MAX) { /* L3 */
        if (minute->rest == NULL)
            minute->rest = add_entry(minute, "", FA_HISTORY_OTHER);
        return minute->rest;
    }
    entry = add_entry(minute, ns, type);
    fa_map_put(&minute->by_name, entry->ns, entry->type, entry);
    return entry;
}

/* The lane remembers the entry of its type. */
static struct fa_history_counts *counts_of(struct fa_history_log *log, struct minute *minute,
                                           struct fa_lane *lane)
{
    if (lane->history_epoch != log->epoch) {
        lane->history = &entry_of(minute, lane->ns, lane->type)->counts;
        lane->history_epoch = log->epoch;
    }
    FA_CONTAINER_OF(lane->history, struct fa_history_entry, counts)->changes++;
    return lane->history;
}

static void add_sql_submits(struct minute *minute, const struct fa_kind_count *stored)
{
    struct fa_history_entry *entry = entry_of(minute, stored->kind.ns, stored->kind.type);

    entry->counts.n[FA_HISTORY_SUBMITTED] += stored->n;
    entry->changes += stored->n;
}

static int end_of(enum faina_status status)
{
    switch ((int)status) {
    case FAINA_COMPLETED:
        return FA_HISTORY_COMPLETED;
    case FAINA_FAILED:
        return FA_HISTORY_FAILED;
    case FAINA_DEAD_LETTER:
        return FA_HISTORY_DEAD_LETTERED;
    default:
        return FA_HISTORY_CANCELLED;
    }
}

void fa_history_log_count(struct fa_history_log *log, const struct fa_unit *unit,
                          const struct fa_history_end *ends, size_t end_count)
{
    struct minute *minute;

    if (log == NULL || unit->added_count + unit->sql_submit_count + end_count + unit->waits.count +
                               unit->runs.count + unit->retries.count ==
                           0)
        return;
    pthread_mutex_lock(&log->mutex);
    minute = minute_of(log, unit->now_us);
    for (size_t i = 0; i < unit->added_count; i++)
        counts_of(log, minute, unit->added[i]->lane)->n[FA_HISTORY_SUBMITTED]++;
    for (size_t i = 0; i < unit->sql_submit_count; i++)
        add_sql_submits(minute, &unit->sql_submits[i]);
    for (size_t i = 0; i < end_count; i++)
        counts_of(log, minute, ends[i].lane)->n[end_of(ends[i].status)]++;
    for (size_t i = 0; i < unit->retries.count; i++)
        counts_of(log, minute, unit->retries.items[i].lane)->n[FA_HISTORY_RETRIED]++;
    for (size_t i = 0; i < unit->waits.count; i++)
        fa_histogram_add(&counts_of(log, minute, unit->waits.items[i].lane)->waits,
                         unit->waits.items[i].us);
    for (size_t i = 0; i < unit->runs.count; i++)
        fa_histogram_add(&counts_of(log, minute, unit->runs.items[i].lane)->runs,
                         unit->runs.items[i].us);
    pthread_mutex_unlock(&log->mutex);
}

const struct fa_history_minute *fa_history_log_take(struct fa_history_log *log, int64_t now_us)
{
    struct minute *oldest = NULL;

    pthread_mutex_lock(&log->mutex);
    drop_old(log, now_us == INT64_MAX ? 0 : now_us);
    for (struct minute *minute = log->newest; minute != NULL; minute = minute->next) {
        /* Also a minute of the future: the clock was set back. */
        bool is_over = now_us == INT64_MAX || minute != log->newest ||
                       now_us >= minute->base.at_us + FA_HISTORY_MINUTE_US ||
                       now_us < minute->base.at_us;

        if (minute->stored_us == 0 && is_over)
            oldest = minute;
    }
    log->taken = oldest;
    pthread_mutex_unlock(&log->mutex);
    return oldest != NULL ? &oldest->base : NULL;
}

void fa_history_log_stored(struct fa_history_log *log, const struct fa_history_minute *stored,
                           int64_t now_us)
{
    struct minute *minute = FA_CONTAINER_OF(stored, struct minute, base);

    pthread_mutex_lock(&log->mutex);
    minute->stored_us = now_us;
    log->taken = NULL;
    pthread_mutex_unlock(&log->mutex);
}

void fa_history_log_read(struct fa_history_log *log, const char *ns, const char *type,
                         fa_history_log_fn *add, void *ctx)
{
    if (log == NULL)
        return;
    pthread_mutex_lock(&log->mutex);
    for (struct minute *minute = log->newest; minute != NULL; minute = minute->next) {
        for (size_t i = 0; i < minute->base.count; i++) {
            const struct fa_history_entry *entry = minute->base.entries[i];

            if ((ns == NULL || strcmp(entry->ns, ns) == 0) &&
                (type == NULL || fa_name_is_same(entry->type, type)))
                add(ctx, &minute->base, entry);
        }
    }
    pthread_mutex_unlock(&log->mutex);
}
