/*
 * engine.h - the SQL family of engines behind service.h.
 */
#ifndef FA_ENGINE_H
#define FA_ENGINE_H

#include "service/service.h"

/* Opens a SQLite file, or (path NULL) a store in memory. Codes as for faina_open. */
FA_MUST_CHECK enum faina_code fa_engine_open(struct fa_service **out, const char *path,
                                             const struct faina_options *options,
                                             struct faina_error *err);

#endif
