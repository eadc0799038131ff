/* history_store.c - see history_store.h. */
#include "store/upkeep/history_store.h"

#include "base/clock.h"
#include "base/thread.h"
#include "model/failure_group.h"
#include "store/read/lookup.h"
#include "store/txn/history_log.h"
#include "store/txn/writer.h"

#include <stdlib.h>

#define SUMS_MAX 1500             /* namespaces of a minute that have rows of their own */
#define MAINTAIN_MINUTES 10       /* how often K2 removes and replaces rows */
#define RETRY_US 10000000         /* when a minute could not be stored */
#define TEXT_SIZE_MAX (64 * 1024) /* of a histogram */

struct fa_history_store {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards is_closing */
    pthread_cond_t cond;
    bool is_closing;
};

/* A row of `history`. */
struct row {
    int64_t seq, at_us;
    const char *ns, *type;
    struct fa_history_counts *counts; /* NULL: none */
    const char *waits, *runs;
    bool has_gauge;
    int64_t waiting, running, oldest_ms;
};

struct rows {
    struct fa_arena arena;
    struct row *items;
    size_t count, size;
};

static struct row *add_row(struct rows *rows, const char *ns, const char *type)
{
    struct row *row;

    rows->items =
        fa_arena_grow(&rows->arena, rows->items, rows->count, &rows->size, sizeof(*rows->items));
    row = &rows->items[rows->count++];
    *row = (struct row){.ns = ns, .type = type};
    return row;
}

static struct fa_history_counts *counts_of(struct rows *rows, struct row *row)
{
    if (row->counts == NULL)
        row->counts = fa_arena_zero(&rows->arena, 1, sizeof(*row->counts));
    return row->counts;
}

static const char *text_of(struct rows *rows, const struct fa_histogram *histogram)
{
    struct fa_buf buf;
    const char *text;

    fa_buf_init(&buf, TEXT_SIZE_MAX);
    fa_histogram_format(histogram, &buf);
    text = fa_arena_copy(&rows->arena, buf.ptr ? buf.ptr : "", buf.len);
    fa_buf_finish(&buf);
    return text;
}

/* Gives the rows their numbers, from that of the first on, and their texts. */
static void finish_rows(struct rows *rows, int64_t seq, int64_t at_us)
{
    if (rows->count > FA_HISTORY_ROWS_MAX)
        rows->count = FA_HISTORY_ROWS_MAX;
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->items[i];

        row->seq = seq + (int64_t)i;
        row->at_us = at_us;
        row->waits = row->counts != NULL ? text_of(rows, &row->counts->waits) : "";
        row->runs = row->counts != NULL ? text_of(rows, &row->counts->runs) : "";
    }
}

static void bind_row(void *ctx, size_t n, struct fa_value *v)
{
    const struct row *row = &((const struct rows *)ctx)->items[n];

    v[0] = fa_value_int(row->seq);
    v[1] = fa_value_int(row->at_us);
    v[2] = fa_value_text(row->ns);
    v[3] = fa_value_text(row->type);
    for (int i = 0; i < FA_HISTORY_COUNTS; i++)
        v[4 + i] = fa_value_int(row->counts != NULL ? row->counts->n[i] : 0);
    v[10] = fa_value_text(row->waits);
    v[11] = fa_value_text(row->runs);
    for (int i = 12; i < 15; i++)
        v[i] = (struct fa_value){.kind = FA_NULL};
    if (row->has_gauge) {
        v[12] = fa_value_int(row->waiting);
        v[13] = fa_value_int(row->running);
        v[14] = fa_value_int(row->oldest_ms);
    }
}

static enum faina_code put_rows(struct fa_db *db, struct rows *rows, struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_HISTORY_PUT,
                              .rows = rows->count,
                              .param_count = 15,
                              .bind = bind_row,
                              .bind_ctx = rows};

    return rows->count > 0 ? fa_db_run(db, &call, err) : FAINA_OK;
}

/* The rows of a minute (K1) ---------------------------------------------------------------- */

static int by_changes(const void *a, const void *b)
{
    const struct fa_history_entry *x = *(struct fa_history_entry *const *)a;
    const struct fa_history_entry *y = *(struct fa_history_entry *const *)b;
    int order = (x->changes < y->changes) - (x->changes > y->changes);

    if (order == 0)
        order = strcmp(x->ns, y->ns);
    return order != 0 ? order : strcmp(x->type, y->type);
}

/* The entries in the order of their changes; the minute itself stays as it is. */
static const struct fa_history_entry **sort_entries(struct rows *rows,
                                                    const struct fa_history_minute *minute)
{
    const struct fa_history_entry **sorted =
        fa_arena_zero(&rows->arena, minute->count + 1, sizeof(const struct fa_history_entry *));

    for (size_t i = 0; i < minute->count; i++)
        sorted[i] = minute->entries[i];
    qsort(sorted, minute->count, sizeof(const struct fa_history_entry *), by_changes);
    return sorted;
}

/* The row of a namespace among those from `first` on, which is added if there is room. */
static struct row *row_of(struct rows *rows, size_t first, const char *ns, const char *type)
{
    for (size_t i = first; i < rows->count; i++) {
        if (strcmp(rows->items[i].ns, ns) == 0)
            return &rows->items[i];
    }
    return rows->count - first < SUMS_MAX ? add_row(rows, ns, type) : NULL;
}

static void add_to(struct rows *rows, struct row *row, const struct fa_history_counts *counts)
{
    if (row != NULL)
        fa_history_counts_add(counts_of(rows, row), counts);
}

static void make_rows(struct rows *rows, const struct fa_history_minute *minute)
{
    const struct fa_history_entry **sorted = sort_entries(rows, minute);
    size_t kept = minute->count < FA_HISTORY_TYPES_MAX ? minute->count : FA_HISTORY_TYPES_MAX;
    size_t first;

    add_row(rows, "", "");
    for (size_t i = 0; i < minute->count; i++)
        add_to(rows, &rows->items[0], &sorted[i]->counts);
    for (size_t i = 0; i < kept; i++)
        add_to(rows, add_row(rows, sorted[i]->ns, sorted[i]->type), &sorted[i]->counts);
    first = rows->count;
    for (size_t i = kept; i < minute->count; i++)
        add_to(rows, row_of(rows, first, sorted[i]->ns, FA_HISTORY_OTHER), &sorted[i]->counts);
    first = rows->count;
    for (size_t i = 0; i < minute->count; i++) {
        if (sorted[i]->ns[0] != '\0')
            add_to(rows, row_of(rows, first, sorted[i]->ns, ""), &sorted[i]->counts);
    }
    finish_rows(rows, minute->seq, minute->at_us);
}

/* Gauges (K2) ------------------------------------------------------------------------------ */

static void add_gauge(struct row *row, const int64_t *by_status, int64_t oldest_ms)
{
    if (row == NULL)
        return;
    row->has_gauge = true;
    row->waiting += by_status[FAINA_PENDING];
    row->running +=
        by_status[FAINA_CLAIMED] + by_status[FAINA_RUNNING] + by_status[FAINA_BACKGROUND];
    if (oldest_ms > row->oldest_ms)
        row->oldest_ms = oldest_ms;
}

static bool has_any(const int64_t *by_status)
{
    return by_status[FAINA_PENDING] + by_status[FAINA_CLAIMED] + by_status[FAINA_RUNNING] +
               by_status[FAINA_BACKGROUND] >
           0;
}

static int64_t waited_ms(const struct faina_count *count, int64_t now_us)
{
    return count->oldest_ready_us > 0 && count->oldest_ready_us < now_us
               ? (now_us - count->oldest_ready_us) / 1000
               : 0;
}

/* Rows for the types that have waiting or running tasks, and sums; none when no type has. */
static void make_gauges(struct rows *rows, const struct faina_stats *stats, int64_t at_us,
                        int64_t now_us)
{
    size_t first;

    if (!has_any(stats->by_status))
        return;
    add_gauge(add_row(rows, "", ""), stats->by_status, 0);
    for (size_t i = 0; i < stats->count; i++) {
        const struct faina_count *count = &stats->types[i];

        if (!has_any(count->by_status))
            continue;
        add_gauge(
            add_row(rows, count->ns, fa_name_fold(fa_arena_strdup(&rows->arena, count->type))),
            count->by_status, waited_ms(count, now_us));
        if (waited_ms(count, now_us) > rows->items[0].oldest_ms)
            rows->items[0].oldest_ms = waited_ms(count, now_us);
    }
    first = rows->count;
    for (size_t i = 0; i < stats->count; i++) {
        if (has_any(stats->types[i].by_status))
            add_gauge(row_of(rows, first, stats->types[i].ns, ""), stats->types[i].by_status,
                      waited_ms(&stats->types[i], now_us));
    }
    finish_rows(rows, fa_history_seq(at_us, FA_HISTORY_GAUGE_PART, 0), at_us);
}

static enum faina_code read_gauges(struct fa_source *source, struct rows *rows, int64_t at_us,
                                   struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_STATS, .name = {.ns = "*"}, .arena = &rows->arena};
    enum faina_code code = fa_read_stats(source, &op);

    if (code == FAINA_OK)
        make_gauges(rows, op.stats, at_us, fa_db_now(source->db));
    else
        *err = op.error;
    return code;
}

/* The hours (K2) --------------------------------------------------------------------------- */

static void sink_minute(void *ctx, size_t n, const struct fa_value *c)
{
    struct rows *rows = ctx;
    struct row *row = rows->count > 0 ? &rows->items[rows->count - 1] : NULL;
    struct fa_history_counts *counts;
    bool is_new = row == NULL || !fa_bytes_equal(fa_str(row->ns), c[2].text) ||
                  !fa_bytes_equal(fa_str(row->type), c[3].text);

    (void)n;
    if (is_new)
        row = add_row(rows, fa_arena_copy(&rows->arena, c[2].text.ptr, c[2].text.len),
                      fa_arena_copy(&rows->arena, c[3].text.ptr, c[3].text.len));
    counts = counts_of(rows, row);
    for (int i = 0; i < FA_HISTORY_COUNTS; i++)
        counts->n[i] += fa_value_as_int(&c[4 + i]);
    fa_histogram_parse(c[10].text, &counts->waits);
    fa_histogram_parse(c[11].text, &counts->runs);
    if (c[12].kind != FA_INT)
        return;
    row->has_gauge = true; /* that of the last minute */
    row->waiting = c[12].i;
    row->running = fa_value_as_int(&c[13]);
    if (fa_value_as_int(&c[14]) > row->oldest_ms)
        row->oldest_ms = fa_value_as_int(&c[14]);
}

static enum faina_code delete_range(struct fa_db *db, int64_t from, int64_t to,
                                    struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_int(from), fa_value_int(to)};

    return fa_db_one(db, FA_SQL_HISTORY_DELETE, params, 2, NULL, NULL, err);
}

static enum faina_code roll_up(struct fa_db *db, int64_t hour_us, struct faina_error *err)
{
    int64_t from = fa_history_seq(hour_us, 0, 0);
    int64_t to = fa_history_seq(hour_us + FA_HISTORY_HOUR_US, 0, 0);
    struct fa_value params[2] = {fa_value_int(from), fa_value_int(to)};
    struct rows rows = {.arena = {0}};
    enum faina_code code = fa_db_one(db, FA_SQL_HISTORY_RANGE, params, 2, sink_minute, &rows, err);

    if (code == FAINA_OK) {
        finish_rows(&rows, FA_HISTORY_HOURS | fa_history_seq(hour_us, FA_HISTORY_ROLLED_PART, 0),
                    hour_us);
        code = put_rows(db, &rows, err);
    }
    if (code == FAINA_OK)
        code = delete_range(db, from, to, err);
    fa_arena_finish(&rows.arena);
    return code;
}

/* The transactions ------------------------------------------------------------------------- */

struct store_chore {
    struct fa_chore chore;
    struct rows *rows;
    bool reads_gauges; /* there are no readers: the gauges of this time are read here */
    bool maintains;    /* K2 */
    int64_t at_us;
    bool has_more;
};

static enum faina_code maintain(struct store_chore *store, struct fa_db *db,
                                struct faina_error *err)
{
    int64_t now_us = fa_db_now(db), first = 0, hour_us;
    enum faina_code code =
        fa_db_one(db, FA_SQL_HISTORY_FIRST, NULL, 0, fa_db_sink_int, &first, err);

    hour_us = (first >> FA_HISTORY_PART_BITS) * FA_HISTORY_MINUTE_US;
    hour_us -= hour_us % FA_HISTORY_HOUR_US;
    if (code == FAINA_OK && first > 0 && first < FA_HISTORY_HOURS &&
        hour_us + FA_HISTORY_HOUR_US <= now_us - FA_HISTORY_MINUTES_KEEP_US) {
        store->has_more = true;
        code = roll_up(db, hour_us, err);
    }
    if (code == FAINA_OK)
        code = delete_range(
            db, FA_HISTORY_HOURS,
            FA_HISTORY_HOURS | fa_history_seq(now_us - FA_HISTORY_HOURS_KEEP_US, 0, 0), err);
    if (code == FAINA_OK) {
        struct fa_value since = fa_value_int(now_us - FA_FAILURE_KEEP_US);

        code = fa_db_one(db, FA_SQL_FAILURE_EXPIRE, &since, 1, NULL, NULL, err);
    }
    return code;
}

static enum faina_code run_store(struct fa_writer *writer, struct fa_chore *chore)
{
    struct store_chore *store = FA_CONTAINER_OF(chore, struct store_chore, chore);
    enum faina_code code = FAINA_OK;

    store->has_more = false;
    if (store->reads_gauges) {
        code = fa_unit_flush(&writer->unit, &chore->error);
        store->rows->count = 0;
        if (code == FAINA_OK)
            code = read_gauges(&writer->unit.source, store->rows, store->at_us, &chore->error);
    }
    if (code == FAINA_OK)
        code = put_rows(writer->db, store->rows, &chore->error);
    if (code == FAINA_OK && store->maintains)
        code = maintain(store, writer->db, &chore->error);
    return code;
}

static enum faina_code run_chore(struct fa_engine *engine, struct store_chore *store)
{
    store->chore.run = run_store;
    return fa_writers_run_chore(engine, &store->chore, 1, NULL);
}

static enum faina_code store_minutes(struct fa_engine *engine, int64_t until_us)
{
    const struct fa_history_minute *minute;
    enum faina_code code = FAINA_OK;

    while (code == FAINA_OK && (minute = fa_history_log_take(engine->history, until_us)) != NULL) {
        struct rows rows = {.arena = {0}};

        make_rows(&rows, minute);
        code = run_chore(engine, &(struct store_chore){.rows = &rows});
        fa_arena_finish(&rows.arena);
        if (code == FAINA_OK)
            fa_history_log_stored(engine->history, minute, fa_db_now(engine->writers[0].db));
    }
    return code;
}

/* Whether this process should maintain the history: on a shared store, the one that runs the
 * chores (K2). */
static bool leads(struct fa_engine *engine)
{
    return engine->fleet == NULL || atomic_load(&engine->next_us) != INT64_MAX;
}

static enum faina_code store_gauges(struct fa_engine *engine, int64_t at_us)
{
    struct rows rows = {.arena = {0}};
    struct store_chore store = {.rows = &rows,
                                .reads_gauges = engine->readers == NULL,
                                .maintains = at_us / FA_HISTORY_MINUTE_US % MAINTAIN_MINUTES == 0,
                                .at_us = at_us};
    struct fa_reader *reader = NULL;
    enum faina_code code = FAINA_OK;

    if (engine->readers != NULL) {
        code = fa_readers_begin(engine->readers, &reader, NULL);
        if (code == FAINA_OK) {
            struct faina_error err;

            code = read_gauges(&reader->source, &rows, at_us, &err);
            fa_readers_end(engine->readers, reader);
        }
    }
    do {
        if (code == FAINA_OK && (rows.count > 0 || store.reads_gauges || store.maintains))
            code = run_chore(engine, &store);
        store.reads_gauges = false;
        rows.count = 0;
    } while (code == FAINA_OK && store.has_more);
    fa_arena_finish(&rows.arena);
    return code;
}

/* The thread ------------------------------------------------------------------------------- */

/* False: the engine is being closed. The mutex is held. */
static bool sleep_us(struct fa_history_store *store, int64_t us)
{
    int64_t until_us = fa_clock_mono_us() + us;

    while (!store->is_closing && fa_clock_mono_us() < until_us)
        fa_cond_wait_until(&store->cond, &store->mutex, until_us);
    return !store->is_closing;
}

static void *run_thread(void *ctx)
{
    struct fa_engine *engine = ctx;
    struct fa_history_store *store = engine->history_store;
    int64_t now_us = fa_db_now(engine->writers[0].db), at_us;
    enum faina_code code = FAINA_OK;

    pthread_mutex_lock(&store->mutex);
    for (;;) {
        at_us = now_us - now_us % FA_HISTORY_MINUTE_US; /* the minute that ends after the sleep */
        if (!sleep_us(store,
                      code == FAINA_OK ? at_us + FA_HISTORY_MINUTE_US - now_us + 1000 : RETRY_US))
            break;
        pthread_mutex_unlock(&store->mutex);
        now_us = fa_db_now(engine->writers[0].db);
        code = store_minutes(engine, now_us);
        if (code == FAINA_OK && leads(engine))
            code = store_gauges(engine, at_us);
        now_us = fa_db_now(engine->writers[0].db);
        pthread_mutex_lock(&store->mutex);
    }
    pthread_mutex_unlock(&store->mutex);
    return NULL;
}

enum faina_code fa_history_store_start(struct fa_engine *engine, struct faina_error *err)
{
    struct fa_history_store *store = fa_alloc_zero(1, sizeof(*store));
    int rc;

    pthread_mutex_init(&store->mutex, NULL);
    fa_cond_init(&store->cond);
    engine->history_store = store;
    rc = fa_thread_start(&store->thread, run_thread, engine);
    if (rc == 0)
        return FAINA_OK;
    engine->history_store = NULL;
    pthread_cond_destroy(&store->cond);
    pthread_mutex_destroy(&store->mutex);
    free(store);
    return fa_error_set(err, FAINA_UNAVAILABLE, "no thread can be started: %s", strerror(rc));
}

void fa_history_store_stop(struct fa_engine *engine)
{
    struct fa_history_store *store = engine->history_store;
    enum faina_code code = FAINA_OK;

    if (store == NULL)
        return;
    pthread_mutex_lock(&store->mutex);
    store->is_closing = true;
    pthread_cond_signal(&store->cond);
    pthread_mutex_unlock(&store->mutex);
    pthread_join(store->thread, NULL);
    if (atomic_load(&engine->fail_us) == 0) /* else the store can't be reached: don't wait for it */
        code = store_minutes(engine, INT64_MAX);
    (void)code; /* K3 */
    engine->history_store = NULL;
    pthread_cond_destroy(&store->cond);
    pthread_mutex_destroy(&store->mutex);
    free(store);
}
