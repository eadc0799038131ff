/* store_postgres.c - a PostgreSQL schema as a store. */
#include "store/db/store.h"

#include "store/db/postgres/db_postgres.h"
#include "store/db/postgres/fleet_postgres.h"

#include <assert.h>
#include <stdlib.h>

#define POLL_MS 5000

struct store_postgres {
    struct fa_store base;
    struct fa_pg_target target;
};

static const struct fa_store_ops postgres_ops;

static struct store_postgres *downcast(struct fa_store *store)
{
    assert(store->ops == &postgres_ops);
    return (struct store_postgres *)store;
}

static enum faina_code store_connect(struct fa_store *store, bool for_reading, struct fa_db **out,
                                     struct faina_error *err)
{
    return fa_postgres_open(out, &downcast(store)->target,
                            for_reading ? FA_PG_READER : FA_PG_WRITER, err);
}

static int64_t store_size(struct fa_store *store)
{
    (void)store;
    return -1;
}

static const char *store_location(struct fa_store *store)
{
    return downcast(store)->target.location;
}

static enum faina_code store_join(struct fa_store *store, const struct fa_fleet_events *events,
                                  struct fa_fleet **out, struct faina_error *err)
{
    return fa_fleet_join_postgres(&downcast(store)->target, events, out, err);
}

static void store_close(struct fa_store *base)
{
    struct store_postgres *store = downcast(base);

    fa_pg_target_finish(&store->target);
    free(store);
}

static const struct fa_store_ops postgres_ops = {
    .name = "postgres",
    .writers = 2, /* measured: a third gains nothing */
    .has_readers = true,
    .poll_ms = POLL_MS,
    .connect = store_connect,
    .size = store_size,
    .location = store_location,
    .join = store_join,
    .close = store_close,
};

enum faina_code fa_store_open_postgres(struct fa_store **out, const char *url,
                                       struct faina_error *err)
{
    struct store_postgres *store = fa_alloc_zero(1, sizeof(*store));
    enum faina_code code = fa_pg_target_parse(&store->target, url, err);

    store->base.ops = &postgres_ops;
    if (code != FAINA_OK) {
        free(store);
        return code;
    }
    *out = &store->base;
    return FAINA_OK;
}
