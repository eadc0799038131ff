/*
 * expired.h - an engine's operations on tasks past retention (service.h).
 *
 * Only the leading node runs them: on other nodes they fail with CONFLICT.
 */
#ifndef FA_STORE_UPKEEP_EXPIRED_H
#define FA_STORE_UPKEEP_EXPIRED_H

#include "service/service.h"

FA_MUST_CHECK enum faina_code fa_engine_expired_find(struct fa_service *service,
                                                     const struct fa_expired_query *query,
                                                     struct fa_arena *arena, struct fa_expired *out,
                                                     struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_engine_expired_remove(struct fa_service *service,
                                                       const struct fa_expired *what,
                                                       bool events_only, size_t *removed,
                                                       struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_engine_expired_day_find(struct fa_service *service,
                                                         const struct fa_expired_query *query,
                                                         struct fa_expired_day *out,
                                                         struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_engine_expired_day_drop(struct fa_service *service,
                                                         const struct fa_expired_day *day,
                                                         struct faina_error *err);

#endif
