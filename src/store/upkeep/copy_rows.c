/* copy_rows.c - see copy_rows.h. */
#include "store/upkeep/copy_rows.h"

#include "base/checksum.h"
#include "base/hash.h"
#include "store/queue/ops.h"

#include <stdlib.h>

#define PAGE_ROWS_MAX 1000
#define PAGE_ROWS_START 100
#define PAGE_BYTES_MAX (8 << 20) /* larger: the next page has fewer rows */
#define CALL_BYTES_MAX (32 << 20)

#define ONE_PAGE(name, page, put, n)                                                               \
    {                                                                                              \
        name, FA_SQL_##page, FA_SQL_##put, n, n, n, 0, -1, -1, FA_COPY_NO_NAMES                    \
    }
#define PAGED(name, page, put, n, keys, name_at, names)                                            \
    {                                                                                              \
        name, FA_SQL_##page, FA_SQL_##put, n, n, n, keys, -1, name_at, names                       \
    }

const struct fa_copy_table fa_copy_tables[] = {
    ONE_PAGE("lane", COPY_LANE, COPY_LANE_PUT, 3),
    ONE_PAGE("resource", COPY_RESOURCE, COPY_RESOURCE_PUT, 8),
    ONE_PAGE("type_policy", TYPE_POLICY_ALL, COPY_TYPE_POLICY_PUT, 15),
    ONE_PAGE("team", COPY_TEAM, TEAM_PUT, 6),
    ONE_PAGE("token", COPY_TOKEN, TOKEN_PUT, 7),
    ONE_PAGE("setting", COPY_SETTING, SETTING_PUT, 2),
    ONE_PAGE("cron", CRON_ALL, CRON_PUT, 15),
    ONE_PAGE("paused", PAUSED_ALL, PAUSED_INSERT, 2),
    ONE_PAGE("operation", COPY_OPERATION, OPERATION_PUT, 15),
    ONE_PAGE("workflow", COPY_WORKFLOW, COPY_WORKFLOW_PUT, 6),
    ONE_PAGE("join_state", COPY_JOIN, COPY_JOIN_PUT, 11),
    ONE_PAGE("audit_head", COPY_AUDIT_HEAD, AUDIT_HEAD_SET, 3),
    PAGED("tally", COPY_TALLY, TALLY_ADD, 3, 0, 0, FA_COPY_LANES),
    PAGED("group_turn", COPY_TURN, TURN_PUT, 5, 0, 0, FA_COPY_LANES),
    PAGED("task", COPY_TASK, TASK_INSERT, 26, 1, 2, FA_COPY_LANES),
    PAGED("ready", COPY_READY, READY_INSERT, 16, 3, 0, FA_COPY_LANES),
    PAGED("held", COPY_HELD, HELD_INSERT, 19, 1, 2, FA_COPY_LANES),
    PAGED("parked", COPY_PARKED, PARKED_INSERT, 17, 1, 1, FA_COPY_LANES),
    PAGED("ended", COPY_ENDED, ENDED_INSERT, 18, 1, 1, FA_COPY_LANES),
    /* Only PostgreSQL stores the second half of a key's hash; on SQLite it is computed from the
     * columns after it. */
    {"task_key", FA_SQL_COPY_KEY, FA_SQL_KEY_INSERT, 9, 3, 2, 2, -1, -1, FA_COPY_NO_NAMES},
    PAGED("task_dep", COPY_DEP, DEP_INSERT, 2, 2, -1, FA_COPY_NO_NAMES),
    {"event", FA_SQL_COPY_EVENT, FA_SQL_EVENT_INSERT, 8, 8, 8, 3, 2, -1, FA_COPY_NO_NAMES},
    PAGED("hold", COPY_HOLD, HOLD_INSERT, 2, 2, 0, FA_COPY_RESOURCES),
    PAGED("timer", COPY_TIMER, TIMER_INSERT, 3, 3, -1, FA_COPY_NO_NAMES),
    PAGED("origin", COPY_ORIGIN, ORIGIN_INSERT, 6, 1, -1, FA_COPY_NO_NAMES),
    PAGED("happened", COPY_EMITTED, COPY_EMITTED_PUT, 8, 1, -1, FA_COPY_NO_NAMES),
    PAGED("failure_group", COPY_FAILURE, FAILURE_PUT, 9, 1, -1, FA_COPY_NO_NAMES),
    PAGED("audit", AUDIT_ASC, AUDIT_INSERT, 9, 1, -1, FA_COPY_NO_NAMES),
    PAGED("history", COPY_HISTORY, HISTORY_PUT, 15, 1, -1, FA_COPY_NO_NAMES),
};
const size_t fa_copy_table_count = FA_COUNT(fa_copy_tables);

const char *const fa_copy_left_out[] = {
    "worker",
    "schema_migrations",
    "leader",
    "awaited",
    "proof",
    "log",
    "log_forgotten",
    "sqlite_sequence",
    "workflow_generation",
    "type_policy_generation",
    "claimer", /* the copy has other workers */
    "unhandled",
    "happened_inbox",
    "id_slot",
    "submit_grant",
    "submit_lock",
    "partition_lock",
    "broker", /* the copy may have another broker */
    "outbox",
    "setting",   /* which notifications PostgreSQL sends */
    "set_aside", /* the copy's engine finds such items itself */
    NULL,
};

enum { KEY_HASH, KEY_TASK, KEY_MORE, KEY_KEY, KEY_INPUT, KEY_CHILD, KEY_PARENT, KEY_NS, KEY_TYPE };

static enum faina_code damaged(const char *table, struct faina_error *err)
{
    return fa_error_set(err, FAINA_UNAVAILABLE,
                        "rows of the table %s don't match the others: `faina doctor` reports more",
                        table);
}

/* A copy stops at a damaged row: without the row it would differ from its source. */
static enum faina_code damaged_row(const struct fa_copy_table *table, const struct fa_value *row,
                                   struct faina_error *err)
{
    struct fa_arena scratch = {0};
    const char *id = row[0].kind == FA_TEXT
                         ? fa_value_dup(&row[0], &scratch)
                         : fa_arena_printf(&scratch, "%lld", (long long)fa_value_as_int(&row[0]));

    fa_error_set(
        err, FAINA_UNAVAILABLE,
        "the copy stops at a damaged row of table %s, whose first column is %.100s: repair "
        "or remove it; `faina doctor` reports more",
        table->name, id);
    fa_arena_finish(&scratch);
    return FAINA_UNAVAILABLE;
}

/* Names --------------------------------------------------------------------------------------- */

struct names_sink {
    struct fa_copy_side *side;
    struct fa_copy_names *names;
    size_t parts; /* columns after the id */
};

static void sink_name(void *ctx, size_t row, const struct fa_value *columns)
{
    struct names_sink *sink = ctx;
    struct fa_copy_names *names = sink->names;
    struct fa_copy_name *name;
    struct fa_bytes parts[3] = {{0}};
    uint8_t digest[FA_SHA256_SIZE];

    (void)row;
    for (size_t i = 0; i < sink->parts; i++)
        parts[i] = columns[1 + i].text;
    names->items = fa_arena_grow(&sink->side->arena, names->items, names->count, &names->size,
                                 sizeof(*names->items));
    name = &names->items[names->count++];
    name->id = columns[0].i;
    name->other_id = 0;
    fa_sha256_parts(parts, sink->parts, digest);
    memcpy(&name->hash, digest, sizeof(name->hash));
    memcpy(&name->more, digest + sizeof(name->hash), sizeof(name->more));
}

static int compare_ids(const void *a, const void *b)
{
    const struct fa_copy_name *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static int compare_hashes(const void *a, const void *b)
{
    const struct fa_copy_name *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash > y->hash ? 1 : -1;
    return (x->more > y->more) - (x->more < y->more);
}

static void sort_names(struct fa_copy_names *names, int (*compare)(const void *a, const void *b))
{
    if (names->count > 0)
        qsort(names->items, names->count, sizeof(*names->items), compare);
}

enum faina_code fa_copy_names_load(struct fa_copy_side *side, struct faina_error *err)
{
    struct fa_copy_names *lanes = &side->names[FA_COPY_LANES];
    struct fa_copy_names *resources = &side->names[FA_COPY_RESOURCES];
    struct fa_value any = {.kind = FA_NULL};
    enum faina_code code;

    lanes->count = resources->count = 0;
    code = fa_db_one(side->db, FA_SQL_LANE_ALL, NULL, 0, sink_name,
                     &(struct names_sink){side, lanes, 3}, err);
    if (code == FAINA_OK)
        code = fa_db_one(side->db, FA_SQL_RESOURCE_ALL, &any, 1, sink_name,
                         &(struct names_sink){side, resources, 1}, err);
    sort_names(lanes, compare_ids);
    sort_names(resources, compare_ids);
    return code;
}

enum faina_code fa_copy_names_match(struct fa_copy_side *side, const struct fa_copy_side *other,
                                    struct faina_error *err)
{
    for (int kind = FA_COPY_LANES; kind < FA_COPY_NAMES_COUNT; kind++) {
        struct fa_copy_names *mine = &side->names[kind], theirs = {0};
        struct fa_arena scratch = {0};
        bool is_complete = true;

        theirs = other->names[kind];
        theirs.items = fa_arena_zero(&scratch, theirs.count + 1, sizeof(*theirs.items));
        if (theirs.count > 0)
            memcpy(theirs.items, other->names[kind].items, theirs.count * sizeof(*theirs.items));
        sort_names(&theirs, compare_hashes);
        for (size_t i = 0; i < mine->count; i++) {
            const struct fa_copy_name *found = bsearch(&mine->items[i], theirs.items, theirs.count,
                                                       sizeof(*theirs.items), compare_hashes);

            mine->items[i].other_id = found != NULL ? found->id : 0;
            is_complete &= found != NULL;
        }
        fa_arena_finish(&scratch);
        if (!is_complete)
            return damaged(kind == FA_COPY_LANES ? "lane" : "resource", err);
    }
    return FAINA_OK;
}

static const struct fa_copy_name *find_name(const struct fa_copy_side *side,
                                            const struct fa_copy_table *table,
                                            const struct fa_value *value)
{
    const struct fa_copy_names *names = &side->names[table->names];
    struct fa_copy_name wanted = {.id = fa_value_as_int(value)};

    if (names->count == 0)
        return NULL;
    return bsearch(&wanted, names->items, names->count, sizeof(*names->items), compare_ids);
}

/* Reading ------------------------------------------------------------------------------------- */

void fa_copy_position_start(struct fa_copy_position *position)
{
    for (size_t i = 0; i < FA_COPY_KEYS_MAX; i++)
        position->keys[i] = INT64_MIN;
    position->word[0] = '\0';
}

void fa_copy_page_init(struct fa_copy_page *page, const struct fa_copy_table *table)
{
    *page = (struct fa_copy_page){.table = table, .limit = PAGE_ROWS_START};
}

void fa_copy_page_finish(struct fa_copy_page *page)
{
    fa_arena_finish(&page->arena);
    free(page->values);
    page->values = NULL;
    page->count = page->size = 0;
}

static void sink_row(void *ctx, size_t row, const struct fa_value *columns)
{
    struct fa_copy_page *page = ctx;
    size_t n = page->table->column_count;
    struct fa_value *values;

    (void)row;
    if (page->count == page->size) {
        page->size = page->size ? page->size * 2 : 256;
        page->values = fa_realloc(page->values, page->size * n * sizeof(*page->values));
    }
    values = page->values + page->count++ * n;
    for (size_t i = 0; i < n; i++) {
        values[i] = columns[i];
        if (columns[i].kind != FA_TEXT)
            continue;
        values[i].text.ptr = fa_value_dup(&columns[i], &page->arena);
        page->bytes += columns[i].text.len;
    }
}

/* Whether the next page can begin after a row: its key has the right types. */
static bool has_key(const struct fa_copy_table *table, const struct fa_value *row)
{
    for (size_t i = 0; i < table->key_count; i++) {
        if ((int)i != table->word_at
                ? row[i].kind != FA_INT
                : row[i].kind != FA_TEXT || row[i].text.len >= FA_COPY_WORD_SIZE)
            return false;
    }
    return true;
}

static void move(const struct fa_copy_page *page, struct fa_copy_position *position)
{
    const struct fa_copy_table *table = page->table;
    const struct fa_value *last = page->values + (page->count - 1) * table->column_count;

    for (size_t i = 0; i < table->key_count; i++) {
        if ((int)i != table->word_at) {
            position->keys[i] = fa_value_as_int(&last[i]);
        } else {
            size_t len = last[i].text.len;

            memcpy(position->word, last[i].text.ptr, len);
            position->word[len] = '\0';
        }
    }
}

static void adapt(struct fa_copy_page *page)
{
    if (page->bytes > PAGE_BYTES_MAX)
        page->limit = page->limit / 4 + 1;
    else if (page->bytes < PAGE_BYTES_MAX / 4)
        page->limit *= 2;
    if (page->limit > PAGE_ROWS_MAX)
        page->limit = PAGE_ROWS_MAX;
}

enum faina_code fa_copy_page_read(struct fa_copy_page *page, struct fa_copy_side *from,
                                  struct fa_copy_position *position, struct faina_error *err)
{
    const struct fa_copy_table *table = page->table;
    struct fa_value params[FA_COPY_KEYS_MAX + 1];
    size_t count = 0;
    enum faina_code code;

    fa_arena_reset(&page->arena);
    page->count = page->bytes = 0;
    for (; count < table->key_count; count++)
        params[count] = (int)count == table->word_at ? fa_value_text(position->word)
                                                     : fa_value_int(position->keys[count]);
    if (count > 0)
        params[count++] = fa_value_int((int64_t)page->limit);
    code = fa_db_one(from->db, table->page, params, count, sink_row, page, err);
    if (code != FAINA_OK || page->count == 0)
        return code;
    for (size_t i = 0; i < page->count; i++) {
        if (!has_key(table, page->values + i * table->column_count))
            return damaged_row(table, page->values + i * table->column_count, err);
    }
    if (table->key_count > 0)
        move(page, position);
    adapt(page);
    return FAINA_OK;
}

/* Writing ------------------------------------------------------------------------------------- */

/* The text ends with a NUL in the page's arena. */
static const char *text_of(const struct fa_value *value)
{
    return value->kind == FA_TEXT ? value->text.ptr : NULL;
}

/* Computes the second half of a key's hash from the columns of the task. */
static bool complete_key(struct fa_value *row)
{
    struct fa_key_parts parts = {text_of(&row[KEY_NS]),    text_of(&row[KEY_TYPE]),
                                 text_of(&row[KEY_KEY]),   text_of(&row[KEY_INPUT]),
                                 text_of(&row[KEY_CHILD]), fa_value_as_int(&row[KEY_PARENT])};
    struct fa_key keys[FA_KEYS_MAX];
    size_t count = fa_keys_of(&parts, keys);

    for (size_t i = 0; i < count; i++) {
        if (keys[i].hash == row[KEY_HASH].i) {
            row[KEY_MORE] = fa_value_int(keys[i].more);
            return true;
        }
    }
    return false;
}

struct writing {
    const struct fa_copy_page *page;
    size_t first; /* row of the page that is the first of the call */
};

static void bind_row(void *ctx, size_t row, struct fa_value *params)
{
    const struct writing *writing = ctx;
    const struct fa_copy_table *table = writing->page->table;

    memcpy(params, writing->page->values + (writing->first + row) * table->column_count,
           table->put_count * sizeof(*params));
}

/* Puts the other store's numbers and hashes into the page. */
static enum faina_code translate(struct fa_copy_page *page, const struct fa_copy_side *from,
                                 const struct fa_db *to, struct faina_error *err)
{
    const struct fa_copy_table *table = page->table;

    for (size_t i = 0; i < page->count; i++) {
        struct fa_value *row = page->values + i * table->column_count;

        if (table->name_at >= 0) {
            const struct fa_copy_name *name = find_name(from, table, &row[table->name_at]);

            if (name == NULL || name->other_id == 0)
                return damaged_row(table, row, err);
            row[table->name_at] = fa_value_int(name->other_id);
        }
        if (table->put == FA_SQL_KEY_INSERT && fa_db_has(to, FA_DB_WIDE_KEYS) &&
            row[KEY_MORE].kind == FA_NULL && !complete_key(row))
            return damaged_row(table, row, err);
    }
    return FAINA_OK;
}

static size_t row_bytes(const struct fa_copy_page *page, size_t row)
{
    const struct fa_value *values = page->values + row * page->table->column_count;
    size_t bytes = 0;

    for (size_t i = 0; i < page->table->put_count; i++)
        bytes += values[i].kind == FA_TEXT ? values[i].text.len : sizeof(values[i].i);
    return bytes;
}

enum faina_code fa_copy_page_write(struct fa_copy_page *page, const struct fa_copy_side *from,
                                   struct fa_db *to, struct faina_error *err)
{
    const struct fa_copy_table *table = page->table;
    enum faina_code code = translate(page, from, to, err);
    struct writing writing = {.page = page};

    while (code == FAINA_OK && writing.first < page->count) {
        struct fa_db_call call = {.sql = table->put,
                                  .param_count = table->put_count,
                                  .bind = bind_row,
                                  .bind_ctx = &writing};

        if (table->put == FA_SQL_KEY_INSERT && !fa_db_has(to, FA_DB_WIDE_KEYS))
            call.param_count = 2;
        for (size_t bytes = 0; writing.first + call.rows < page->count && bytes < CALL_BYTES_MAX;
             call.rows++)
            bytes += row_bytes(page, writing.first + call.rows);
        code = fa_db_run(to, &call, err);
        writing.first += call.rows;
    }
    return code;
}

/* Checksums ----------------------------------------------------------------------------------- */

static uint64_t sum_value(uint64_t sum, const struct fa_value *value)
{
    uint64_t bits;

    sum = fa_checksum_word(sum, value->kind);
    switch (value->kind) {
    case FA_NULL:
        break;
    case FA_INT:
    case FA_REAL:
        memcpy(&bits, &value->i, sizeof(bits));
        sum = fa_checksum_word(sum, bits);
        break;
    case FA_TEXT:
        sum = fa_checksum_bytes(sum, value->text);
        break;
    }
    return sum;
}

enum faina_code fa_copy_page_sum(const struct fa_copy_page *page, const struct fa_copy_side *from,
                                 uint64_t *sum, struct faina_error *err)
{
    const struct fa_copy_table *table = page->table;

    for (size_t i = 0; i < page->count; i++) {
        const struct fa_value *row = page->values + i * table->column_count;
        uint64_t one = FA_CHECKSUM_START;

        for (size_t n = 0; n < table->sum_count; n++) {
            if ((int)n == table->name_at) {
                const struct fa_copy_name *name = find_name(from, table, &row[n]);

                if (name == NULL)
                    return damaged_row(table, row, err);
                one = fa_checksum_word(one, (uint64_t)name->hash);
            } else {
                one = sum_value(one, &row[n]);
            }
        }
        *sum += one;
    }
    return FAINA_OK;
}
