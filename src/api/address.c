/* address.c - see address.h. */
#include "api/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const char *environment(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* ------------------------------------------------------------------------------------------
 * One variable
 */

static enum faina_code refuse_file(const char *variable, const char *path, const char *why,
                                   struct faina_error *err)
{
    return fa_error_field(err, FAINA_INVALID_REQUEST, variable, "%s names the file %.200s, %s",
                          variable, path, why);
}

static ssize_t read_all(int fd, char *out, size_t size)
{
    size_t used = 0;
    ssize_t n = 1;

    while (n > 0 && used < size) {
        n = read(fd, out + used, size - used);
        if (n < 0)
            return -1;
        used += (size_t)n;
    }
    return (ssize_t)used;
}

static enum faina_code read_file(const char *variable, const char *path, struct fa_arena *arena,
                                 const char **out, struct faina_error *err)
{
    char *text = fa_arena_take(arena, FA_VARIABLE_FILE_SIZE_MAX + 2);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = -1;

    if (fd >= 0) {
        len = read_all(fd, text, FA_VARIABLE_FILE_SIZE_MAX + 1);
        close(fd);
    }
    if (len < 0)
        return refuse_file(variable, path,
                           fa_arena_printf(arena, "which can't be read: %s", strerror(errno)), err);
    if (len > FA_VARIABLE_FILE_SIZE_MAX)
        return refuse_file(variable, path, "which is too large for this", err);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    text[len] = '\0';
    if (memchr(text, '\0', (size_t)len) != NULL)
        return refuse_file(variable, path, "which holds more than text", err);
    *out = len > 0 ? text : NULL;
    return FAINA_OK;
}

enum faina_code fa_variable_read(const char *name, struct fa_arena *arena, const char **out,
                                 struct faina_error *err)
{
    const char *variable, *path;

    *out = environment(name);
    if (*out != NULL)
        return FAINA_OK;
    variable = fa_arena_printf(arena, "%s_FILE", name);
    path = environment(variable);
    return path != NULL ? read_file(variable, path, arena, out, err) : FAINA_OK;
}

/* ------------------------------------------------------------------------------------------
 * The URL
 */

bool fa_address_is_postgres(const char *url)
{
    return strncmp(url, "postgres://", strlen("postgres://")) == 0 ||
           strncmp(url, "postgresql://", strlen("postgresql://")) == 0;
}

/* Adds a parameter to a URL; what is not plain is percent-encoded. */
static void add_parameter(struct fa_buf *url, const char *name, const char *value)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    bool is_first = url->ptr == NULL || strchr(url->ptr, '?') == NULL;

    if (value == NULL)
        return;
    fa_buf_printf(url, "%c%s=", is_first ? '?' : '&', name);
    for (const char *at = value; *at != '\0'; at++) {
        if (strchr(plain, *at) != NULL)
            fa_buf_add_char(url, *at);
        else
            fa_buf_printf(url, "%%%02X", (unsigned)(unsigned char)*at);
    }
}

static const char *finish(struct fa_buf *url, struct fa_arena *arena)
{
    const char *text = fa_arena_copy(arena, url->ptr, url->len);

    fa_buf_finish(url);
    return text;
}

/* The value of NAME, else of API_PG_NAME. */
static enum faina_code read_either(const char *name, struct fa_arena *arena, const char **value,
                                   const char **variable, struct faina_error *err)
{
    enum faina_code code = fa_variable_read(name, arena, value, err);

    *variable = name;
    if (code != FAINA_OK || *value != NULL)
        return code;
    *variable = fa_arena_printf(arena, "API_PG_%s", name);
    return fa_variable_read(*variable, arena, value, err);
}

/* The URL that the variables make; NULL when they name neither a host nor a database. */
static enum faina_code from_variables(struct fa_arena *arena, struct fa_address *out,
                                      struct faina_error *err)
{
    /* Everything as a parameter: a socket's folder, several hosts, odd names, all look alike. */
    static const struct {
        const char *variable, *parameter;
    } parts[] = {
        {"DB_HOST", "host"}, {"DB_NAME", "dbname"},       {"DB_PORT", "port"},
        {"DB_USER", "user"}, {"DB_PASSWORD", "password"}, {"DB_SCHEMA", "schema"},
    };
    const char *values[FA_COUNT(parts)], *variables[FA_COUNT(parts)];
    enum faina_code code = FAINA_OK;
    struct fa_buf url;

    for (size_t i = 0; code == FAINA_OK && i < FA_COUNT(parts); i++)
        code = read_either(parts[i].variable, arena, &values[i], &variables[i], err);
    if (code != FAINA_OK || (values[0] == NULL && values[1] == NULL))
        return code;
    fa_buf_init(&url, SIZE_MAX / 2);
    fa_buf_add_str(&url, "postgres:///");
    for (size_t i = 0; i < FA_COUNT(parts); i++)
        add_parameter(&url, parts[i].parameter, values[i]);
    out->url = finish(&url, arena);
    out->source = values[0] != NULL ? variables[0] : variables[1];
    return FAINA_OK;
}

static bool names_schema(const char *url)
{
    return strstr(url, "?schema=") != NULL || strstr(url, "&schema=") != NULL;
}

/* Puts DB_SCHEMA into the URL of a PostgreSQL store: of two schemas the last one counts. */
static enum faina_code set_schema(const char **url, struct fa_arena *arena, struct faina_error *err)
{
    const char *schema = NULL;
    enum faina_code code = FAINA_OK;
    struct fa_buf with;

    if (fa_address_is_postgres(*url))
        code = fa_variable_read("DB_SCHEMA", arena, &schema, err);
    if (schema == NULL)
        return code;
    fa_buf_init(&with, SIZE_MAX / 2);
    fa_buf_add_str(&with, *url);
    add_parameter(&with, "schema", schema);
    *url = finish(&with, arena);
    return FAINA_OK;
}

/* A URL in one variable. */
static enum faina_code from_url(const char *name, struct fa_arena *arena, struct fa_address *out,
                                struct faina_error *err)
{
    out->source = name;
    return fa_variable_read(name, arena, &out->url, err);
}

enum faina_code fa_address_read(const char *given, struct fa_arena *arena, struct fa_address *out,
                                struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    *out = (struct fa_address){given, "--url"};
    if (out->url == NULL)
        code = from_url("FAINA_URL", arena, out, err);
    if (code == FAINA_OK && out->url == NULL) {
        code = from_url("DATABASE_URL", arena, out, err);
        if (out->url != NULL && !fa_address_is_postgres(out->url))
            out->url = NULL; /* another program's */
    }
    if (code == FAINA_OK && out->url != NULL)
        return set_schema(&out->url, arena, err);
    if (code == FAINA_OK)
        code = from_variables(arena, out, err);
    if (code == FAINA_OK && out->url == NULL)
        *out = (struct fa_address){"sqlite:faina.db", "the default"};
    return code;
}

enum faina_code fa_address_find(const char *given, struct fa_arena *arena, const char **out,
                                struct faina_error *err)
{
    struct fa_address address;
    enum faina_code code = fa_address_read(given, arena, &address, err);

    if (code == FAINA_OK)
        *out = address.url;
    return code;
}

enum faina_code fa_address_complete(const char *url, struct fa_arena *arena, const char **out,
                                    struct faina_error *err)
{
    enum faina_code code = FAINA_OK;

    if (!names_schema(url))
        code = set_schema(&url, arena, err);
    if (code == FAINA_OK)
        *out = url;
    return code;
}
