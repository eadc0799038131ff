/*
 * engine.h - the SQL family of engines behind service.h.
 */
#ifndef FA_ENGINE_H
#define FA_ENGINE_H

#include "service/service.h"
#include "sql/store.h"

/* An engine over a store, which it closes, also when it fails. Options may be NULL. Codes as for
 * faina_open. */
FA_MUST_CHECK enum faina_code fa_engine_open(struct fa_service **out, struct fa_store *store,
                                             const struct faina_options *options,
                                             struct faina_error *err);

#endif
