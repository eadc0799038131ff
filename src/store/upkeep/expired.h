/*
 * old.h - what has ended long ago, as an engine finds and removes it for the keeper (service.h).
 *
 * Only the node that leads does: everybody else is refused with CONFLICT.
 */
#ifndef FA_OLD_H
#define FA_OLD_H

#include "service/service.h"

FA_MUST_CHECK enum faina_code fa_engine_old_find(struct fa_service *service,
                                                 const struct fa_old_query *query,
                                                 struct fa_arena *arena, struct fa_old *out,
                                                 struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_engine_old_remove(struct fa_service *service,
                                                   const struct fa_old *what, bool events_only,
                                                   size_t *removed, struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_engine_old_day_find(struct fa_service *service,
                                                     const struct fa_old_query *query,
                                                     struct fa_old_day *out,
                                                     struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_engine_old_day_drop(struct fa_service *service,
                                                     const struct fa_old_day *day,
                                                     struct faina_error *err);

#endif
