/*
 * proof.h - whether a transaction was committed whose commit was not answered.
 *
 * A writer has a row in the table `proof`, under a name that nobody else has. Each of its
 * transactions that change something puts its number there, last of all. After a broken connection
 * the number tells.
 *
 * Threads: as the connection that it is used with.
 */
#ifndef FA_PROOF_H
#define FA_PROOF_H

#include "sql/postgres/target.h"

struct fa_pg_proof {
    char writer[33]; /* our name */
    int64_t number;  /* of the last transaction that was committed, or fenced off */
};

/* A new name, and a row that isn't there yet. */
void fa_pg_proof_init(struct fa_pg_proof *proof);
/* Sends the statement that notes the transaction's number: the last one before its commit. */
bool fa_pg_proof_send(struct fa_pg_proof *proof, PGconn *conn, bool is_prepared, int64_t now_us);
/* Sends its preparation. */
bool fa_pg_proof_prepare(PGconn *conn);
/*
 * On another connection: our number is in the row, and it was committed; or the number before, and
 * it was not yet. Then the row gets a number that keeps it from ever being committed, should it
 * still be on its way. True: it is settled, and *is_committed tells how.
 */
bool fa_pg_proof_settle(struct fa_pg_proof *proof, struct fa_pg_target *target, PGconn *conn,
                        bool *is_committed);
/* The row is of no more use. */
void fa_pg_proof_forget(struct fa_pg_proof *proof, struct fa_pg_target *target, PGconn *conn);

#endif
