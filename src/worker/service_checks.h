/*
 * services.h - which services can be reached: checks that are run every few seconds.
 *
 * A check is "tcp:HOST:PORT", which connects, or a command with its arguments, which exits with 0.
 * The pool offers the services that are always there and those whose last check succeeded.
 *
 *   V1  A service is not offered before its first check has succeeded.
 *   V2  A check that takes longer than CHECK_MS has failed.
 *
 * Threads: create and stop from the owner's. Names are looked up and connected to in a thread of
 * its own, since that can take long; commands are the loop's.
 */
#ifndef FA_SERVICES_H
#define FA_SERVICES_H

#include "runtime/runtime.h"
#include "runtime/spawn.h"

struct fa_services;

/* INVALID_REQUEST: a check makes no sense. */
FA_MUST_CHECK enum faina_code fa_services_create(struct fa_services **out, struct fa_pool *pool,
                                                 struct fa_loop *loop, struct fa_spawner *spawner,
                                                 const struct fa_runtime_config *config,
                                                 struct faina_error *err);
/* Starts no more checks and waits for those under way. Before the loop ends; NULL is fine. */
void fa_services_stop(struct fa_services *services);
void fa_services_destroy(struct fa_services *services); /* after the loop; NULL is fine */

#endif
