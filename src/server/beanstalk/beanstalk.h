/*
 * beanstalk.h - the beanstalkd protocol on an address of its own, over the server's engine.
 *
 * Jobs are tasks (protocol.h). A job that a client has reserved is claimed by the listener's worker
 * id, and the listener has a reservation for it in memory.
 *
 *   B1  A command that changes a job is answered after its transaction is on disk.
 *   B2  A reservation ends when its client deletes, releases or buries the job, when its TTR is
 *       over, or when its connection is closed. The job is ready again in the last two cases.
 *   B3  The lease of a reserved job is FA_BEANSTALK_LEASE_MS, whatever its TTR, and renewed while
 *       the reservation exists. So a job of a killed server is ready again after that time.
 *   B4  Nothing more is read from a connection while a command of it runs or its answer is not
 *       sent.
 *   B5  Bodies and answers in memory are bounded, in all; a client that takes no byte of an answer
 *       for a minute is disconnected.
 *
 * The protocol has no authentication: server.h, H3 holds without regard to tokens.
 *
 * Threads: one for the listener, which handles all connections. The functions here are called by
 * the owner of the server.
 */
#ifndef FA_SERVER_BEANSTALK_BEANSTALK_H
#define FA_SERVER_BEANSTALK_BEANSTALK_H

#include "service/service.h"

#include <stdatomic.h>

struct fa_beanstalk;
struct fa_server;

#define FA_BEANSTALK_LEASE_MS 10000
#define FA_BEANSTALK_CONNECTIONS_MAX 4096
#define FA_BEANSTALK_BYTES_MAX (256LL * 1024 * 1024) /* B5; bodies and answers each */
#define FA_BEANSTALK_TUBES_MAX 100000
#define FA_BEANSTALK_WATCHED_MAX 1000 /* tubes of a connection: FA_CLAIM_NAMES_MAX */

/* Listens on "HOST:PORT", "HOST" or "unix:PATH". NOT_SUPPORTED: the engine has no queue that can be
 * read (NATS). FORBIDDEN: other machines could connect, and is_insecure is not set. */
FA_MUST_CHECK enum faina_code fa_beanstalk_start(struct fa_beanstalk **out,
                                                 struct fa_server *server, const char *address,
                                                 const char *ns, struct faina_error *err);
const char *fa_beanstalk_address(const struct fa_beanstalk *beanstalk);
/* Accepts no more connections and refuses new jobs (DRAINING). NULL is fine, as below. */
void fa_beanstalk_drain(struct fa_beanstalk *beanstalk);
/* Whether clients have reserved jobs. */
bool fa_beanstalk_is_busy(const struct fa_beanstalk *beanstalk);
/* Closes the connections, which returns their jobs, and ends. Before the server's post closes. */
void fa_beanstalk_stop(struct fa_beanstalk *beanstalk);

#endif
