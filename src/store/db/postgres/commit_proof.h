/*
 * commit_proof.h - whether a transaction was committed whose commit was not answered.
 *
 * A writer has a row in the table `proof`, under a unique name. The last statement of each of its
 * transactions that change rows stores the transaction's number there. After a broken connection
 * the stored number shows whether the transaction was committed.
 *
 * Threads: as the connection that it is used with.
 */
#ifndef FA_STORE_DB_POSTGRES_COMMIT_PROOF_H
#define FA_STORE_DB_POSTGRES_COMMIT_PROOF_H

#include "store/db/postgres/target.h"

struct fa_pg_proof {
    char writer[33]; /* its unique name */
    int64_t number;  /* of the last transaction that was committed or fenced off */
};

/* Chooses a new name; the row doesn't exist yet. */
void fa_pg_proof_init(struct fa_pg_proof *proof);
/* Sends the statement that stores the transaction's number: the last one before its commit. */
bool fa_pg_proof_send(struct fa_pg_proof *proof, PGconn *conn, bool is_prepared, int64_t now_us);
/* Sends its preparation. */
bool fa_pg_proof_prepare(PGconn *conn);
/*
 * On another connection. When the row has the transaction's number, the transaction was committed.
 * When it has the number before, it was not yet: the row then gets a number that keeps the
 * transaction from being committed later. True: the outcome is certain, and is in *is_committed.
 */
bool fa_pg_proof_settle(struct fa_pg_proof *proof, struct fa_pg_target *target, PGconn *conn,
                        bool *is_committed);
/* Deletes the row. */
void fa_pg_proof_forget(struct fa_pg_proof *proof, struct fa_pg_target *target, PGconn *conn);

#endif
