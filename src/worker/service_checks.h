/*
 * service_checks.h - which services can be reached: checks that are run every few seconds.
 *
 * A check is "tcp:HOST:PORT", which must accept a connection, or a command with its arguments,
 * which must exit with 0. The pool's claims list the services that are always reachable and those
 * whose last check succeeded.
 *
 *   V1  A service is not listed before its first check has succeeded.
 *   V2  A check that takes longer than CHECK_MS has failed.
 *
 * Threads: create and stop from the owner's. Host names are resolved and connected to in a separate
 * thread, since that can take long; commands run in the loop.
 */
#ifndef FA_WORKER_SERVICE_CHECKS_H
#define FA_WORKER_SERVICE_CHECKS_H

#include "worker/runtime.h"
#include "worker/command/spawn.h"

struct fa_services;

/* INVALID_REQUEST: a check is invalid. */
FA_MUST_CHECK enum faina_code fa_services_create(struct fa_services **out, struct fa_pool *pool,
                                                 struct fa_event_loop *loop,
                                                 struct fa_spawner *spawner,
                                                 const struct fa_runtime_config *config,
                                                 struct faina_error *err);
/* Starts no more checks and waits for those under way. Before the loop ends; NULL is fine. */
void fa_services_stop(struct fa_services *services);
void fa_services_destroy(struct fa_services *services); /* after the loop; NULL is fine */

#endif
