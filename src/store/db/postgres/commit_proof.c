/* commit_proof.c - see commit_proof.h. */
#include "store/db/postgres/commit_proof.h"

#include "base/random.h"
#include "store/db/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREPARED "proof"
#define SETTLE_MS 11000 /* longer than the server takes: lock_timeout is 10 s */
#define FORGET_MS 2000  /* the same, when the connection closes */

void fa_pg_proof_init(struct fa_pg_proof *proof)
{
    struct fa_random random;
    uint64_t half[2];

    fa_random_seed_system(&random);
    half[0] = fa_random_next(&random);
    half[1] = fa_random_next(&random);
    snprintf(proof->writer, sizeof(proof->writer), "%016llx%016llx", (unsigned long long)half[0],
             (unsigned long long)half[1]);
    proof->number = 0;
}

bool fa_pg_proof_prepare(PGconn *conn)
{
    return PQsendPrepare(conn, PREPARED, fa_statement(FA_SQL_PROOF_PUT)->postgres[0], 4, NULL);
}

bool fa_pg_proof_send(struct fa_pg_proof *proof, PGconn *conn, bool is_prepared, int64_t now_us)
{
    char number[24], before[24], now[24];
    const char *params[4] = {proof->writer, number, before, now};

    snprintf(number, sizeof(number), "%lld", (long long)proof->number + 1);
    snprintf(before, sizeof(before), "%lld", (long long)proof->number);
    snprintf(now, sizeof(now), "%lld", (long long)now_us);
    if (is_prepared)
        return PQsendQueryPrepared(conn, PREPARED, 4, params, NULL, NULL, 0);
    return PQsendQueryParams(conn, fa_statement(FA_SQL_PROOF_PUT)->postgres[0], 4, NULL, params,
                             NULL, NULL, 0);
}

static PGresult *run(PGconn *conn, const char *text, int ms)
{
    return fa_pg_receive(conn, PQsendQuery(conn, text), ms, NULL);
}

/* Runs one statement; *out is the first value of its only row, or 0. False: it failed. */
static bool query(const struct fa_pg_proof *proof, struct fa_pg_target *target, PGconn *conn,
                  enum fa_sql sql, int64_t param, int ms, int64_t *out)
{
    char number[24];
    const char *params[2] = {proof->writer, number};
    PGresult *result;
    bool is_good;

    if (target->is_pooled)
        PQclear(run(conn, target->local_settings[FA_PG_WRITER], ms));
    snprintf(number, sizeof(number), "%lld", (long long)param);
    result = fa_pg_receive(conn,
                           PQsendQueryParams(conn, fa_statement(sql)->postgres[0],
                                             sql == FA_SQL_PROOF_FENCE ? 2 : 1, NULL, params, NULL,
                                             NULL, 0),
                           ms, NULL);
    is_good =
        PQresultStatus(result) == PGRES_TUPLES_OK || PQresultStatus(result) == PGRES_COMMAND_OK;
    *out = PQntuples(result) == 1 ? atoll(PQgetvalue(result, 0, 0)) : 0;
    PQclear(result);
    return is_good;
}

bool fa_pg_proof_settle(struct fa_pg_proof *proof, struct fa_pg_target *target, PGconn *conn,
                        bool *is_committed)
{
    int64_t mine = proof->number + 1, fence = proof->number + 2, found;
    PGresult *result = run(conn, FA_PG_BEGIN, SETTLE_MS);
    bool is_settled;

    PQclear(result);
    is_settled = query(proof, target, conn, FA_SQL_PROOF_GET, 0, SETTLE_MS, &found);
    if (is_settled && found != mine && found != fence)
        is_settled = query(proof, target, conn, FA_SQL_PROOF_FENCE, fence, SETTLE_MS, &found);
    *is_committed = is_settled && found == mine;
    result = run(conn, "COMMIT", SETTLE_MS);
    is_settled = is_settled && result != NULL && strcmp(PQcmdStatus(result), "COMMIT") == 0;
    PQclear(result);
    if (is_settled)
        proof->number = *is_committed ? mine : fence;
    return is_settled;
}

void fa_pg_proof_forget(struct fa_pg_proof *proof, struct fa_pg_target *target, PGconn *conn)
{
    int64_t ignored;

    if (proof->number == 0)
        return;
    PQclear(run(conn, FA_PG_BEGIN, FORGET_MS));
    query(proof, target, conn, FA_SQL_PROOF_DELETE, 0, FORGET_MS, &ignored);
    PQclear(run(conn, "COMMIT", FORGET_MS));
}
