/* copy.c - see copy.h. */
#include "store/upkeep/copy.h"

#include "base/checksum.h"
#include "model/times.h"
#include "store/upkeep/audit.h"
#include "store/upkeep/copy_rows.h"
#include "store/db/migrate.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGES_PER_COMMIT 8
#define MARK_SIZE 256
#define MARK_BROKEN "unusable copy: it starts again"

/* The position of a copy: `table` is being written, its rows up to `position` are in the target.
 * After the last table: all rows are. */
struct mark {
    uint64_t stamp;
    size_t table;
    int64_t done; /* rows, of all tables */
    struct fa_copy_position position;
};

struct copy {
    struct fa_store *stores[2];
    struct fa_copy_side from, to;
    const struct fa_copy_watch *watch;
    struct fa_copy_report *report;
    struct fa_copy_sum *sums; /* of the source's tables */
    int64_t total;            /* rows of the source */
    struct mark mark;
    char mark_text[MARK_SIZE]; /* the mark in the target; "": none */
};

static void report_progress(struct copy *copy, enum fa_copy_phase phase, const char *table,
                            int64_t done)
{
    if (copy->watch != NULL)
        copy->watch->moved(copy->watch->ctx, phase, table, done,
                           phase == FA_COPY_READING ? 0 : copy->total);
}

/* The mark ------------------------------------------------------------------------------------ */

static void mark_print(const struct mark *mark, char out[MARK_SIZE])
{
    bool is_done = mark->table == fa_copy_table_count;

    snprintf(
        out, MARK_SIZE, "unfinished copy of %016llx, %lld rows, in %s behind %lld %lld %lld %s",
        (unsigned long long)mark->stamp, (long long)mark->done,
        is_done ? "end" : fa_copy_tables[mark->table].name, (long long)mark->position.keys[0],
        (long long)mark->position.keys[1], (long long)mark->position.keys[2], mark->position.word);
}

static bool mark_parse(const char *text, struct mark *out)
{
    unsigned long long stamp;
    long long done, keys[FA_COPY_KEYS_MAX];
    char table[32] = "", word[FA_COPY_WORD_SIZE] = "";
    int n = sscanf(text, "unfinished copy of %llx, %lld rows, in %31s behind %lld %lld %lld %63s",
                   &stamp, &done, table, &keys[0], &keys[1], &keys[2], word);

    if (n < 6)
        return false;
    *out = (struct mark){.stamp = stamp, .done = done, .table = fa_copy_table_count};
    for (size_t i = 0; i < fa_copy_table_count; i++) {
        if (strcmp(fa_copy_tables[i].name, table) == 0)
            out->table = i;
    }
    for (size_t i = 0; i < FA_COPY_KEYS_MAX; i++)
        out->position.keys[i] = keys[i];
    snprintf(out->position.word, sizeof(out->position.word), "%s", word);
    return out->table < fa_copy_table_count || strcmp(table, "end") == 0;
}

static void sink_mark(void *ctx, size_t row, const struct fa_value *columns)
{
    char *out = ctx;

    (void)row;
    snprintf(out, MARK_SIZE, "%.*s", (int)columns[0].text.len, columns[0].text.ptr);
}

static enum faina_code mark_read(struct copy *copy, struct faina_error *err)
{
    struct fa_value id = fa_value_text(FA_MIGRATE_COPYING);

    copy->mark_text[0] = '\0';
    return fa_db_one(copy->to.db, FA_SQL_COPY_MARK_GET, &id, 1, sink_mark, copy->mark_text, err);
}

static enum faina_code refuse_second(struct faina_error *err)
{
    return fa_error_set(err, FAINA_CONFLICT,
                        "another copy into the target is running, or was until a moment ago");
}

/* Inside a transaction. C4. */
static enum faina_code mark_move(struct copy *copy, const char *text, struct faina_error *err)
{
    struct fa_value params[3] = {fa_value_text(FA_MIGRATE_COPYING), fa_value_text(text),
                                 fa_value_text(copy->mark_text)};
    int64_t moved = 0;
    enum faina_code code =
        fa_db_one(copy->to.db, FA_SQL_COPY_MARK_MOVE, params, 3, fa_db_sink_int, &moved, err);

    return code == FAINA_OK && moved == 0 ? refuse_second(err) : code;
}

static enum faina_code mark_insert(struct copy *copy, const char *text, struct faina_error *err)
{
    char when[FA_TIME_SIZE];

    fa_time_format(fa_db_now(copy->to.db), when);
    return fa_db_one(copy->to.db, FA_SQL_MIGRATION_INSERT,
                     (struct fa_value[]){fa_value_text(FA_MIGRATE_COPYING), fa_value_text(text),
                                         fa_value_text(when)},
                     3, NULL, NULL, err);
}

/* Maintenance of the target, between its transactions. */
static void maintain(struct copy *copy)
{
    struct fa_db *db = copy->to.db;

    if (db->ops->maintain != NULL && db->ops->maintain(db, false))
        db->ops->maintain(db, true);
}

static enum faina_code commit(struct copy *copy, enum faina_code code, struct faina_error *err)
{
    if (code == FAINA_OK)
        code = fa_db_commit(copy->to.db, err);
    if (code != FAINA_OK)
        fa_db_rollback(copy->to.db);
    else
        maintain(copy);
    return code;
}

/* Opening ------------------------------------------------------------------------------------- */

static void sink_text(void *ctx, size_t row, const struct fa_value *columns)
{
    struct copy *copy = ctx;

    (void)row;
    copy->report->user = fa_value_dup(&columns[0], &copy->from.arena);
}

/* Finds a node that has a shared store open; copy->report->user. */
static enum faina_code find_user(struct copy *copy, struct fa_db *db, struct faina_error *err)
{
    copy->report->user = NULL;
    if (!fa_db_has(db, FA_DB_MANY_WRITERS))
        return FAINA_OK;
    return fa_db_one(db, FA_SQL_COPY_USER, NULL, 0, sink_text, copy, err);
}

static enum faina_code open_source(struct copy *copy, struct faina_error *err)
{
    struct fa_store *store = copy->stores[0];
    struct fa_migrate_plan plan;
    enum faina_code code = store->ops->connect(store, true, &copy->from.db, err);

    if (code == FAINA_OK)
        code = fa_migrate_plan(copy->from.db, &copy->from.arena, &plan, err);
    if (code != FAINA_OK)
        return code;
    if (plan.applied_count == 0)
        return fa_error_set(err, FAINA_NOT_FOUND, "there is no store to copy at %.200s",
                            store->ops->location(store));
    if (plan.step_count > 0)
        return fa_error_set(err, FAINA_UNAVAILABLE,
                            "the source is of an older version: `faina db migrate` brings it up to "
                            "date");
    copy->from.db->allows_slow = true; /* its transaction waits for the target's */
    code = fa_db_begin(copy->from.db, false, err);
    if (code == FAINA_OK)
        code = find_user(copy, copy->from.db, err);
    if (code == FAINA_OK)
        code = fa_copy_names_load(&copy->from, err);
    return code;
}

static void sink_found(void *ctx, size_t row, const struct fa_value *columns)
{
    static const char *const nouns[] = {"tasks",     "teams", "paused types",
                                        "resources", "lanes", "schedules"};
    const char **found = ctx;

    (void)row;
    for (size_t i = FA_COUNT(nouns); i-- > 0;) {
        if (fa_value_as_int(&columns[i]) != 0)
            *found = nouns[i];
    }
}

/* Inside a transaction of the target. */
static enum faina_code check_target(struct copy *copy, struct faina_error *err)
{
    const char *found = NULL;
    enum faina_code code = mark_read(copy, err);

    if (code == FAINA_OK && copy->mark_text[0] == '\0')
        code = fa_db_one(copy->to.db, FA_SQL_COPY_FOUND, NULL, 0, sink_found, &found, err);
    if (code == FAINA_OK && found != NULL)
        code = fa_error_set(err, FAINA_CONFLICT,
                            "the target is not empty: it has %s; copy into a new one", found);
    return code;
}

static enum faina_code check_users(struct copy *copy, struct faina_error *err)
{
    const char *of_source = copy->report->user;
    enum faina_code code = find_user(copy, copy->to.db, err);

    if (code == FAINA_OK && copy->report->user != NULL)
        code = fa_error_set(err, FAINA_CONFLICT,
                            "the node %.100s uses the target, or did until a moment ago: stop it "
                            "first",
                            copy->report->user);
    copy->report->user = of_source;
    return code;
}

/* All checks come before the migration of the target. */
static enum faina_code open_target(struct copy *copy, struct faina_error *err)
{
    struct fa_store *store = copy->stores[1];
    enum faina_code code = store->ops->connect(store, false, &copy->to.db, err);
    int64_t has_table = 0;

    if (code != FAINA_OK)
        return code;
    copy->to.db->allows_slow = true; /* ... and the target's waits for the next page */
    code = fa_db_begin(copy->to.db, false, err);
    if (code != FAINA_OK)
        return code;
    code = fa_db_one(copy->to.db, FA_SQL_MIGRATION_TABLE, NULL, 0, fa_db_sink_int, &has_table, err);
    if (code == FAINA_OK && has_table)
        code = check_target(copy, err);
    if (code == FAINA_OK && has_table)
        code = check_users(copy, err);
    fa_db_rollback(copy->to.db);
    if (code == FAINA_OK)
        code = fa_migrate_for_copy(copy->to.db, fa_db_now(copy->to.db), err);
    return code;
}

/* Checksums ----------------------------------------------------------------------------------- */

static enum faina_code sum_table(struct copy *copy, struct fa_copy_side *side,
                                 const struct fa_copy_table *table, enum fa_copy_phase phase,
                                 int64_t before, struct fa_copy_sum *out, struct faina_error *err)
{
    struct fa_copy_position position;
    struct fa_copy_page page;
    enum faina_code code;

    *out = (struct fa_copy_sum){.name = table->name};
    fa_copy_position_start(&position);
    fa_copy_page_init(&page, table);
    do {
        code = fa_copy_page_read(&page, side, &position, err);
        if (code == FAINA_OK)
            code = fa_copy_page_sum(&page, side, &out->checksum, err);
        out->rows += (int64_t)page.count;
        report_progress(copy, phase, table->name, before + out->rows);
    } while (code == FAINA_OK && page.count > 0 && table->key_count > 0);
    fa_copy_page_finish(&page);
    return code;
}

/* Identifies the source and its content. */
static uint64_t make_stamp(const struct copy *copy)
{
    const struct fa_store *store = copy->stores[0];
    const char *location = store->ops->location(copy->stores[0]);
    uint64_t stamp = fa_checksum_bytes(FA_CHECKSUM_START, fa_str(store->ops->name));

    stamp = fa_checksum_bytes(stamp, fa_str(location));
    for (size_t i = 0; i < fa_copy_table_count; i++) {
        stamp = fa_checksum_word(stamp, (uint64_t)copy->sums[i].rows);
        stamp = fa_checksum_word(stamp, copy->sums[i].checksum);
    }
    return stamp;
}

static enum faina_code sum_source(struct copy *copy, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < fa_copy_table_count; i++) {
        code = sum_table(copy, &copy->from, &fa_copy_tables[i], FA_COPY_READING, copy->total,
                         &copy->sums[i], err);
        copy->total += copy->sums[i].rows;
    }
    return code;
}

/* Writing ------------------------------------------------------------------------------------- */

/* Removes the rows of an unusable copy from the target. */
static enum faina_code clear(struct copy *copy, struct faina_error *err)
{
    struct fa_db *db = copy->to.db;
    enum faina_code code = fa_db_begin(db, true, err);
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX / 2);
    /* PostgreSQL truncates tables that refer to each other in one statement. */
    for (size_t i = 0; i < fa_copy_table_count; i++) {
        if (fa_db_has(db, FA_DB_TRUNCATE))
            fa_buf_printf(&text, "%s %s", i == 0 ? "TRUNCATE" : ",", fa_copy_tables[i].name);
        else
            fa_buf_printf(&text, "DELETE FROM %s;", fa_copy_tables[i].name);
    }
    if (code == FAINA_OK)
        code = db->ops->script(db, text.ptr, err);
    fa_buf_finish(&text);
    if (code == FAINA_OK)
        code = mark_move(copy, MARK_BROKEN, err);
    code = commit(copy, code, err);
    if (code == FAINA_OK)
        snprintf(copy->mark_text, sizeof(copy->mark_text), "%s", MARK_BROKEN);
    return code;
}

/* A table that is one page. */
static enum faina_code write_table(struct copy *copy, const struct fa_copy_table *table,
                                   struct faina_error *err)
{
    struct fa_copy_page page;
    enum faina_code code;

    fa_copy_page_init(&page, table);
    code = fa_copy_page_read(&page, &copy->from, NULL, err);
    if (code == FAINA_OK)
        code = fa_copy_page_write(&page, &copy->from, copy->to.db, err);
    copy->mark.done += (int64_t)page.count;
    fa_copy_page_finish(&page);
    return code;
}

/* Lanes and resources come first, since the following tables need their new numbers. */
static enum faina_code write_first(struct copy *copy, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && fa_copy_tables[i].key_count == 0; i++) {
        const struct fa_copy_table *table = &fa_copy_tables[i];

        if (table->name_at >= 0) {
            code = fa_copy_names_load(&copy->to, err);
            if (code == FAINA_OK)
                code = fa_copy_names_match(&copy->from, &copy->to, err);
        }
        if (code == FAINA_OK)
            code = write_table(copy, table, err);
        copy->mark.table = i + 1;
    }
    return code;
}

/* The first transaction: the mark, and the small tables. */
static enum faina_code start_again(struct copy *copy, struct faina_error *err)
{
    char text[MARK_SIZE];
    enum faina_code code = fa_db_begin(copy->to.db, true, err);

    copy->mark = (struct mark){.stamp = copy->mark.stamp};
    fa_copy_position_start(&copy->mark.position);
    if (code == FAINA_OK)
        code = write_first(copy, err);
    mark_print(&copy->mark, text);
    if (code == FAINA_OK)
        code =
            copy->mark_text[0] == '\0' ? mark_insert(copy, text, err) : mark_move(copy, text, err);
    code = commit(copy, code, err);
    if (code == FAINA_OK)
        memcpy(copy->mark_text, text, sizeof(copy->mark_text));
    return code;
}

/* Whether the target has the lanes and resources of the source. */
static enum faina_code match_names(struct copy *copy, bool *is_complete, struct faina_error *err)
{
    struct faina_error ignored;
    enum faina_code code = fa_db_begin(copy->to.db, false, err);

    if (code == FAINA_OK)
        code = fa_copy_names_load(&copy->to, err);
    fa_db_rollback(copy->to.db);
    if (code == FAINA_OK)
        *is_complete = fa_copy_names_match(&copy->from, &copy->to, &ignored) == FAINA_OK;
    return code;
}

/* Resumes or starts again: C3. */
static enum faina_code begin_or_resume(struct copy *copy, struct faina_error *err)
{
    uint64_t stamp = make_stamp(copy);
    bool is_usable;
    struct mark mark;
    enum faina_code code = FAINA_OK;

    copy->mark.stamp = stamp;
    if (copy->mark_text[0] == '\0')
        return start_again(copy, err);
    is_usable = mark_parse(copy->mark_text, &mark) && mark.stamp == stamp;
    if (is_usable)
        code = match_names(copy, &is_usable, err);
    if (code != FAINA_OK)
        return code;
    if (is_usable) {
        copy->report->is_resumed = true;
        copy->mark = mark;
        return FAINA_OK;
    }
    copy->report->is_restarted = true;
    code = clear(copy, err);
    return code == FAINA_OK ? start_again(copy, err) : code;
}

/* Writes some pages of the mark's table in one transaction. */
static enum faina_code write_pages(struct copy *copy, struct fa_copy_page *page,
                                   struct faina_error *err)
{
    const struct fa_copy_table *table = page->table;
    struct mark mark = copy->mark;
    char text[MARK_SIZE];
    enum faina_code code = FAINA_OK;
    bool is_begun = false;

    for (int i = 0; code == FAINA_OK && i < PAGES_PER_COMMIT; i++) {
        code = fa_copy_page_read(page, &copy->from, &mark.position, err);
        if (code == FAINA_OK && !is_begun) {
            code = fa_db_begin(copy->to.db, true, err);
            is_begun = true;
        }
        if (code == FAINA_OK)
            code = fa_copy_page_write(page, &copy->from, copy->to.db, err);
        mark.done += (int64_t)page->count;
        report_progress(copy, FA_COPY_WRITING, table->name, mark.done);
        if (code == FAINA_OK && page->count == 0) {
            mark.table++;
            fa_copy_position_start(&mark.position);
            break;
        }
    }
    mark_print(&mark, text);
    if (code == FAINA_OK)
        code = mark_move(copy, text, err);
    if (is_begun)
        code = commit(copy, code, err);
    if (code == FAINA_OK) {
        copy->mark = mark;
        memcpy(copy->mark_text, text, sizeof(copy->mark_text));
    }
    return code;
}

static enum faina_code write_rest(struct copy *copy, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    while (code == FAINA_OK && copy->mark.table < fa_copy_table_count) {
        size_t table = copy->mark.table;
        struct fa_copy_page page;

        fa_copy_page_init(&page, &fa_copy_tables[table]);
        while (code == FAINA_OK && copy->mark.table == table)
            code = write_pages(copy, &page, err);
        fa_copy_page_finish(&page);
    }
    return code;
}

/* Checking ------------------------------------------------------------------------------------ */

static enum faina_code differs(struct copy *copy, const char *where, struct faina_error *err)
{
    struct faina_error ignored;
    enum faina_code code = fa_db_begin(copy->to.db, true, &ignored);

    /* The next run starts again. */
    if (code == FAINA_OK)
        code = mark_move(copy, MARK_BROKEN, &ignored);
    (void)commit(copy, code, &ignored);
    return fa_error_set(
        err, FAINA_INTERNAL,
        "the copy differs from its source: %.200s; run it again, and it starts from the beginning",
        where);
}

static void add_finding(void *ctx, const char *sentence)
{
    char *out = ctx;

    snprintf(out, 256, "%s", sentence);
}

static enum faina_code check_rows(struct copy *copy, struct fa_copy_side *side,
                                  struct faina_error *err)
{
    enum faina_code code = fa_copy_names_load(side, err);
    int64_t before = 0;

    for (size_t i = 0; code == FAINA_OK && i < fa_copy_table_count; i++) {
        struct fa_copy_sum sum;

        code = sum_table(copy, side, &fa_copy_tables[i], FA_COPY_CHECKING, before, &sum, err);
        before += sum.rows;
        if (code == FAINA_OK &&
            (sum.rows != copy->sums[i].rows || sum.checksum != copy->sums[i].checksum))
            code = differs(copy, sum.name, err);
    }
    return code;
}

/* Reads the copy through a new connection, as programs that open it will. */
static enum faina_code check(struct copy *copy, struct faina_error *err)
{
    struct fa_store *store = copy->stores[1];
    struct fa_copy_side side = {0};
    char finding[256] = "";
    enum faina_code code = store->ops->connect(store, true, &side.db, err);

    if (code == FAINA_OK)
        code = fa_db_begin(side.db, false, err);
    if (code == FAINA_OK) {
        code = check_rows(copy, &side, err);
        if (code == FAINA_OK)
            code = fa_audit(side.db, add_finding, finding, err);
        fa_db_rollback(side.db);
    }
    fa_db_close(side.db);
    fa_arena_finish(&side.arena);
    if (code == FAINA_OK && finding[0] != '\0')
        code = differs(copy, finding, err);
    return code;
}

/* Without statistics the first plans on the new tables would be bad. A failure here is ignored. */
static void analyze(struct copy *copy)
{
    struct faina_error ignored;
    enum faina_code code;

    if (!fa_db_has(copy->to.db, FA_DB_STATISTICS))
        return;
    code = fa_db_begin(copy->to.db, true, &ignored);
    if (code == FAINA_OK)
        code = fa_db_one(copy->to.db, FA_SQL_COPY_ANALYZE, NULL, 0, NULL, NULL, &ignored);
    (void)commit(copy, code, &ignored);
}

static enum faina_code finish(struct copy *copy, struct faina_error *err)
{
    struct fa_value params[2] = {fa_value_text(FA_MIGRATE_COPYING), fa_value_text(copy->mark_text)};
    int64_t removed = 0;
    enum faina_code code = fa_db_begin(copy->to.db, true, err);

    if (code == FAINA_OK)
        code = fa_db_one(copy->to.db, FA_SQL_COPY_MARK_REMOVE, params, 2, fa_db_sink_int, &removed,
                         err);
    if (code == FAINA_OK && removed == 0)
        code = refuse_second(err);
    return commit(copy, code, err);
}

/* The copy ------------------------------------------------------------------------------------ */

static enum faina_code run(struct copy *copy, struct faina_error *err)
{
    enum faina_code code = open_source(copy, err);

    if (code == FAINA_OK)
        code = open_target(copy, err);
    if (code == FAINA_OK)
        code = sum_source(copy, err);
    if (code == FAINA_OK)
        code = begin_or_resume(copy, err);
    if (code == FAINA_OK)
        code = write_rest(copy, err);
    if (code != FAINA_OK)
        return code;
    fa_db_rollback(copy->from.db);
    analyze(copy);
    code = check(copy, err);
    return code == FAINA_OK ? finish(copy, err) : code;
}

enum faina_code fa_copy_run(struct fa_store *from, struct fa_store *to,
                            const struct fa_copy_watch *watch, struct fa_arena *arena,
                            struct fa_copy_report *out, struct faina_error *err)
{
    struct copy copy = {.stores = {from, to}, .watch = watch, .report = out};
    enum faina_code code;

    *out = (struct fa_copy_report){
        .from = fa_arena_strdup(arena, from->ops->location(from)),
        .to = fa_arena_strdup(arena, to->ops->location(to)),
        .table_count = fa_copy_table_count,
        .tables = fa_arena_zero(arena, fa_copy_table_count, sizeof(*out->tables)),
    };
    copy.sums = out->tables;
    code = run(&copy, err);
    out->user = fa_arena_strdup(arena, out->user);
    if (copy.from.db != NULL)
        fa_db_rollback(copy.from.db);
    fa_db_close(copy.from.db);
    fa_db_close(copy.to.db);
    fa_arena_finish(&copy.from.arena);
    fa_arena_finish(&copy.to.arena);
    return code;
}
