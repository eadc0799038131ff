/*
 * standby.h - takes over a SQLite file whose owner has ended.
 *
 * A worker that uses a file through its owner keeps working: when the owner ends, one of the
 * waiting processes opens the file and serves it on the socket beside it, where all of them, and
 * the worker itself, reach it again. A server waits before it listens.
 *
 *   Y1  At most one process opens the file: its lock decides (store/db/sqlite/owner.h).
 *   Y2  Nothing is opened while another process has the file.
 *
 * Threads: one of its own; the functions are called by the main thread.
 */
#ifndef FA_CLI_STANDBY_H
#define FA_CLI_STANDBY_H

#include "cli/publish.h"
#include "cli/share.h"
#include "cli/verbs/verb_retention.h"

#include <signal.h>

struct fa_standby;

/* What a process does as the owner besides serving the file. */
struct fa_standby_config {
    const struct fa_log *log;
    struct fa_retention_settings keep;
    const char *broker; /* its URL; NULL: none */
};

/* Watches the file of an engine that is remote. *out is NULL for other engines. */
FA_MUST_CHECK enum faina_code fa_standby_start(struct fa_standby **out, const struct fa_cli *cli,
                                               const struct fa_standby_config *config,
                                               struct faina_error *err);
/* Gives the file up again, if it was taken over. NULL is fine. */
void fa_standby_stop(struct fa_standby *standby);

/* Opens the engine; while another process serves its file, waits for that to end. *is_over: SIGTERM
 * or SIGINT came first. Returns an exit code. */
FA_MUST_CHECK int fa_standby_open(struct fa_cli *cli, const struct fa_log *log,
                                  const sigset_t *signals, bool *is_over);

#endif
