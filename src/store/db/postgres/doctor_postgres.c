/*
 * doctor_postgres.c - see doctor_postgres.h.
 *
 * The statements queries/advise_*.sql return the sentences, so that an operator can run them by
 * hand. Only the clocks are compared here.
 */
#include "store/db/postgres/doctor_postgres.h"

#include <faina.h>
#include <stdio.h>

#define SKEW_US_MAX 1000000

static const struct {
    enum fa_sql sql;
    bool wants_version;
} advice[] = {
    {FA_SQL_ADVISE_SETTINGS, false}, {FA_SQL_ADVISE_XMIN, false},
    {FA_SQL_ADVISE_TABLES, false},   {FA_SQL_ADVISE_PARTITIONS, false},
    {FA_SQL_ADVISE_VERSIONS, true},  {FA_SQL_ADVISE_RIGHTS, false},
};

struct listener {
    void (*found)(void *ctx, const char *sentence);
    void *ctx;
    struct fa_arena scratch;
};

static void sink_sentence(void *ctx, size_t row, const struct fa_value *columns)
{
    struct listener *listener = ctx;
    const char *sentence = fa_value_dup(&columns[0], &listener->scratch);

    (void)row;
    if (sentence != NULL)
        listener->found(listener->ctx, sentence);
}

static void compare_clocks(struct listener *listener, int64_t skew_us)
{
    char sentence[200];

    if (skew_us <= SKEW_US_MAX && skew_us >= -SKEW_US_MAX)
        return;
    snprintf(
        sentence, sizeof(sentence),
        "the server's clock is %.1f s %s this machine's: set both by NTP (the server's counts)",
        (double)(skew_us < 0 ? -skew_us : skew_us) / 1e6, skew_us < 0 ? "behind" : "ahead of");
    listener->found(listener->ctx, sentence);
}

enum faina_code fa_pg_advise(struct fa_db *db, int64_t skew_us,
                             void (*found)(void *ctx, const char *sentence), void *ctx,
                             struct faina_error *err)
{
    struct listener listener = {.found = found, .ctx = ctx};
    struct fa_value version = fa_value_text(FAINA_VERSION);
    enum faina_code code = FAINA_OK;

    compare_clocks(&listener, skew_us);
    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(advice); i++)
        code = fa_db_one(db, advice[i].sql, &version, advice[i].wants_version ? 1 : 0,
                         sink_sentence, &listener, err);
    fa_arena_finish(&listener.scratch);
    return code;
}
