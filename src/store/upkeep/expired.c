/* expired.c - see expired.h. The statements are in retention.c. */
#include "store/upkeep/expired.h"

#include "store/upkeep/retention.h"
#include "store/txn/writer.h"

#include <assert.h>

struct expired_chore {
    struct fa_chore chore;
    /* Find: */
    const struct fa_expired_query *query;
    struct fa_arena *arena;
    struct fa_expired *found;
    /* Remove: */
    const struct fa_expired *what;
    bool events_only;
    size_t removed;
};

static struct fa_engine *downcast(struct fa_service *service)
{
    return FA_CONTAINER_OF(service, struct fa_engine, base);
}

static enum faina_code refuse_lead(struct faina_error *err)
{
    return fa_error_set(err, FAINA_CONFLICT, "another node leads, and runs the chores");
}

static enum faina_code must_lead(struct fa_engine *engine, struct fa_db *db,
                                 struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    bool leads = true;

    if (engine->fleet != NULL)
        code = fa_fleet_fence(engine->fleet, db, &leads, err);
    return code == FAINA_OK && !leads ? refuse_lead(err) : code;
}

static enum faina_code run_find(struct fa_writer *writer, struct fa_chore *chore)
{
    struct expired_chore *expired = FA_CONTAINER_OF(chore, struct expired_chore, chore);
    struct fa_unit *unit = &writer->unit;
    enum faina_code code = fa_unit_flush(unit, &chore->error);

    if (code == FAINA_OK)
        code = fa_retention_find(&unit->source, expired->query, unit->now_us, expired->arena,
                                 expired->found, &chore->error);
    return code;
}

static enum faina_code run_remove(struct fa_writer *writer, struct fa_chore *chore)
{
    struct expired_chore *expired = FA_CONTAINER_OF(chore, struct expired_chore, chore);
    enum faina_code code = must_lead(writer->engine, writer->db, &chore->error);

    if (code == FAINA_OK)
        code = fa_retention_remove(&writer->unit, expired->what, expired->events_only,
                                   &expired->removed, &chore->error);
    return code;
}

enum faina_code fa_engine_expired_find(struct fa_service *service,
                                       const struct fa_expired_query *query, struct fa_arena *arena,
                                       struct fa_expired *out, struct faina_error *err)
{
    struct fa_engine *engine = downcast(service);
    struct expired_chore expired = {
        {.run = run_find}, .query = query, .arena = arena, .found = out};
    struct fa_reader *reader = NULL;
    enum faina_code code;

    if (engine->fleet != NULL && !fa_fleet_leads(engine->fleet))
        return refuse_lead(err);
    if (engine->readers == NULL)
        return fa_writers_run_chore(engine, &expired.chore, 1, err);
    code = fa_readers_begin(engine->readers, &reader, err);
    if (code != FAINA_OK)
        return code;
    code = fa_retention_find(&reader->source, query, fa_db_now(reader->source.db), arena, out, err);
    fa_readers_end(engine->readers, reader);
    return code;
}

enum faina_code fa_engine_expired_remove(struct fa_service *service, const struct fa_expired *what,
                                         bool events_only, size_t *removed, struct faina_error *err)
{
    struct expired_chore expired = {{.run = run_remove}, .what = what, .events_only = events_only};
    enum faina_code code =
        fa_writers_run_chore(downcast(service), &expired.chore, what->count + 1, err);

    *removed = code == FAINA_OK ? expired.removed : 0;
    return code;
}

enum faina_code fa_engine_expired_day_find(struct fa_service *service,
                                           const struct fa_expired_query *query,
                                           struct fa_expired_day *out, struct faina_error *err)
{
    struct fa_engine *engine = downcast(service);
    struct fa_reader *reader = NULL;
    enum faina_code code;

    if (engine->fleet == NULL)
        return FAINA_OK;
    if (!fa_fleet_leads(engine->fleet))
        return refuse_lead(err);
    code = fa_readers_begin(engine->readers, &reader, err);
    if (code != FAINA_OK)
        return code;
    code = fa_retention_find_day(reader->source.db, query, out, err);
    fa_readers_end(engine->readers, reader);
    return code;
}

/* Over a connection of its own: other transactions don't wait with it for its locks. */
enum faina_code fa_engine_expired_day_drop(struct fa_service *service,
                                           const struct fa_expired_day *day,
                                           struct faina_error *err)
{
    struct fa_engine *engine = downcast(service);
    struct fa_db *db = NULL;
    enum faina_code code = engine->store->ops->connect(engine->store, false, &db, err);

    assert(engine->fleet != NULL);
    if (code == FAINA_OK)
        code = fa_db_begin(db, true, err);
    if (code == FAINA_OK)
        code = must_lead(engine, db, err);
    if (code == FAINA_OK)
        code = fa_retention_drop_day(db, day, err);
    if (code == FAINA_OK)
        code = fa_db_commit(db, err);
    if (db != NULL)
        fa_db_rollback(db);
    fa_db_close(db);
    return code;
}
