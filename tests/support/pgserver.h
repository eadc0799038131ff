/*
 * pgserver.h - a PostgreSQL server of a test's own: to be stopped, killed, paused, filled up,
 * copied and promoted.
 *
 * tools/test-postgres sets the folder of its programs, its user, and its initial data; roles and
 * passwords are those of FA_POSTGRES_URL. The server ends when the test ends or crashes.
 *
 * Threads: only the one that starts a server may use it, since the server ends with that thread.
 */
#ifndef FA_TEST_PGSERVER_H
#define FA_TEST_PGSERVER_H

#include "support/support.h"

#include <sys/types.h>

struct fa_pgs {
    char dir[FA_T_PATH_SIZE]; /* contains data/ and log */
    char url[FA_T_PATH_SIZE]; /* as FA_POSTGRES_URL, but for the port */
    char admin_url[FA_T_PATH_SIZE];
    int port;  /* the same after each start */
    pid_t pid; /* the postmaster's; 0: not running */
    bool is_mounted;
};

/* A server that has not been started. Skips the cmocka test when PostgreSQL isn't available. */
void fa_pgs_init(struct fa_pgs *server);
/* The same with its data on a file system of its own, this small. Skips when not root. */
void fa_pgs_init_small(struct fa_pgs *server, int mib);
void fa_pgs_finish(struct fa_pgs *server); /* stops it, removes its files; zeroed is fine */

/* A line for postgresql.conf, for the next start: "statement_timeout = 100". */
void fa_pgs_set(struct fa_pgs *server, const char *line);

void fa_pgs_start(struct fa_pgs *server); /* returns when it answers */
void fa_pgs_begin(struct fa_pgs *server); /* doesn't wait */
void fa_pgs_stop(struct fa_pgs *server);  /* immediate: as after a loss of power */
void fa_pgs_shut_down(
    struct fa_pgs *server);               /* fast: disconnects all sessions, then stops cleanly */
void fa_pgs_kill(struct fa_pgs *server);  /* SIGKILL of the postmaster and of all it started */
void fa_pgs_pause(struct fa_pgs *server); /* SIGSTOP, of all of them */
void fa_pgs_resume(struct fa_pgs *server);
void fa_pgs_await(struct fa_pgs *server); /* until it answers */
/* SIGKILL of one session: the server ends all others and recovers. */
void fa_pgs_kill_session(struct fa_pgs *server, pid_t pid);

/* A copy of a running server that follows it; not started. */
void fa_pgs_init_standby(struct fa_pgs *standby, struct fa_pgs *primary);
void fa_pgs_promote(struct fa_pgs *standby); /* returns when it takes writes */

/* Fills the small file system, or frees it again. */
void fa_pgs_fill_disk(struct fa_pgs *server);
void fa_pgs_free_disk(struct fa_pgs *server);

#endif
