/*
 * open.c - URL to engine; and what is done to a store without an engine: looking at its schema,
 * copying it, and backups.
 */
#include "service/service.h"

#include "base/clock.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/times.h"
#include "client/client.h"
#include "kv/kv_engine.h"
#include "kv/memory/kv_memory.h"
#include "kv/nats/kv_nats.h"
#include "api/address.h"
#include "store/upkeep/backup_file.h"
#include "store/upkeep/copy.h"
#include "store/engine.h"
#include "store/db/migrate.h"
#include "store/db/store.h"

#include <assert.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <time.h>
#include <stdlib.h>
#include <unistd.h>

#define URL_EXAMPLES                                                                               \
    "sqlite:faina.db, sqlite:/var/lib/faina/faina.db, memory:, postgres://user@host/database, "    \
    "nats://host:4222 or http://host:7070"

/* For tests: the engine of NATS on a store of keys in memory, which is gone when it is closed. */
#define KV_MEMORY "kv-memory:"

/* How long to try again when the owner of a file is to be found at its address, and isn't. */
#define OWNER_GOES_MS 2000

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
    if (options->worker_timeout_ms != 0 && (options->worker_timeout_ms < FA_WORKER_DEAD_MS_MIN ||
                                            options->worker_timeout_ms > FA_DURATION_MS_MAX))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "worker_timeout_ms",
                              "worker_timeout_ms must be between 1 second and 100 years");
    if (options->types_max < 0 || options->types_max > FA_TYPES_CEILING)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "types_max",
                              "types_max must be between 0 and %d", FA_TYPES_CEILING);
    if (options->cache_kib < 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "cache_kib",
                              "cache_kib can't be negative");
    return FAINA_OK;
}

static enum faina_code unknown_url(const char *url, struct faina_error *err)
{
    /* The URL isn't repeated here when it may hold a password. */
    if (strchr(url, '@'))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                              "the engine's URL has an unknown scheme; examples are " URL_EXAMPLES);
    return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                          "\"%.200s\" is not the URL of an engine; examples are " URL_EXAMPLES,
                          url);
}

static enum faina_code open_store(const char *url, const struct faina_options *options,
                                  struct fa_store **out, struct fa_store_owner *owner,
                                  struct faina_error *err)
{
    const char *path = NULL; /* NULL: memory */
    enum faina_code code = FAINA_OK;

    if (fa_address_is_postgres(url))
        return fa_store_open_postgres(out, url, err);
    if (starts_with(url, "sqlite:"))
        code = sqlite_path(url, &path, err);
    else if (strcmp(url, "memory:") != 0)
        code = unknown_url(url, err);
    return code == FAINA_OK ? fa_store_open_sqlite(out, path, options, owner, err) : code;
}

/* After how long a worker without a heartbeat is dead, when the caller has left it open. */
static enum faina_code read_timeout(struct faina_options *options, struct faina_error *err)
{
    static const char *const names[] = {"FAINA_WORKER_TIMEOUT", "WORKER_TIMEOUT"};
    enum faina_code code = FAINA_OK;

    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(names) && options->worker_timeout_ms == 0;
         i++) {
        const char *text = getenv(names[i]);

        if (text == NULL || text[0] == '\0')
            continue;
        code = fa_duration_parse(text, names[i], &options->worker_timeout_ms, err);
        if (code == FAINA_OK && options->worker_timeout_ms < FA_WORKER_DEAD_MS_MIN)
            code = fa_error_field(err, FAINA_INVALID_REQUEST, names[i],
                                  "%s must be at least 1s, and should be several heartbeats",
                                  names[i]);
    }
    return code;
}

static enum faina_code open_engine(struct fa_service **out, struct fa_store *store,
                                   const struct faina_options *options, struct faina_error *err)
{
    struct faina_options all = options != NULL ? *options : (struct faina_options){0};
    enum faina_code code = read_timeout(&all, err);

    if (code != FAINA_OK) {
        store->ops->close(store);
        return code;
    }
    code = fa_engine_open(out, store, &all, err);

    if (code == FAINA_OK)
        (*out)->input_size_max = options && options->input_size_max > 0
                                     ? (size_t)options->input_size_max
                                     : FA_INPUT_SIZE_DEFAULT;
    return code;
}

static bool is_remote(const char *url)
{
    static const char *const schemes[] = {"http://", "https://", "unix:"};

    for (size_t i = 0; i < FA_COUNT(schemes); i++)
        if (starts_with(url, schemes[i]))
            return true;
    return false;
}

/* A file that another process serves is opened through that process. When that doesn't answer, it
 * may be shutting down: then the next try can open the file itself. */
static enum faina_code open_or_reach(struct fa_service **out, const char *url,
                                     const struct faina_options *options, bool is_brief,
                                     bool must_exist, struct faina_error *err)
{
    const struct timespec moment = {.tv_nsec = 20 * 1000000};
    int64_t start_us = fa_clock_mono_us();

    for (;;) {
        struct fa_store *store = NULL;
        struct fa_store_owner owner = {.is_brief = is_brief, .must_exist = must_exist};
        struct faina_error away;
        enum faina_code code = open_store(url, options, &store, &owner, err);

        if (code == FAINA_OK) {
            store->must_exist = must_exist;
            return open_engine(out, store, options, err);
        }
        if (!owner.address[0])
            return code;
        fa_error_clear(&away);
        code = fa_client_open(out, owner.address, options, &away);
        if (code == FAINA_UNAVAILABLE && fa_clock_mono_us() - start_us <= OWNER_GOES_MS * 1000) {
            nanosleep(&moment, NULL);
            continue;
        }
        /* When the owner is leaving, the first error is the useful one. */
        if (err && code != FAINA_OK && !(code == FAINA_UNAVAILABLE && owner.is_leaving))
            *err = away;
        return code;
    }
}

static bool is_nats(const char *url)
{
    return starts_with(url, "nats://");
}

static enum faina_code open_nats(struct fa_service **out, const char *url,
                                 const struct faina_options *options, bool must_exist,
                                 struct faina_error *err)
{
    struct fa_kv *kv = NULL;
    enum faina_code code = fa_kv_nats_open(&kv, url, must_exist, err);

    return code == FAINA_OK ? fa_kv_engine_open(out, kv, options, err) : code;
}

static enum faina_code open_any(struct fa_service **out, const char *url,
                                const struct faina_options *options, bool is_brief, bool must_exist,
                                struct faina_error *err)
{
    enum faina_code code = check_options(options, err);

    assert(out);
    if (code != FAINA_OK)
        return code;
    if (!url)
        url = "sqlite:faina.db";
    if (is_remote(url))
        return fa_client_open(out, url, options, err);
    if (strcmp(url, KV_MEMORY) == 0)
        return fa_kv_engine_open(out, fa_kv_memory_open(NULL), options, err);
    if (is_nats(url))
        return open_nats(out, url, options, must_exist, err);
    return open_or_reach(out, url, options, is_brief, must_exist, err);
}

/* The user of this process, for the audit. */
static void find_user(char out[FA_USER_SIZE])
{
    struct passwd entry, *found = NULL;
    char text[1024];

    if (getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) == 0 && found != NULL &&
        strlen(found->pw_name) < FA_USER_SIZE &&
        fa_check_text(found->pw_name, FA_USER_SIZE, "user", FAINA_INTERNAL, NULL) == FAINA_OK)
        snprintf(out, FA_USER_SIZE, "%s", found->pw_name);
    else
        snprintf(out, FA_USER_SIZE, "uid %u", (unsigned)geteuid());
}

static enum faina_code open_url(struct fa_service **out, const char *url,
                                const struct faina_options *options, bool is_brief, bool must_exist,
                                struct faina_error *err)
{
    enum faina_code code = open_any(out, url, options, is_brief, must_exist, err);

    if (code == FAINA_OK)
        find_user((*out)->user);
    return code;
}

enum faina_code fa_service_open(struct fa_service **out, const char *url,
                                const struct faina_options *options, struct faina_error *err)
{
    return open_url(out, url, options, false, false, err);
}

enum faina_code fa_service_visit(struct fa_service **out, const char *url,
                                 const struct faina_options *options, bool must_exist,
                                 struct faina_error *err)
{
    return open_url(out, url, options, true, must_exist, err);
}

const char *fa_service_file(const char *url)
{
    const char *path = NULL;

    if (starts_with(url, "sqlite:") && sqlite_path(url, &path, NULL) == FAINA_OK)
        return path;
    return NULL;
}

bool fa_service_has_owner(const char *url)
{
    const char *path = fa_service_file(url);

    return path && fa_store_has_owner_sqlite(path);
}

long fa_service_owner(const char *url)
{
    const char *path = fa_service_file(url);

    return path ? fa_store_owner_sqlite(path) : 0;
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
    code = open_store(url, NULL, &store, NULL, err);
    if (code != FAINA_OK)
        return code;
    code = read_plan(store, arena, out, err);
    store->ops->close(store);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * Copying
 */

/* A client of the owner could not copy the file, so its advice for clients is of no use here. */
static void add_owner_to_error(struct faina_error *err)
{
    static const char mark[] = " is in use by process ";
    const char *place = err ? strstr(err->message, mark) : NULL;
    struct faina_error first;

    if (!place || strstr(place, "shutting down"))
        return;
    first = *err;
    fa_error_set(
        err, first.code, "%.*s%s%ld, and a copy needs the file for itself: stop that process first",
        (int)(place - err->message), first.message, mark, strtol(place + strlen(mark), NULL, 10));
}

static enum faina_code open_copied(const char *url, struct fa_store **out, struct faina_error *err)
{
    enum faina_code code;

    if (is_remote(url))
        return fa_error_field(err, FAINA_NOT_SUPPORTED, "url",
                              "a store is copied where it is, not through a server");
    if (is_nats(url))
        return fa_error_field(err, FAINA_NOT_SUPPORTED, "url",
                              "an engine on NATS can't be copied; SQLite and PostgreSQL can");
    if (strcmp(url, "memory:") == 0)
        return fa_error_field(
            err, FAINA_NOT_SUPPORTED, "url",
            "a store in memory exists only in its process, so it can't be copied");
    code = open_store(url, NULL, out, NULL, err);
    if (code == FAINA_UNAVAILABLE)
        add_owner_to_error(err);
    return code;
}

static enum faina_code check_schema(const char *url, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_store *store = NULL;
    struct fa_service_plan plan;
    enum faina_code code = open_store(url, NULL, &store, NULL, err);

    if (code == FAINA_OK)
        code = read_plan(store, &scratch, &plan, err);
    if (code == FAINA_OK && plan.schema_version == 0)
        code = fa_error_set(err, FAINA_NOT_FOUND, "there is no store to copy at %.200s",
                            store->ops->location(store));
    if (store != NULL)
        store->ops->close(store);
    fa_arena_finish(&scratch);
    return code;
}

/* Opening a file makes it; a source that isn't there must stay so, and a target must not be made
 * for it. */
static enum faina_code check_source(const char *url, struct faina_error *err)
{
    const char *path;
    enum faina_code code;

    if (fa_address_is_postgres(url))
        return check_schema(url, err);
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

/* ------------------------------------------------------------------------------------------
 * Backups
 */

static enum faina_code write_copy(void *ctx, const char *path, const struct fa_backup_watch *watch,
                                  struct faina_error *err)
{
    struct fa_service *service = ctx;

    return service->ops->backup(service, path, watch, err);
}

static enum faina_code audit_backup(struct fa_service *service, const char *path,
                                    struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_op op = {.kind = FA_OP_AUDIT_ADD, .arena = &scratch};
    enum faina_code code;

    op.audit_add.act = "backup";
    op.audit_add.target = path;
    code = fa_service_run_one(service, &op, err);
    fa_arena_finish(&scratch);
    return code;
}

enum faina_code fa_service_backup(struct fa_service *service, const char *path, bool may_replace,
                                  const struct fa_backup_watch *watch, struct fa_backup_report *out,
                                  struct faina_error *err)
{
    const struct fa_backup_source source = {service, write_copy};
    enum faina_code code;

    atomic_fetch_add(&service->inside, 1);
    code = fa_backup_make(&source, path, may_replace, watch, out, err);
    if (code == FAINA_OK && !fa_service_is_remote(service)) /* a server has made its own entry */
        code = audit_backup(service, path, err);
    atomic_fetch_sub(&service->inside, 1);
    return code;
}

enum faina_code fa_service_backup_open(struct fa_service *service,
                                       const struct fa_backup_watch *watch, int *fd,
                                       struct fa_backup_report *out, struct faina_error *err)
{
    const struct fa_backup_source source = {service, write_copy};
    struct fa_service_info info;
    struct fa_arena scratch = {0};
    enum faina_code code;

    atomic_fetch_add(&service->inside, 1);
    code = service->ops->info(service, false, &scratch, &info, err);
    if (code == FAINA_OK && (info.location == NULL || strcmp(info.engine, "sqlite") != 0))
        code = service->ops->backup(service, "", watch, err); /* its refusal */
    else if (code == FAINA_OK)
        code = fa_backup_make_unnamed(
            &source, fa_arena_printf(&scratch, "%s" FA_BACKUP_SUFFIX, info.location), watch, fd,
            out, err);
    fa_arena_finish(&scratch);
    atomic_fetch_sub(&service->inside, 1);
    return code;
}

enum faina_code fa_service_restore(const char *path, const char *url,
                                   const struct fa_backup_watch *watch,
                                   struct fa_backup_report *out, struct faina_error *err)
{
    const char *target = NULL;
    enum faina_code code;

    if (fa_address_is_postgres(url))
        return fa_error_field(
            err, FAINA_NOT_SUPPORTED, "url",
            "a backup is restored to a SQLite file; `faina db copy` takes it from "
            "there to PostgreSQL");
    if (!starts_with(url, "sqlite:"))
        return fa_error_field(err, FAINA_NOT_SUPPORTED, "url",
                              "a backup is restored to a new SQLite file: --url sqlite:NEW");
    code = sqlite_path(url, &target, err);
    return code == FAINA_OK ? fa_backup_restore(path, target, watch, out, err) : code;
}
