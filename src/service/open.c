/*
 * open.c - URL to engine; and what is done to a store without an engine: looking at its schema, and
 * copying it.
 */
#include "service/service.h"

#include "model/limits.h"
#include "service/address.h"
#include "sql/copy.h"
#include "sql/engine.h"
#include "sql/migrate.h"
#include "sql/store.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#define URL_EXAMPLES                                                                               \
    "sqlite:faina.db, sqlite:/var/lib/faina/faina.db, memory: or postgres://user@host/database"

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The file behind "sqlite:PATH". Two slashes begin a host name in other URLs, so we take them only
 * where they can mean nothing else than an absolute path. */
static enum faina_code sqlite_path(const char *url, const char **out, struct faina_error *err)
{
    const char *path = url + strlen("sqlite:");

    if (starts_with(path, "//")) {
        if (path[2] != '/')
            return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                                  "\"%.200s\" is ambiguous: write sqlite:%.200s for a file in this "
                                  "folder, or sqlite:/folder/file for an absolute path",
                                  url, path + 2);
        path += 2;
    }
    if (strcmp(path, ":memory:") == 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                              "an engine in memory has the URL memory:");
    if (path[0] == '\0')
        return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                              "the URL names no file: write sqlite:faina.db, for example");
    *out = path;
    return FAINA_OK;
}

static enum faina_code check_options(const struct faina_options *options, struct faina_error *err)
{
    if (!options)
        return FAINA_OK;
    if (options->input_size_max < 0 || options->input_size_max > FA_INPUT_SIZE_CEILING)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "input_size_max",
                              "input_size_max must be between 0 and %d bytes",
                              FA_INPUT_SIZE_CEILING);
    if (options->events_keep_ms < 0 || options->events_keep_ms > FA_DURATION_MS_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "events_keep_ms",
                              "events_keep_ms must be between 0 and 100 years");
    if (options->cache_kib < 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "cache_kib",
                              "cache_kib can't be negative");
    return FAINA_OK;
}

static enum faina_code unknown_url(const char *url, struct faina_error *err)
{
    static const struct {
        const char *scheme, *engine;
    } later[] = {
        {"nats://", "NATS"},
        {"http://", "remote"},
        {"https://", "remote"},
    };

    for (size_t i = 0; i < FA_COUNT(later); i++) {
        if (starts_with(url, later[i].scheme))
            return fa_error_field(err, FAINA_NOT_SUPPORTED, "url",
                                  "this build has no %s engine; use a URL such as " URL_EXAMPLES,
                                  later[i].engine);
    }
    /* The URL isn't repeated here when it may hold a password. */
    if (strchr(url, '@'))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                              "the engine's URL is of no known kind; examples are " URL_EXAMPLES);
    return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                          "\"%.200s\" is not the URL of an engine; examples are " URL_EXAMPLES,
                          url);
}

static enum faina_code open_store(const char *url, const struct faina_options *options,
                                  struct fa_store **out, struct faina_error *err)
{
    const char *path = NULL; /* NULL: memory */
    enum faina_code code = FAINA_OK;

    if (fa_address_is_postgres(url))
        return fa_store_open_postgres(out, url, err);
    if (starts_with(url, "sqlite:"))
        code = sqlite_path(url, &path, err);
    else if (strcmp(url, "memory:") != 0)
        code = unknown_url(url, err);
    return code == FAINA_OK ? fa_store_open_sqlite(out, path, options, err) : code;
}

enum faina_code fa_service_open(struct fa_service **out, const char *url,
                                const struct faina_options *options, struct faina_error *err)
{
    struct fa_service *service = NULL;
    struct fa_store *store = NULL;
    enum faina_code code;

    assert(out);
    code = check_options(options, err);
    if (code == FAINA_OK)
        code = open_store(url ? url : "sqlite:faina.db", options, &store, err);
    if (code != FAINA_OK)
        return code;
    code = fa_engine_open(&service, store, options, err);
    if (code != FAINA_OK)
        return code;
    service->input_size_max = options && options->input_size_max > 0
                                  ? (size_t)options->input_size_max
                                  : FA_INPUT_SIZE_DEFAULT;
    *out = service;
    return FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * The schema
 */

static enum faina_code read_plan(struct fa_store *store, struct fa_arena *arena,
                                 struct fa_service_plan *out, struct faina_error *err)
{
    struct fa_db *db = NULL;
    enum faina_code code = store->ops->connect(store, true, &db, err);
    struct fa_migrate_plan plan;

    if (code == FAINA_OK)
        code = fa_migrate_plan(db, arena, &plan, err);
    if (code == FAINA_OK) {
        *out = (struct fa_service_plan){
            .schema_version = plan.applied_count,
            .step_count = plan.step_count,
            .ids = fa_arena_zero(arena, plan.step_count + 1, sizeof(*out->ids)),
            .descriptions = fa_arena_zero(arena, plan.step_count + 1, sizeof(*out->descriptions)),
            .script = plan.script,
        };
        for (size_t i = 0; i < plan.step_count; i++) {
            out->ids[i] = plan.steps[i]->id;
            out->descriptions[i] = plan.steps[i]->description;
        }
    }
    fa_db_close(db);
    return code;
}

enum faina_code fa_service_plan(const char *url, struct fa_arena *arena,
                                struct fa_service_plan *out, struct faina_error *err)
{
    struct fa_store *store = NULL;
    enum faina_code code;

    if (!fa_address_is_postgres(url))
        return fa_error_set(err, FAINA_NOT_SUPPORTED, "only PostgreSQL's schema has a script");
    code = open_store(url, NULL, &store, err);
    if (code != FAINA_OK)
        return code;
    code = read_plan(store, arena, out, err);
    store->ops->close(store);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Copying
 */

static enum faina_code open_copied(const char *url, struct fa_store **out, struct faina_error *err)
{
    if (strcmp(url, "memory:") == 0)
        return fa_error_field(err, FAINA_NOT_SUPPORTED, "url",
                              "a store in memory is gone with its process, so it can't be copied");
    return open_store(url, NULL, out, err);
}

/* Opening a file makes it; a source that isn't there must stay so. */
static enum faina_code check_source(const char *url, struct faina_error *err)
{
    const char *path;
    enum faina_code code;

    if (!starts_with(url, "sqlite:"))
        return FAINA_OK;
    code = sqlite_path(url, &path, err);
    if (code == FAINA_OK && access(path, F_OK) != 0 && errno == ENOENT)
        code = fa_error_set(err, FAINA_NOT_FOUND, "there is no store to copy at %.200s", path);
    return code;
}

enum faina_code fa_service_copy(const char *from, const char *to, const struct fa_copy_watch *watch,
                                struct fa_arena *arena, struct fa_copy_report *out,
                                struct faina_error *err)
{
    struct fa_store *source = NULL, *target = NULL;
    enum faina_code code = check_source(from, err);

    if (code == FAINA_OK)
        code = open_copied(from, &source, err);
    if (code == FAINA_OK)
        code = open_copied(to, &target, err);
    if (code == FAINA_OK)
        code = fa_copy_run(source, target, watch, arena, out, err);
    if (target != NULL)
        target->ops->close(target);
    if (source != NULL)
        source->ops->close(source);
    return code;
}
