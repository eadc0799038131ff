/* audit.c - one statement per promise; each counts the rows that break it. */
#include "sql/audit.h"

#include <stdio.h>

static const struct {
    enum fa_sql sql;
    const char *sentence;
} promises[] = {
    {FA_SQL_AUDIT_PLACES, "%lld tasks are in no place, or in more than one"},
    {FA_SQL_AUDIT_HOLDS, "%lld permits are held by tasks that don't use them, or are missing"},
    {FA_SQL_AUDIT_TALLY, "%lld counts differ from what they count"},
    {FA_SQL_AUDIT_KEYS, "%lld keys belong to no task, or are missing"},
    {FA_SQL_AUDIT_BLOCKED, "%lld blocked tasks wait for another number of tasks than there is"},
};

enum faina_code fa_audit(struct fa_db *db, void (*found)(void *ctx, const char *sentence),
                         void *ctx, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    db->is_patient = true;
    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(promises); i++) {
        int64_t count = 0;

        code = fa_db_one(db, promises[i].sql, NULL, 0, fa_db_sink_int, &count, err);
        if (code == FAINA_OK && count > 0) {
            char sentence[256];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            snprintf(sentence, sizeof(sentence), promises[i].sentence, (long long)count);
#pragma GCC diagnostic pop
            found(ctx, sentence);
        }
    }
    db->is_patient = false;
    return code;
}
