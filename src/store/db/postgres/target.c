/* target.c - see target.h. */
#include "store/db/postgres/target.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

/* Parsing the URL ------------------------------------------------------------------------ */

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

/* Whether a parameter is Faina's: then its value is kept, and libpq doesn't get it. */
static bool take_own(struct fa_pg_target *target, const char *name, size_t name_len,
                     const char *value)
{
    const struct {
        const char *name;
        const char **text;
    } own[] = {
        {"schema", &target->schema},
        {"pooled", &target->pooled},
        {"listen_host", &target->listen_host},
        {"listen_port", &target->listen_port},
    };

    for (size_t i = 0; i < FA_COUNT(own); i++) {
        if (strlen(own[i].name) != name_len || memcmp(own[i].name, name, name_len) != 0)
            continue;
        *own[i].text = value;
        return true;
    }
    return false;
}

/* The URL without Faina's own parameters. */
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

/* Parameters that are set unless the URL or libpq's environment variables set them. */
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
        /* Of several hosts, the primary: after a failover that is another one. */
        {"target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"},
    };

    for (size_t i = 0; i < FA_COUNT(defaults); i++) {
        if (get(target, defaults[i].keyword) == NULL &&
            (defaults[i].variable == NULL || getenv(defaults[i].variable) == NULL))
            add(target, defaults[i].keyword, defaults[i].value);
    }
}

struct setting {
    const char *name, *value;
};

/*
 * Settings of a session, which override those of the role and the database. The writer's statements
 * are written for one plan, which uses the index: statistics of an empty table, or an estimate of
 * the length of an array, must not change it. The same holds for the lists of the readers: a plan
 * that reads and sorts all tasks of a table that has grown since its last ANALYZE would hold a
 * reader for seconds. Statements that read whole tables undo that (fa_db.allows_slow).
 */
static const struct setting writer_settings[] = {
    {"synchronous_commit", "on"},
    {"statement_timeout", "30s"},
    {"lock_timeout", "10s"},
    {"idle_in_transaction_session_timeout", "5s"},
    {"idle_session_timeout", "0"},
    {"standard_conforming_strings", "on"},
    {"jit", "off"},
    {"plan_cache_mode", "force_generic_plan"},
    {"enable_seqscan", "off"},
    {"enable_hashjoin", "off"},
    {"enable_mergejoin", "off"},
    {"enable_material", "off"},
    {"enable_bitmapscan", "off"},
    {"enable_memoize", "off"},
    {NULL, NULL},
};
static const struct setting reader_settings[] = {
    {"statement_timeout", "60s"},
    {"lock_timeout", "10s"},
    {"idle_in_transaction_session_timeout", "30s"},
    {"idle_session_timeout", "0"},
    {"standard_conforming_strings", "on"},
    {"jit", "off"},
    {"enable_seqscan", "off"},
    {"enable_bitmapscan", "off"},
    {"enable_sort", "off"},
    {NULL, NULL},
};
static const struct setting notifier_settings[] = {
    {"synchronous_commit", "off"},
    {"statement_timeout", "10s"},
    {"lock_timeout", "10s"},
    {"idle_session_timeout", "0"},
    {"standard_conforming_strings", "on"},
    {"jit", "off"},
    {NULL, NULL},
};
static const struct setting *const settings[FA_PG_ROLE_COUNT] = {
    [FA_PG_WRITER] = writer_settings,
    [FA_PG_READER] = reader_settings,
    [FA_PG_NOTIFIER] = notifier_settings,
};

/* Adds an option of a connection, where a space in a value needs a backslash. */
static void add_option(struct fa_buf *out, const char *name, const char *value)
{
    fa_buf_printf(out, " -c %s=", name);
    for (; *value != '\0'; value++) {
        if (*value == ' ')
            fa_buf_add_char(out, '\\');
        fa_buf_add_char(out, *value);
    }
}

/* The role's settings, then the options of the URL or the environment, and last what these must not
 * override: the default isolation level and the schema. */
static const char *session_options(struct fa_pg_target *target, enum fa_pg_role role,
                                   struct fa_arena *arena)
{
    const char *given = get(target, "options");
    struct fa_buf options;
    const char *text;

    if (given == NULL)
        given = getenv("PGOPTIONS");
    fa_buf_init(&options, SIZE_MAX / 2);
    for (const struct setting *setting = settings[role]; setting->name != NULL; setting++)
        add_option(&options, setting->name, setting->value);
    fa_buf_printf(&options, " %s", given != NULL ? given : "");
    add_option(&options, "default_transaction_isolation", "read committed");
    add_option(&options, "search_path", fa_arena_printf(arena, "\"%s\"", target->schema));
    text = fa_arena_copy(arena, options.ptr, options.len);
    fa_buf_finish(&options);
    return text;
}

static const char *make_local_settings(struct fa_pg_target *target, enum fa_pg_role role)
{
    struct fa_buf out;
    const char *text;

    fa_buf_init(&out, SIZE_MAX / 2);
    fa_buf_add_str(&out, "SELECT set_config('search_path', '\"");
    for (const char *at = target->schema; *at != '\0'; at++)
        fa_buf_printf(&out, *at == '\'' ? "'%c" : "%c", *at);
    fa_buf_add_str(&out, "\"', true)");
    for (const struct setting *setting = settings[role]; setting->name != NULL; setting++)
        fa_buf_printf(&out, ", set_config('%s', '%s', true)", setting->name, setting->value);
    text = fa_arena_copy(&target->arena, out.ptr, out.len);
    fa_buf_finish(&out);
    return text;
}

/* Whether the name can be quoted in a search_path. */
static bool is_schema_name(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if ((unsigned char)name[i] < ' ' || strchr("\"\\,\x7f", name[i]) != NULL)
            return false;
    return len > 0 && len <= 63 && strncmp(name, "pg_", 3) != 0 && strcmp(name, "$user") != 0 &&
           fa_utf8_is_valid(fa_str(name));
}

/* Checks Faina's own parameters. */
static enum faina_code check_own(struct fa_pg_target *target, struct faina_error *err)
{
    static const char *const words[] = {"false", "0", "true", "1"};
    size_t word = 0;

    if (!is_schema_name(target->schema))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                              "\"%.100s\" can't be the name of the schema", target->schema);
    if (target->pooled == NULL)
        return FAINA_OK;
    while (word < FA_COUNT(words) && strcmp(target->pooled, words[word]) != 0)
        word++;
    if (word == FA_COUNT(words))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "url",
                              "pooled is \"%.40s\"; it must be true or false", target->pooled);
    target->is_pooled = word >= 2;
    return FAINA_OK;
}

enum faina_code fa_pg_target_parse(struct fa_pg_target *out, const char *url,
                                   struct faina_error *err)
{
    char *message = NULL, line[200];
    enum faina_code code;
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
    code = check_own(out, err);
    if (code != FAINA_OK) {
        fa_pg_target_finish(out);
        return code;
    }
    for (int role = 0; role < FA_PG_ROLE_COUNT; role++)
        out->local_settings[role] = make_local_settings(out, (enum fa_pg_role)role);
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

static void ignore_notice(void *ctx, const char *message)
{
    (void)ctx;
    (void)message;
}

bool fa_pg_is_direct(const struct fa_pg_target *target, enum fa_pg_role role)
{
    return !target->is_pooled ||
           (role == FA_PG_NOTIFIER && (target->listen_host != NULL || target->listen_port != NULL));
}

/* The parameters for libpq; NULL ends them. */
struct params {
    const char *keywords[FA_PG_PARAMS_MAX + 4], *values[FA_PG_PARAMS_MAX + 4];
    size_t count;
};

/* Sets or (NULL) removes a parameter, whatever the URL has for it. */
static void params_set(struct params *params, const char *keyword, const char *value)
{
    size_t kept = 0;

    for (size_t i = 0; i < params->count; i++) {
        if (strcmp(params->keywords[i], keyword) == 0)
            continue;
        params->keywords[kept] = params->keywords[i];
        params->values[kept++] = params->values[i];
    }
    if (value != NULL) {
        params->keywords[kept] = keyword;
        params->values[kept++] = value;
    }
    params->keywords[kept] = params->values[kept] = NULL;
    params->count = kept;
}

static void make_params(struct fa_pg_target *target, enum fa_pg_role role, struct params *out,
                        struct fa_arena *arena)
{
    memcpy(out->keywords, target->keywords, target->count * sizeof(*out->keywords));
    memcpy(out->values, target->values, target->count * sizeof(*out->values));
    out->count = target->count;
    params_set(out, "client_encoding", "UTF8");
    if (role == FA_PG_NOTIFIER && target->listen_host != NULL) {
        params_set(out, "hostaddr", NULL);
        params_set(out, "host", target->listen_host);
    }
    if (role == FA_PG_NOTIFIER && target->listen_port != NULL)
        params_set(out, "port", target->listen_port);
    if (fa_pg_is_direct(target, role))
        params_set(out, "options", session_options(target, role, arena));
}

/* Whether the server's version and encoding are supported. */
static enum faina_code check_server(PGconn *conn, struct faina_error *err)
{
    const char *encoding = PQparameterStatus(conn, "server_encoding");

    if (PQserverVersion(conn) < 140000)
        return fa_error_set(err, FAINA_NOT_SUPPORTED,
                            "PostgreSQL 14 or newer is needed; this is %s",
                            PQparameterStatus(conn, "server_version"));
    if (encoding != NULL && strcmp(encoding, "UTF8") != 0)
        return fa_error_set(
            err, FAINA_NOT_SUPPORTED,
            "the database %s has the encoding %s, which can't hold every text: make "
            "one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0",
            PQdb(conn), encoding);
    return FAINA_OK;
}

enum faina_code fa_pg_connect(struct fa_pg_target *target, enum fa_pg_role role, PGconn **out,
                              struct faina_error *err)
{
    struct fa_arena scratch = {0};
    enum faina_code code = FAINA_OK;
    struct params params;
    PGconn *conn;
    char line[300];

    make_params(target, role, &params, &scratch);
    conn = PQconnectdbParams(params.keywords, params.values, 0);
    fa_arena_finish(&scratch);
    if (PQstatus(conn) != CONNECTION_OK)
        code = fa_error_set(err, FAINA_UNAVAILABLE, "the database can't be reached: %s",
                            fa_pg_message(PQerrorMessage(conn), line, sizeof(line)));
    else
        code = check_server(conn, err);
    if (code != FAINA_OK) {
        PQfinish(conn);
        return code;
    }
    PQsetNoticeProcessor(conn, ignore_notice, NULL);
    *out = conn;
    return FAINA_OK;
}

/* Results ------------------------------------------------------------------------------------- */

#define FORCED_MS 2000
#define CHECK_MS 250 /* how often `is_forced` is read */

/* False: the time is over, or the connection is lost. */
static bool await_input(PGconn *conn, int64_t until_us)
{
    struct pollfd wait = {.fd = PQsocket(conn), .events = POLLIN};
    int64_t left_ms = (until_us - fa_clock_mono_us()) / 1000;

    if (left_ms <= 0)
        return false;
    if (poll(&wait, 1, left_ms < CHECK_MS ? (int)left_ms : CHECK_MS) > 0)
        return PQconsumeInput(conn);
    return true;
}

PGresult *fa_pg_receive(PGconn *conn, int is_sent, int ms, const atomic_bool *is_forced)
{
    int64_t began_us = fa_clock_mono_us();
    PGresult *last = NULL, *result;

    if (!is_sent)
        return NULL;
    do {
        while (PQisBusy(conn)) {
            int wait_ms =
                is_forced != NULL && atomic_load(is_forced) && ms > FORCED_MS ? FORCED_MS : ms;

            if (!await_input(conn, began_us + wait_ms * INT64_C(1000))) {
                shutdown(PQsocket(conn), SHUT_RDWR);
                break; /* PQgetResult fails at once */
            }
        }
        result = PQgetResult(conn);
        if (result != NULL) {
            PQclear(last);
            last = result;
        }
    } while (result != NULL);
    return last;
}

/* The clock ----------------------------------------------------------------------------------- */

#define CLOCK_MS 5000       /* time limit of one sample */
#define CLOCK_SAMPLES 10    /* at most */
#define CLOCK_SLACK_US 2000 /* a slower sample is less exact than the current offset */

void fa_pg_set_clock(struct fa_pg_target *target, int64_t before, int64_t server_us)
{
    int64_t after = fa_clock_boot_us(), offset = server_us - (before + after) / 2;
    int64_t change = offset - atomic_load(&target->clock_offset_us), doubt = (after - before) / 2;

    if (after - before < CLOCK_SLACK_US || change > doubt || -change > doubt)
        atomic_store(&target->clock_offset_us, offset);
}

void fa_pg_read_clock(struct fa_pg_target *target, PGconn *conn)
{
    for (int i = 0; i < CLOCK_SAMPLES; i++) {
        int64_t before = fa_clock_boot_us(), took;
        PGresult *result = fa_pg_receive(
            conn,
            PQsendQuery(conn, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"),
            CLOCK_MS, NULL);

        took = fa_clock_boot_us() - before;
        if (PQresultStatus(result) == PGRES_TUPLES_OK)
            fa_pg_set_clock(target, before, atoll(PQgetvalue(result, 0, 0)));
        PQclear(result);
        if (took < CLOCK_SLACK_US)
            break;
    }
}

int64_t fa_pg_now(struct fa_pg_target *target)
{
    return fa_clock_boot_us() + atomic_load(&target->clock_offset_us);
}
