/* environment.c - see environment.h. */
#include "worker/command/environment.h"

#include "worker/folder_watch.h"
#include "worker/handler_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_SIZE_MAX (256 * 1024)
#define SIZE_FIRST 32

void fa_environment_set(struct fa_environment *environment, const char *entry)
{
    size_t len = strcspn(entry, "="), at = 0;

    while (at < environment->count &&
           (strncmp(environment->items[at], entry, len) != 0 || environment->items[at][len] != '='))
        at++;
    if (at == environment->count) {
        environment->items =
            fa_arena_grow(environment->arena, environment->items, environment->count + 1,
                          &environment->size, sizeof(*environment->items));
        environment->items[++environment->count] = NULL;
    }
    environment->items[at] = entry;
}

void fa_environment_init(struct fa_environment *environment, struct fa_arena *arena)
{
    static const char *const names[] = {"PATH", "HOME", "LANG", "TZ", "TMPDIR"};

    *environment = (struct fa_environment){.arena = arena, .size = SIZE_FIRST};
    environment->items = fa_arena_zero(arena, SIZE_FIRST, sizeof(*environment->items));
    fa_environment_set(environment, "PATH=/usr/local/bin:/usr/bin:/bin");
    for (size_t i = 0; i < FA_COUNT(names); i++)
        if (getenv(names[i]))
            fa_environment_set(environment,
                               fa_arena_printf(arena, "%s=%s", names[i], getenv(names[i])));
}

/* `pattern` is NAME or PREFIX*. */
static bool is_matched(const char *entry, const char *pattern)
{
    size_t len = strlen(pattern);

    if (len > 0 && pattern[len - 1] == '*')
        return strncmp(entry, pattern, len - 1) == 0;
    return strncmp(entry, pattern, len) == 0 && entry[len] == '=';
}

static void pass(struct fa_environment *environment, const struct fa_settings *settings)
{
    for (char **entry = environ; *entry; entry++)
        for (size_t i = 0; i < settings->pass_env_count; i++)
            if (is_matched(*entry, settings->pass_env[i])) {
                fa_environment_set(environment, fa_arena_strdup(environment->arena, *entry));
                break;
            }
}

/* ------------------------------------------------------------------------------------------
 * The file
 */

static struct fa_bytes trim(struct fa_bytes text)
{
    while (text.len > 0 && strchr(" \t\r", text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && strchr(" \t\r", text.ptr[text.len - 1]))
        text.len--;
    return text;
}

/* NAME=value, NAME="value", NAME='value', after `export ` or not. Empty lines and those that begin
 * with # are skipped. */
static bool read_line(struct fa_environment *environment, struct fa_bytes line)
{
    static const char export[] = "export ";
    struct fa_bytes value;
    const char *equal, *name;

    line = trim(line);
    if (line.len == 0 || line.ptr[0] == '#')
        return true;
    if (line.len > strlen(export) && memcmp(line.ptr, export, strlen(export)) == 0)
        line = trim((struct fa_bytes){line.ptr + strlen(export), line.len - strlen(export)});
    equal = memchr(line.ptr, '=', line.len);
    if (!equal || memchr(line.ptr, '\0', line.len))
        return false;
    name = fa_arena_copy(environment->arena, line.ptr, (size_t)(equal - line.ptr));
    if (!fa_settings_is_env_name(name))
        return false;
    value = trim((struct fa_bytes){equal + 1, line.len - strlen(name) - 1});
    if (value.len > 0 && (value.ptr[0] == '"' || value.ptr[0] == '\'')) {
        if (value.len < 2 || value.ptr[value.len - 1] != value.ptr[0])
            return false;
        value = (struct fa_bytes){value.ptr + 1, value.len - 2};
    }
    fa_environment_set(environment, fa_arena_printf(environment->arena, "%s=%.*s", name,
                                                    (int)value.len, value.ptr));
    return true;
}

static enum faina_code read_file(struct fa_environment *environment, const char *path,
                                 struct fa_buf *text, struct faina_error *err)
{
    struct stat st;
    size_t number = 1;
    enum faina_code code;

    if (stat(path, &st) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "the envFile %.300s can't be read: %s", path,
                            strerror(errno));
    code = fa_folder_check(path, &st, err);
    if (code == FAINA_OK)
        code = fa_file_read(path, text, err);
    for (size_t at = 0; code == FAINA_OK && at < text->len; number++) {
        const char *begin = text->ptr + at, *end = memchr(begin, '\n', text->len - at);
        size_t len = end ? (size_t)(end - begin) : text->len - at;

        at += len + 1;
        if (!read_line(environment, (struct fa_bytes){begin, len})) /* N2 */
            code = fa_error_set(err, FAINA_INVALID_REQUEST,
                                "line %zu of the envFile %.300s is not NAME=value, with a name of "
                                "letters, digits and _ that doesn't begin with FAINA_",
                                number, path);
    }
    return code;
}

enum faina_code fa_environment_add(struct fa_environment *environment,
                                   const struct fa_settings *settings, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    struct fa_buf text;

    pass(environment, settings);
    if (settings->env_file) {
        fa_buf_init(&text, FILE_SIZE_MAX);
        code = read_file(environment, settings->env_file, &text, err);
        if (text.ptr)
            explicit_bzero(text.ptr, text.len);
        fa_buf_finish(&text);
    }
    for (size_t i = 0; code == FAINA_OK && i < settings->env_count; i++)
        fa_environment_set(environment, settings->env[i]);
    return code;
}
