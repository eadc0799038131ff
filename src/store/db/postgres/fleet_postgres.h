/* fleet_postgres.h - fleet.h over LISTEN and NOTIFY. */
#ifndef FA_STORE_DB_POSTGRES_FLEET_POSTGRES_H
#define FA_STORE_DB_POSTGRES_FLEET_POSTGRES_H

#include "store/db/fleet.h"
#include "store/db/postgres/target.h"

/* The target must outlive the fleet. UNAVAILABLE: no thread, or no connection. */
FA_MUST_CHECK enum faina_code fa_fleet_join_postgres(struct fa_pg_target *target,
                                                     const struct fa_fleet_events *events,
                                                     struct fa_fleet **out,
                                                     struct faina_error *err);

#endif
