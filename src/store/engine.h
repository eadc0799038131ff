/*
 * engine.h - the SQL family of engines behind service.h.
 */
#ifndef FA_STORE_ENGINE_H
#define FA_STORE_ENGINE_H

#include "service/service.h"
#include "store/db/store.h"

/* Opens an engine over a store. The engine closes the store, also when opening fails. Options may
 * be NULL. Codes as for faina_open. */
FA_MUST_CHECK enum faina_code fa_engine_open(struct fa_service **out, struct fa_store *store,
                                             const struct faina_options *options,
                                             struct faina_error *err);

#endif
