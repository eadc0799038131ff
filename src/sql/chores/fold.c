/* fold.c - adds up the counts that submits in SQL leave. */
#include "sql/chores/chores.h"

#define FOLD_MAX 10000

/* Submits in SQL count in rows of their own, so that nobody waits for them. */
enum faina_code fa_chore_fold(struct fa_unit *unit, struct faina_error *err)
{
    struct fa_value most = fa_value_int(FOLD_MAX);

    if (!unit->source.db->is_shared)
        return FAINA_OK;
    return fa_db_one(unit->source.db, FA_SQL_TALLY_FOLD, &most, 1, NULL, NULL, err);
}
