/* target.c - see target.h. */
#include "sql/postgres/target.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* Taking the URL apart ------------------------------------------------------------------------ */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *decode(struct fa_pg_target *target, const char *text, size_t len)
{
    char *out = fa_arena_take(&target->arena, len + 1), *at = out;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && i + 2 < len && hex_digit(text[i + 1]) >= 0 &&
            hex_digit(text[i + 2]) >= 0) {
            *at++ = (char)(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
            i += 2;
        } else {
            *at++ = text[i];
        }
    }
    *at = '\0';
    return out;
}

/* Whether a parameter is ours: then its value is kept, and libpq doesn't see it. */
static bool take_own(struct fa_pg_target *target, const char *name, size_t name_len,
                     const char *value)
{
    const struct {
        const char *name;
        const char **text;
        bool *flag;
    } own[] = {
        {"schema", &target->schema, NULL},
        {"pooled", NULL, &target->is_pooled},
        {"listen_host", &target->listen_host, NULL},
        {"listen_port", &target->listen_port, NULL},
    };

    for (size_t i = 0; i < FA_COUNT(own); i++) {
        if (strlen(own[i].name) != name_len || memcmp(own[i].name, name, name_len) != 0)
            continue;
        if (own[i].text != NULL)
            *own[i].text = value;
        else
            *own[i].flag = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
        return true;
    }
    return false;
}

/* The URL without our own parameters. */
static const char *split_query(struct fa_pg_target *target, const char *url)
{
    const char *query = strchr(url, '?');
    struct fa_buf rest;
    const char *text;

    if (query == NULL)
        return url;
    fa_buf_init(&rest, SIZE_MAX / 2);
    fa_buf_add(&rest, url, (size_t)(query - url));
    for (const char *at = query + 1, *end; *at != '\0'; at = *end ? end + 1 : end) {
        size_t len = strcspn(at, "&"), name_len = strcspn(at, "=&");

        end = at + len;
        if (name_len < len &&
            take_own(target, at, name_len, decode(target, at + name_len + 1, len - name_len - 1)))
            continue;
        fa_buf_add(&rest, rest.len == (size_t)(query - url) ? "?" : "&", 1);
        fa_buf_add(&rest, at, len);
    }
    text = fa_arena_copy(&target->arena, rest.ptr, rest.len);
    fa_buf_finish(&rest);
    return text;
}

static void add(struct fa_pg_target *target, const char *keyword, const char *value)
{
    if (target->count + 1 >= FA_PG_PARAMS_MAX)
        return;
    target->keywords[target->count] = keyword;
    target->values[target->count++] = value;
}

static const char *get(const struct fa_pg_target *target, const char *keyword)
{
    for (size_t i = 0; i < target->count; i++) {
        if (strcmp(target->keywords[i], keyword) == 0)
            return target->values[i];
    }
    return NULL;
}

/* What we set unless the URL or libpq's own environment does. */
static void add_defaults(struct fa_pg_target *target)
{
    static const struct {
        const char *keyword, *value, *variable;
    } defaults[] = {
        {"application_name", "faina", "PGAPPNAME"},
        {"connect_timeout", "5", "PGCONNECT_TIMEOUT"},
        {"keepalives_idle", "5", NULL},
        {"keepalives_interval", "2", NULL},
        {"keepalives_count", "3", NULL},
        {"tcp_user_timeout", "15000", NULL},
        /* Of several hosts, the one that takes writes: after a failover that is another. */
        {"target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"},
    };

    for (size_t i = 0; i < FA_COUNT(defaults); i++) {
        if (get(target, defaults[i].keyword) == NULL &&
            (defaults[i].variable == NULL || getenv(defaults[i].variable) == NULL))
            add(target, defaults[i].keyword, defaults[i].value);
    }
    add(target, "client_encoding", "UTF8");
}

static bool is_schema_name(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= 63 && strncmp(name, "pg_", 3) != 0 && strpbrk(name, "\"\\,") == NULL;
}

enum faina_code fa_pg_target_parse(struct fa_pg_target *out, const char *url,
                                   struct faina_error *err)
{
    char *message = NULL, line[200];
    PQconninfoOption *parsed;

    *out = (struct fa_pg_target){0};
    parsed = PQconninfoParse(split_query(out, url), &message);
    if (parsed == NULL) {
        fa_error_field(err, FAINA_INVALID_REQUEST, "url", "the URL of the database is wrong: %s",
                       fa_pg_message(message ? message : "out of memory", line, sizeof(line)));
        PQfreemem(message);
        fa_pg_target_finish(out);
        return FAINA_INVALID_REQUEST;
    }
    for (const PQconninfoOption *option = parsed; option->keyword != NULL; option++) {
        if (option->val != NULL)
            add(out, fa_arena_strdup(&out->arena, option->keyword),
                fa_arena_strdup(&out->arena, option->val));
    }
    PQconninfoFree(parsed);
    add_defaults(out);
    if (out->schema == NULL || out->schema[0] == '\0')
        out->schema = "faina";
    out->location = fa_arena_printf(&out->arena, "%s:%s/%s, schema %s",
                                    get(out, "host") ? get(out, "host") : "localhost",
                                    get(out, "port") ? get(out, "port") : "5432",
                                    get(out, "dbname") ? get(out, "dbname") : "", out->schema);
    if (!is_schema_name(out->schema)) {
        fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                       "\"%.100s\" can't be the name of the schema", out->schema);
        fa_pg_target_finish(out);
        return FAINA_INVALID_REQUEST;
    }
    return FAINA_OK;
}

void fa_pg_target_finish(struct fa_pg_target *target)
{
    fa_arena_finish(&target->arena);
}

/* Connecting ---------------------------------------------------------------------------------- */

const char *fa_pg_message(const char *message, char *out, size_t size)
{
    size_t len = strcspn(message, "\n");

    if (len >= size)
        len = size - 1;
    memcpy(out, message, len);
    out[len] = '\0';
    return out;
}

/*
 * Settings of a session. The writer's statements are written for one plan, by the index: a plan
 * made while a table was empty, or a guess about how many rows an array has, must not change it.
 */
static const char *const settings[] = {
    [FA_PG_WRITER] = "-c synchronous_commit=on -c statement_timeout=30s -c lock_timeout=10s "
                     "-c idle_in_transaction_session_timeout=5s -c jit=off "
                     "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off "
                     "-c enable_hashjoin=off -c enable_mergejoin=off -c enable_material=off "
                     "-c enable_bitmapscan=off -c enable_memoize=off -c "
                     "default_transaction_isolation=read\\ committed",
    [FA_PG_READER] = ("-c statement_timeout=60s -c idle_in_transaction_session_timeout=30s "
                      "-c jit=off -c default_transaction_isolation=repeatable\\ read"),
    [FA_PG_HERALD] = "-c statement_timeout=10s -c synchronous_commit=off -c jit=off",
};

static void ignore_notice(void *ctx, const char *message)
{
    (void)ctx;
    (void)message;
}

static const char *session_options(struct fa_pg_target *target, enum fa_pg_role role,
                                   struct fa_arena *arena)
{
    const char *given = get(target, "options");
    struct fa_buf schema;
    const char *text;

    fa_buf_init(&schema, 1024);
    for (const char *at = target->schema; *at != '\0'; at++) {
        if (*at == ' ' || *at == '\\')
            fa_buf_add(&schema, "\\", 1);
        fa_buf_add(&schema, at, 1);
    }
    text = fa_arena_printf(arena, "%s%s%s -c search_path=\"%.*s\"", settings[role],
                           given ? " " : "", given ? given : "", (int)schema.len, schema.ptr);
    fa_buf_finish(&schema);
    return text;
}

enum faina_code fa_pg_connect(struct fa_pg_target *target, enum fa_pg_role role, PGconn **out,
                              struct faina_error *err)
{
    const char *keywords[FA_PG_PARAMS_MAX + 4], *values[FA_PG_PARAMS_MAX + 4];
    bool is_direct = !target->is_pooled ||
                     (role == FA_PG_HERALD && (target->listen_host || target->listen_port));
    struct fa_arena scratch = {0};
    size_t count = 0;
    PGconn *conn;
    char line[300];

    for (size_t i = 0; i < target->count; i++) {
        if (is_direct && strcmp(target->keywords[i], "options") == 0)
            continue;
        keywords[count] = target->keywords[i];
        values[count] = target->values[i];
        if (role == FA_PG_HERALD && target->listen_host && strcmp(keywords[count], "host") == 0)
            values[count] = target->listen_host;
        if (role == FA_PG_HERALD && target->listen_port && strcmp(keywords[count], "port") == 0)
            values[count] = target->listen_port;
        count++;
    }
    if (is_direct) {
        keywords[count] = "options";
        values[count++] = session_options(target, role, &scratch);
    }
    keywords[count] = values[count] = NULL;
    conn = PQconnectdbParams(keywords, values, 0);
    fa_arena_finish(&scratch);
    if (PQstatus(conn) != CONNECTION_OK) {
        fa_error_set(err, FAINA_UNAVAILABLE, "the database can't be reached: %s",
                     fa_pg_message(PQerrorMessage(conn), line, sizeof(line)));
        PQfinish(conn);
        return FAINA_UNAVAILABLE;
    }
    if (PQserverVersion(conn) < 140000) {
        fa_error_set(err, FAINA_NOT_SUPPORTED, "PostgreSQL 14 or newer is needed; this is %s",
                     PQparameterStatus(conn, "server_version"));
        PQfinish(conn);
        return FAINA_NOT_SUPPORTED;
    }
    PQsetNoticeProcessor(conn, ignore_notice, NULL);
    *out = conn;
    return FAINA_OK;
}

/* The clock ----------------------------------------------------------------------------------- */

#define CLOCK_SAMPLES 10    /* until one is good */
#define CLOCK_SLACK_US 2000 /* an answer that took longer says less than what we have */

void fa_pg_set_clock(struct fa_pg_target *target, int64_t before, int64_t server_us)
{
    int64_t after = fa_clock_mono_us(), offset = server_us - (before + after) / 2;
    int64_t change = offset - atomic_load(&target->clock_offset_us), doubt = (after - before) / 2;

    if (after - before < CLOCK_SLACK_US || change > doubt || -change > doubt)
        atomic_store(&target->clock_offset_us, offset);
}

void fa_pg_read_clock(struct fa_pg_target *target, PGconn *conn)
{
    for (int i = 0; i < CLOCK_SAMPLES; i++) {
        int64_t before = fa_clock_mono_us(), took;
        PGresult *result =
            PQexec(conn, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");

        took = fa_clock_mono_us() - before;
        if (PQresultStatus(result) == PGRES_TUPLES_OK)
            fa_pg_set_clock(target, before, atoll(PQgetvalue(result, 0, 0)));
        PQclear(result);
        if (took < CLOCK_SLACK_US)
            break;
    }
}

int64_t fa_pg_now(struct fa_pg_target *target)
{
    return fa_clock_mono_us() + atomic_load(&target->clock_offset_us);
}
