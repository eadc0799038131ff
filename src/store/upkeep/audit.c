/* audit.c - one statement per invariant; each counts the rows that violate it. */
#include "store/upkeep/audit.h"

#include "model/times.h"
#include "store/upkeep/set_aside.h"

#include <stdio.h>

static const struct {
    enum fa_sql sql;
    const char *sentence;
} invariants[] = {
    {FA_SQL_AUDIT_PLACES, "%lld tasks without exactly one state row"},
    {FA_SQL_AUDIT_HOLDS, "%lld permits are held by tasks that don't use them, or are missing"},
    {FA_SQL_AUDIT_TALLY, "%lld counts differ from what they count"},
    {FA_SQL_AUDIT_KEYS, "%lld keys belong to no task, or are missing"},
    {FA_SQL_AUDIT_BLOCKED, "%lld blocked tasks with a wrong dependency count"},
};

#define LISTED_MAX 20 /* items that are set aside and listed one by one */

struct listing {
    void (*found)(void *ctx, const char *sentence);
    void *ctx;
};

static int text_length(const struct fa_value *value, int max)
{
    return value->text.len < (size_t)max ? (int)value->text.len : max;
}

/* What the user can do, by kind of item. */
static const char *advice(struct fa_bytes kind)
{
    if (fa_bytes_equal(kind, fa_str(FA_ASIDE_TASK)))
        return "repair its rows, or restore them from a backup";
    if (fa_bytes_equal(kind, fa_str(FA_ASIDE_SCHEDULE)))
        return "remove the schedule and store it again";
    if (fa_bytes_equal(kind, fa_str(FA_ASIDE_WORKFLOW)))
        return "store the workflow again";
    return "repair the row, or restore it from a backup";
}

static void sink_aside(void *ctx, size_t row, const struct fa_value *c)
{
    const struct listing *listing = ctx;
    const struct fa_value *name = c[2].kind == FA_TEXT ? &c[2] : &c[1];
    char until[FA_TIME_SIZE], sentence[1024];

    (void)row;
    fa_time_format(fa_value_as_int(&c[5]), until);
    snprintf(sentence, sizeof(sentence),
             "%.*s %.*s is set aside, because it can't be handled: %.*s; %s; it is tried again at "
             "%.19sZ, and when the server is restarted",
             text_length(&c[0], 20), c[0].text.ptr, text_length(name, 200), name->text.ptr,
             text_length(&c[3], 500), c[3].text.ptr, advice(c[0].text), until);
    listing->found(listing->ctx, sentence);
}

/* Lists the first items, and then how many more there are. */
static enum faina_code list_aside(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                                  void *ctx, struct faina_error *err)
{
    struct listing listing = {found, ctx};
    struct fa_value limit = fa_value_int(LISTED_MAX);
    int64_t count = 0;
    char sentence[128];
    enum faina_code code =
        fa_db_one(db, FA_SQL_SET_ASIDE_LIST, &limit, 1, sink_aside, &listing, err);

    if (code == FAINA_OK)
        code = fa_db_one(db, FA_SQL_SET_ASIDE_COUNT, NULL, 0, fa_db_sink_int, &count, err);
    if (code == FAINA_OK && count > LISTED_MAX) {
        snprintf(sentence, sizeof(sentence), "%lld more are set aside: table set_aside has them",
                 (long long)(count - LISTED_MAX));
        found(ctx, sentence);
    }
    return code;
}

enum faina_code fa_audit(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                         void *ctx, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    db->allows_slow = true;
    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(invariants); i++) {
        int64_t count = 0;

        code = fa_db_one(db, invariants[i].sql, NULL, 0, fa_db_sink_int, &count, err);
        if (code == FAINA_OK && count > 0) {
            char sentence[256];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(sentence, sizeof(sentence), invariants[i].sentence, (long long)count);
#pragma GCC diagnostic pop
            found(ctx, sentence);
        }
    }
    db->allows_slow = false;
    return code == FAINA_OK ? list_aside(db, found, ctx, err) : code;
}
