/* proof.c - see proof.h. */
#include "sql/postgres/proof.h"

#include "base/random.h"
#include "sql/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREPARED "proof"

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
    return PQsendPrepare(conn, PREPARED, fa_sql_postgres(FA_SQL_PROOF_PUT, NULL), 4, NULL);
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
    return PQsendQueryParams(conn, fa_sql_postgres(FA_SQL_PROOF_PUT, NULL), 4, NULL, params, NULL,
                             NULL, 0);
}

/* One statement in a transaction of ours alone; its first value, or 0. False: it failed. */
static bool ask(const struct fa_pg_proof *proof, struct fa_pg_target *target, PGconn *conn,
                enum fa_sql sql, int64_t param, int64_t *out)
{
    char number[24];
    const char *params[2] = {proof->writer, number};
    PGresult *result;
    bool is_good;

    if (target->is_pooled)
        PQclear(PQexec(conn, target->local_settings[FA_PG_WRITER]));
    snprintf(number, sizeof(number), "%lld", (long long)param);
    result = PQexecParams(conn, fa_sql_postgres(sql, NULL), sql == FA_SQL_PROOF_FENCE ? 2 : 1, NULL,
                          params, NULL, NULL, 0);
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
    PGresult *result = PQexec(conn, FA_PG_BEGIN);
    bool is_settled;

    PQclear(result);
    is_settled = ask(proof, target, conn, FA_SQL_PROOF_GET, 0, &found);
    if (is_settled && found != mine && found != fence)
        is_settled = ask(proof, target, conn, FA_SQL_PROOF_FENCE, fence, &found);
    *is_committed = is_settled && found == mine;
    result = PQexec(conn, "COMMIT");
    is_settled = is_settled && strcmp(PQcmdStatus(result), "COMMIT") == 0;
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
    PQclear(PQexec(conn, FA_PG_BEGIN));
    ask(proof, target, conn, FA_SQL_PROOF_DELETE, 0, &ignored);
    PQclear(PQexec(conn, "COMMIT"));
}
