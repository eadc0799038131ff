/* runs.c - see runs.h. */
#include "store/queue/runs.h"

#include "store/txn/unit.h"

#include <stdlib.h>
#include <string.h>

/* A row of `ready`. */
struct run {
    int64_t lane, rank;
    int64_t version; /* 0: the tasks are plain, and `flags` is 0, too */
    int64_t flags;
    const int64_t *keys;
    size_t count;
    const char *text; /* NULL: one task */
};

/* Columns of ready_get. */
enum { VERSION = 0, FLAGS = 3, ID = 13, RUN = 14 };

static int by_key(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Text ------------------------------------------------------------------------------------- */

#define OFFSET_MAX (INT64_C(1) << 60) /* ids are smaller */

/* Returns how many tasks the text has; 0: it isn't one that write_run makes. */
static size_t read_run(int64_t first, const char *text, int64_t keys[FA_RUN_MAX])
{
    size_t count = 0;

    for (char *end; *text == (count == 0 ? '[' : ','); text = end) {
        int64_t offset = strtoll(text + 1, &end, 10);

        if (count == FA_RUN_MAX || offset > OFFSET_MAX || (count == 0 && offset != 0) ||
            (count > 0 && first + offset <= keys[count - 1]))
            return 0;
        keys[count++] = first + offset;
    }
    return strcmp(text, "]") == 0 ? count : 0;
}

bool fa_run_contains(int64_t first, const char *run, int64_t key)
{
    int64_t keys[FA_RUN_MAX];
    size_t count;

    if (run == NULL || key == first)
        return key == first;
    count = read_run(first, run, keys);
    return bsearch(&key, keys, count, sizeof(*keys), by_key) != NULL;
}

static const char *write_run(const struct run *run, struct fa_arena *arena)
{
    char *text, *at;

    if (run->count < 2)
        return NULL;
    at = text = fa_arena_take(arena, run->count * (FA_INT_LENGTH_MAX + 1) + 2);
    for (size_t i = 0; i < run->count; i++) {
        *at++ = i == 0 ? '[' : ',';
        at = fa_put_int(at, run->keys[i] - run->keys[0]);
    }
    *at++ = ']';
    *at = '\0';
    return text;
}

/* Rows ------------------------------------------------------------------------------------- */

static void bind_position(void *ctx, size_t n, struct fa_value *v)
{
    const struct run *run = &((const struct run *)ctx)[n];

    v[0] = fa_value_int(run->lane);
    v[1] = fa_value_int(run->rank);
    v[2] = fa_value_int(run->keys[0]);
}

static void bind_run(void *ctx, size_t n, struct fa_value *v)
{
    const struct run *run = &((const struct run *)ctx)[n];

    bind_position(ctx, n, v);
    v[3] = fa_value_int_or_null(run->version);
    v[4] = fa_value_int_or_null(run->flags);
    v[5] = fa_value_text(run->text);
}

static enum faina_code insert_runs(struct fa_unit *unit, struct run *runs, size_t count,
                                   struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_READY_INSERT_NEW,
                              .rows = count,
                              .param_count = 6,
                              .bind = bind_run,
                              .bind_ctx = runs};

    for (size_t i = 0; i < count; i++)
        runs[i].text = write_run(&runs[i], &unit->arena);
    return fa_db_run(unit->source.db, &call, err);
}

static enum faina_code delete_runs(struct fa_unit *unit, struct run *runs, size_t count,
                                   struct faina_error *err)
{
    struct fa_db_call call = {.sql = FA_SQL_READY_DELETE,
                              .rows = count,
                              .param_count = 3,
                              .bind = bind_position,
                              .bind_ctx = runs};

    return fa_db_run(unit->source.db, &call, err);
}

static int by_position(const void *a, const void *b)
{
    const struct fa_row *x = *(struct fa_row *const *)a, *y = *(struct fa_row *const *)b;

    if (x->lane != y->lane)
        return x->lane->id < y->lane->id ? -1 : 1;
    if (fa_row_written_rank(x) != fa_row_written_rank(y))
        return fa_row_written_rank(x) < fa_row_written_rank(y) ? -1 : 1;
    return (x->id.key > y->id.key) - (x->id.key < y->id.key);
}

static void sort(struct fa_row **rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (by_position(&rows[i - 1], &rows[i]) > 0) {
            qsort(rows, count, sizeof(struct fa_row *), by_position);
            return;
        }
    }
}

/* Inserting ----------------------------------------------------------------------------------- */

bool fa_run_can_contain(const struct fa_row *row)
{
    return row->version == 1 && (row->fence | row->attempts | row->progress) == 0 &&
           row->updated_us == row->created_us && (row->claimed_us | row->started_us) == 0 &&
           row->due_us == 0 && row->state == NULL && row->error == NULL && row->metadata == NULL &&
           row->group == NULL;
}

static struct run run_of(const struct fa_row *row)
{
    bool is_plain = fa_row_is_plain(row) && row->flags == 0;

    return (struct run){.lane = row->lane->id,
                        .rank = row->rank,
                        .version = is_plain ? 0 : row->version,
                        .flags = row->flags,
                        .keys = &row->id.key,
                        .count = 1};
}

static bool can_join(const struct run *run, const struct run *next)
{
    return run->count < FA_RUN_MAX && run->lane == next->lane && run->rank == next->rank &&
           run->version == next->version && run->flags == next->flags;
}

enum faina_code fa_runs_insert(struct fa_unit *unit, struct fa_row **rows, size_t count,
                               struct faina_error *err)
{
    struct run *runs = fa_arena_take(&unit->arena, count * sizeof(*runs));
    int64_t *keys = fa_arena_take(&unit->arena, count * sizeof(*keys));
    bool is_open = false; /* the row before is in the last run */
    size_t n = 0;

    sort(rows, count);
    for (size_t i = 0; i < count; i++) {
        struct run next = run_of(rows[i]);

        keys[i] = rows[i]->id.key;
        next.keys = &keys[i];
        if (rows[i]->is_in_run && is_open && can_join(&runs[n - 1], &next))
            runs[n - 1].count++;
        else if (rows[i]->is_in_run)
            runs[n++] = next;
        is_open = rows[i]->is_in_run;
    }
    for (size_t i = 0; i < n; i++)
        rows[runs[i].keys - keys]->is_in_run = runs[i].count > 1;
    return insert_runs(unit, runs, n, err);
}

/* Removing ------------------------------------------------------------------------------------ */

/* Runs that are read and removed, and the parts of them that are inserted again. */
struct change {
    struct fa_unit *unit;
    struct run *removed, *kept;
    size_t removed_count, kept_count, kept_size;
};

static void sink_run(void *ctx, size_t n, const struct fa_value *columns)
{
    struct change *change = ctx;
    struct run *run = &change->removed[change->removed_count];
    int64_t *keys = fa_arena_take(&change->unit->arena, FA_RUN_MAX * sizeof(*keys));
    const char *text = fa_value_dup(&columns[RUN], &change->unit->arena);

    (void)n;
    keys[0] = columns[ID].i; /* for a row without a text */
    run->version = fa_value_as_int(&columns[VERSION]);
    run->flags = fa_value_as_int(&columns[FLAGS]);
    run->keys = keys;
    run->count = text ? read_run(keys[0], text, keys) : 1;
}

static void add_kept(struct change *change, const struct run *run, size_t from, size_t to)
{
    if (from == to)
        return;
    change->kept = fa_arena_grow(&change->unit->arena, change->kept, change->kept_count,
                                 &change->kept_size, sizeof(*change->kept));
    change->kept[change->kept_count] = *run;
    change->kept[change->kept_count].keys = run->keys + from;
    change->kept[change->kept_count++].count = to - from;
}

/* Takes the tasks that are in the run out of it; returns their number. */
static size_t take_out(struct change *change, const struct run *run, struct fa_row *const *rows,
                       size_t count)
{
    size_t taken = 0, from = 0;

    for (size_t i = 0; i < run->count; i++) {
        if (taken == count || rows[taken]->id.key != run->keys[i])
            continue;
        if (rows[taken]->lane->id != run->lane || fa_row_written_rank(rows[taken]) != run->rank)
            break;
        add_kept(change, run, from, i);
        from = i + 1;
        rows[taken++]->is_in_run = false;
    }
    add_kept(change, run, from, run->count);
    return taken;
}

/* Takes the first task, and all others of the same run, out of their run. */
static enum faina_code remove_from_run(struct change *change, struct fa_row *const *rows,
                                       size_t count, size_t *taken, struct faina_error *err)
{
    struct run *run = &change->removed[change->removed_count];
    struct fa_value position[] = {fa_value_int(rows[0]->lane->id),
                                  fa_value_int(fa_row_written_rank(rows[0])),
                                  fa_value_int(rows[0]->id.key)};
    enum faina_code code;

    *run = (struct run){.lane = rows[0]->lane->id, .rank = fa_row_written_rank(rows[0])};
    code = fa_db_one(change->unit->source.db, FA_SQL_READY_GET, position, 3, sink_run, change, err);
    if (code != FAINA_OK)
        return code;
    *taken = take_out(change, run, rows, count);
    if (*taken == 0)
        return fa_row_refuse(&change->unit->source, rows[0],
                             "it is not in the row of table ready that should hold it", err);
    change->removed_count++;
    return FAINA_OK;
}

/* The row of a task that is alone in it, where it is stored. */
static struct run stored_run_of(const struct fa_row *row)
{
    struct run run = run_of(row);

    run.rank = fa_row_written_rank(row);
    return run;
}

enum faina_code fa_runs_remove(struct fa_unit *unit, struct fa_row **rows, size_t count,
                               struct faina_error *err)
{
    struct change change = {.unit = unit,
                            .removed = fa_arena_take(&unit->arena, count * sizeof(struct run))};
    enum faina_code code = FAINA_OK;

    sort(rows, count);
    for (size_t i = 0, taken = 0; code == FAINA_OK && i < count; i += taken) {
        taken = 1;
        if (rows[i]->is_in_run)
            code = remove_from_run(&change, rows + i, count - i, &taken, err);
        else
            change.removed[change.removed_count++] = stored_run_of(rows[i]);
    }
    if (code == FAINA_OK)
        code = delete_runs(unit, change.removed, change.removed_count, err);
    return code == FAINA_OK ? insert_runs(unit, change.kept, change.kept_count, err) : code;
}

/* The position falls into the run when a task of the run is behind it. */
enum faina_code fa_runs_split(struct fa_unit *unit, const struct fa_lane *lane,
                              const struct fa_row *row, struct faina_error *err)
{
    struct fa_value position[] = {fa_value_int(lane->id), fa_value_int(row->rank),
                                  fa_value_int(row->id.key)};
    struct run run = {.lane = lane->id, .rank = row->rank};
    struct change change = {.unit = unit, .removed = &run};
    enum faina_code code;
    size_t at = 0;

    if (!fa_db_has(unit->source.db, FA_DB_ROW_RUNS))
        return FAINA_OK;
    code = fa_db_one(unit->source.db, FA_SQL_READY_GET, position, 3, sink_run, &change, err);
    while (at < run.count && run.keys[at] < row->id.key)
        at++;
    if (code != FAINA_OK || at == run.count)
        return code;
    add_kept(&change, &run, 0, at);
    add_kept(&change, &run, at, run.count);
    code = delete_runs(unit, &run, 1, err);
    return code == FAINA_OK ? insert_runs(unit, change.kept, change.kept_count, err) : code;
}
