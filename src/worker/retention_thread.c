/* retention_thread.c - a round finds, archives and removes tasks past their retention time. */
#include "worker/retention_thread.h"

#include "base/clock.h"
#include "base/thread.h"
#include "worker/archive.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCH 200
#define DAY_MS (24 * 3600 * INT64_C(1000))
#define DAY_US (DAY_MS * 1000)
#define BY_DAY_MS (2 * DAY_MS) /* from this retention time on, tasks are removed by days */
#define DROP_TRIES 5
#define ROUND_MS_MIN 1000
#define ROUND_MS_MAX (10 * 60 * INT64_C(1000))
#define ROUNDS_PER_TIME 100 /* a task is removed late by at most this part of its retention time */
#define PAUSE_US_MAX 1000000

struct fa_retention_thread {
    struct fa_service *service;
    struct fa_retention_settings keep;
    char *folder;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards is_stopping */
    pthread_cond_t cond;
    bool is_stopping;
    char last_error[sizeof(((struct faina_error *)NULL)->message)]; /* the logged one; "" (K2) */
};

struct round {
    struct fa_service *service;
    const struct fa_retention_settings *keep;
    struct fa_retention_thread *retention; /* NULL: fa_retention_round */
    struct fa_archive *archive;
    struct fa_arena arena;
    size_t removed;
};

/* Pauses --------------------------------------------------------------------------------------- */

/* False: the thread is to stop. */
static bool pause_for(struct fa_retention_thread *retention, int64_t us)
{
    int64_t until_us = fa_clock_mono_us() + us;
    bool is_stopping;

    if (!retention)
        return true;
    pthread_mutex_lock(&retention->mutex);
    while (!retention->is_stopping &&
           fa_cond_wait_until(&retention->cond, &retention->mutex, until_us))
        continue;
    is_stopping = retention->is_stopping;
    pthread_mutex_unlock(&retention->mutex);
    return !is_stopping;
}

/* Archiving ------------------------------------------------------------------------------------ */

static void put_line(struct fa_buf *buf, const struct fa_expired_task *old)
{
    struct fa_json_writer w;

    fa_json_writer_init(&w, buf, 0);
    fa_json_begin_object(&w);
    fa_shape_put_members(&w, &fa_shape_task, &old->task);
    fa_json_key(&w, "events");
    fa_json_begin_array(&w);
    for (size_t i = 0; i < old->event_count; i++)
        fa_wire_put_event(&w, &old->events[i], old->task.id);
    fa_json_end_array(&w);
    fa_json_end_object(&w);
    fa_buf_add_char(buf, '\n');
}

static int compare_ends(const void *a, const void *b)
{
    int64_t x = (*(struct fa_expired_task *const *)a)->task.completed_us;
    int64_t y = (*(struct fa_expired_task *const *)b)->task.completed_us;

    return x < y ? -1 : x > y ? 1 : 0;
}

/* Writes each task to the file of the day on which it ended (K1). */
static enum faina_code archive(struct round *round, struct fa_expired *old, struct faina_error *err)
{
    struct fa_expired_task **sorted =
        fa_arena_take(&round->arena, (old->count + 1) * sizeof(*sorted));
    enum faina_code code = FAINA_OK;
    struct fa_buf lines;

    if (!round->archive)
        return FAINA_OK;
    for (size_t i = 0; i < old->count; i++)
        sorted[i] = &old->items[i];
    qsort(sorted, old->count, sizeof(struct fa_expired_task *), compare_ends);
    fa_buf_init(&lines, SIZE_MAX / 2);
    for (size_t i = 0; code == FAINA_OK && i < old->count; i++) {
        int64_t day = sorted[i]->task.completed_us / DAY_US;

        put_line(&lines, sorted[i]);
        if (i + 1 < old->count && sorted[i + 1]->task.completed_us / DAY_US == day)
            continue;
        code = fa_archive_add(round->archive, day * DAY_US, (struct fa_bytes){lines.ptr, lines.len},
                              err);
        fa_buf_clear(&lines);
    }
    fa_buf_finish(&lines);
    return code;
}

/* Row by row ----------------------------------------------------------------------------------- */

static enum faina_code remove_rows(struct round *round, struct fa_expired_query query,
                                   struct faina_error *err)
{
    struct fa_expired old = {.has_more = true};
    enum faina_code code = FAINA_OK;

    query.limit = BATCH;
    while (code == FAINA_OK && old.has_more) {
        int64_t begun_us;
        size_t removed = 0;

        fa_arena_reset(&round->arena);
        code = fa_service_expired_find(round->service, &query, &round->arena, &old, err);
        if (code == FAINA_OK)
            code = archive(round, &old, err);
        begun_us = fa_clock_mono_us();
        if (code == FAINA_OK && old.count > 0)
            code = fa_service_expired_remove(round->service, &old, query.events_ms != 0, &removed,
                                             err);
        if (query.events_ms == 0)
            round->removed += removed;
        query.after = old.after;
        if (code == FAINA_OK && old.has_more) {
            int64_t took_us = fa_clock_mono_us() - begun_us;

            if (!pause_for(round->retention, took_us < PAUSE_US_MAX ? took_us : PAUSE_US_MAX))
                break;
        }
    }
    return code;
}

/* Day by day ----------------------------------------------------------------------------------- */

/* Archives all tasks of the day and sets day->tasks and day->versions to their count and sum of
 * versions. *has_damage: a task can't be archived, so the day can't be dropped. */
static enum faina_code archive_day(struct round *round, struct fa_expired_day *day,
                                   bool *has_damage, bool *is_stopped, struct faina_error *err)
{
    struct fa_expired_query query = {.low = day->low, .high = day->high, .limit = BATCH};
    struct fa_expired old = {.has_more = true};
    enum faina_code code = FAINA_OK;

    day->tasks = day->versions = 0;
    while (code == FAINA_OK && old.has_more && !*is_stopped) {
        fa_arena_reset(&round->arena);
        code = fa_service_expired_find(round->service, &query, &round->arena, &old, err);
        *has_damage = code == FAINA_OK && old.left_out > 0;
        if (*has_damage)
            break;
        if (code == FAINA_OK)
            code = archive(round, &old, err);
        for (size_t i = 0; code == FAINA_OK && i < old.count; i++)
            day->versions += old.items[i].version;
        day->tasks += (int64_t)old.count;
        query.after = old.after;
        *is_stopped = !pause_for(round->retention, 0);
    }
    return code;
}

/* OVERLOADED: it didn't get its locks in time, and is tried again. */
static enum faina_code drop_day(struct round *round, const struct fa_expired_day *day,
                                struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (int i = 0; i < DROP_TRIES; i++) {
        if (i > 0 && !pause_for(round->retention, PAUSE_US_MAX))
            break;
        code = fa_service_expired_day_drop(round->service, day, err);
        if (code != FAINA_OVERLOADED)
            break;
    }
    return code;
}

static enum faina_code remove_days(struct round *round, struct fa_expired_query query,
                                   bool *has_days, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    bool is_stopped = false, has_damage = false;

    while (code == FAINA_OK && !is_stopped) {
        struct fa_expired_day day;

        code = fa_service_expired_day_find(round->service, &query, &day, err);
        *has_days = day.has_days;
        if (code != FAINA_OK || !day.is_found)
            break;
        code = archive_day(round, &day, &has_damage, &is_stopped, err);
        if (has_damage) { /* its other tasks are removed by rows, and so are those of later days */
            query.low = day.low;
            query.high = day.high;
            return remove_rows(round, query, err);
        }
        if (code == FAINA_OK && !is_stopped)
            code = drop_day(round, &day, err);
        if (code == FAINA_OK && !is_stopped)
            round->removed += (size_t)day.tasks;
    }
    return code;
}

/* Rounds --------------------------------------------------------------------------------------- */

/* Where days are tables, dropping one is cheap and deleting its rows is not: rows are deleted a day
 * later, so that nearly all are dropped with their day. */
static int64_t rows_ms(int64_t keep_ms, bool has_days)
{
    return has_days && keep_ms >= BY_DAY_MS ? keep_ms + DAY_MS : keep_ms;
}

static enum faina_code run_round(struct round *round, struct faina_error *err)
{
    const struct fa_retention_settings *keep = round->keep;
    struct fa_expired_query query = {.completed_ms = keep->completed_ms,
                                     .failed_ms = keep->failed_ms};
    bool has_tasks = keep->completed_ms >= 0 || keep->failed_ms >= 0;
    bool has_days = false;
    enum faina_code code = FAINA_OK;

    if (keep->archive)
        code = fa_archive_open(&round->archive, keep->archive, err);
    if (code == FAINA_OK && has_tasks)
        code = remove_days(round, query, &has_days, err);
    query.completed_ms = rows_ms(keep->completed_ms, has_days);
    query.failed_ms = rows_ms(keep->failed_ms, has_days);
    if (code == FAINA_OK && has_tasks)
        code = remove_rows(round, query, err);
    query.events_ms = keep->events_ms > 0 ? keep->events_ms : 1;
    if (code == FAINA_OK && keep->events_ms >= 0)
        code = remove_rows(round, query, err);
    fa_archive_close(round->archive);
    round->archive = NULL;
    return code;
}

static enum faina_code begin_round(struct fa_service *service,
                                   const struct fa_retention_settings *keep,
                                   struct fa_retention_thread *retention, size_t *removed,
                                   struct faina_error *err)
{
    struct round round = {.service = service, .keep = keep, .retention = retention};
    const struct fa_expired nothing = {0};
    enum faina_code code;

    /* Refused on a node that doesn't lead, which must not open the archive either. */
    code = fa_service_expired_remove(service, &nothing, false, removed, err);
    if (code == FAINA_OK)
        code = run_round(&round, err);
    *removed = round.removed;
    fa_arena_finish(&round.arena);
    return code;
}

enum faina_code fa_retention_round(struct fa_service *service,
                                   const struct fa_retention_settings *keep, size_t *removed,
                                   struct faina_error *err)
{
    return begin_round(service, keep, NULL, removed, err);
}

/* The thread ----------------------------------------------------------------------------------- */

static int64_t min_round_ms(int64_t ms, int64_t keep_ms)
{
    int64_t part = keep_ms / ROUNDS_PER_TIME;

    return keep_ms >= 0 && part < ms ? part : ms;
}

static int64_t round_ms(const struct fa_retention_settings *keep)
{
    int64_t ms = min_round_ms(ROUND_MS_MAX, keep->completed_ms);

    ms = min_round_ms(min_round_ms(ms, keep->failed_ms), keep->events_ms);
    return ms > ROUND_MS_MIN ? ms : ROUND_MS_MIN;
}

static void report_round(struct fa_retention_thread *retention, enum faina_code code,
                         size_t removed, const struct faina_error *err)
{
    const struct fa_reporter *log = &retention->keep.log;

    if (removed > 0)
        fa_report(log, FA_LOG_INFO, "retention: %zu tasks %s", removed,
                  retention->folder ? "archived and removed" : "removed");
    if (code == FAINA_OK) {
        if (retention->last_error[0] != '\0')
            fa_report(log, FA_LOG_INFO, "retention works again");
        retention->last_error[0] = '\0';
        return;
    }
    if (code == FAINA_CONFLICT || code == FAINA_OVERLOADED || code == FAINA_STORE_CLOSED ||
        strcmp(retention->last_error, err->message) == 0)
        return; /* another node leads, the store is busy, or it is logged already */
    fa_report(log, FA_LOG_ERROR, "retention: nothing is removed, because %s", err->message);
    snprintf(retention->last_error, sizeof(retention->last_error), "%s", err->message);
}

static void *retention_main(void *arg)
{
    struct fa_retention_thread *retention = arg;
    int64_t pause_us = round_ms(&retention->keep) * 1000;

    do {
        struct faina_error err = {0};
        size_t removed = 0;
        enum faina_code code =
            begin_round(retention->service, &retention->keep, retention, &removed, &err);

        report_round(retention, code, removed, &err);
    } while (pause_for(retention, pause_us));
    return NULL;
}

static enum faina_code start_thread(struct fa_retention_thread *retention, struct faina_error *err)
{
    int rc;

    pthread_mutex_init(&retention->mutex, NULL);
    fa_cond_init(&retention->cond);
    rc = pthread_create(&retention->thread, NULL, retention_main, retention);
    if (rc == 0)
        return FAINA_OK;
    pthread_cond_destroy(&retention->cond);
    pthread_mutex_destroy(&retention->mutex);
    return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
}

enum faina_code fa_retention_start(struct fa_retention_thread **out, struct fa_service *service,
                                   const struct fa_retention_settings *keep,
                                   struct faina_error *err)
{
    struct fa_retention_thread *retention;
    enum faina_code code;

    if (fa_service_is_remote(service))
        return fa_error_set(
            err, FAINA_NOT_SUPPORTED,
            "retention runs in the process that opens the store: give the server these settings");
    retention = fa_alloc_zero(1, sizeof(*retention));
    retention->service = service;
    retention->keep = *keep;
    retention->folder = keep->archive ? strdup(keep->archive) : NULL;
    retention->keep.archive = retention->folder;
    code = start_thread(retention, err);
    if (code == FAINA_OK) {
        *out = retention;
    } else {
        free(retention->folder);
        free(retention);
    }
    return code;
}

void fa_retention_stop(struct fa_retention_thread *retention)
{
    if (!retention)
        return;
    pthread_mutex_lock(&retention->mutex);
    retention->is_stopping = true;
    pthread_cond_signal(&retention->cond);
    pthread_mutex_unlock(&retention->mutex);
    pthread_join(retention->thread, NULL);
    pthread_cond_destroy(&retention->cond);
    pthread_mutex_destroy(&retention->mutex);
    free(retention->folder);
    free(retention);
}
