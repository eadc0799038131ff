/*
 * type_settings.c - reads TYPE.json by two tables: its members, and its limits.
 *
 * The members that a submit has too (maxAttempts, resources, retry) are read by the same code.
 */
#include "worker/type_settings.h"

#include "json/json.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/times.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>

#define BYTES_MAX ((int64_t)1 << 50)
#define COUNT_MAX 1000000

struct reader {
    struct fa_arena *arena;
    struct fa_settings *out;
    struct faina_error *err;
};

typedef enum faina_code read_fn(struct reader *r, const char *name, struct fa_json value,
                                void *out);

static enum faina_code refuse(struct reader *r, const char *name, const char *what)
{
    return fa_error_field(r->err, FAINA_INVALID_REQUEST, name, "%s must be %s", name, what);
}

static enum faina_code read_count(struct reader *r, const char *name, struct fa_json value,
                                  void *out)
{
    int64_t number;

    if (value.type != FA_JSON_NUMBER || !fa_json_int(value, &number) || number < 1 ||
        number > COUNT_MAX)
        return refuse(r, name, "a whole number from 1 to 1000000");
    *(int64_t *)out = number;
    return FAINA_OK;
}

static enum faina_code read_duration(struct reader *r, const char *name, struct fa_json value,
                                     void *out)
{
    enum faina_code code;

    if (value.type != FA_JSON_STRING && value.type != FA_JSON_NUMBER)
        return refuse(r, name, "a duration such as \"90s\", or a number of seconds");
    code = fa_duration_parse(value.type == FA_JSON_STRING
                                 ? fa_json_text(value, r->arena)
                                 : fa_arena_copy(r->arena, value.raw.ptr, value.raw.len),
                             name, out, r->err);
    if (code == FAINA_OK && *(int64_t *)out <= 0)
        return refuse(r, name, "longer than 0");
    return code;
}

static enum faina_code read_seconds(struct reader *r, const char *name, struct fa_json value,
                                    void *out)
{
    int64_t ms = 0;
    enum faina_code code = read_duration(r, name, value, &ms);

    *(int64_t *)out = (ms + 999) / 1000;
    return code;
}

/* "512MiB", "64KiB", "2GiB", or a number of bytes. */
static enum faina_code read_bytes(struct reader *r, const char *name, struct fa_json value,
                                  void *out)
{
    static const struct {
        const char *unit;
        int shift;
    } units[] = {{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
    const char *text = NULL;
    long long number;
    char *end;

    if (value.type == FA_JSON_STRING)
        text = fa_json_text(value, r->arena);
    else if (value.type == FA_JSON_NUMBER)
        text = fa_arena_copy(r->arena, value.raw.ptr, value.raw.len);
    if (!text || text[0] < '0' || text[0] > '9')
        return refuse(r, name, "a size such as \"512MiB\", or a number of bytes");
    number = strtoll(text, &end, 10);
    for (size_t i = 0; i < FA_COUNT(units); i++) {
        if (strcmp(end, units[i].unit) != 0)
            continue;
        if (number < 1 || number > BYTES_MAX >> units[i].shift)
            return refuse(r, name, "a size from 1 byte to 1024 TiB");
        *(int64_t *)out = (int64_t)number << units[i].shift;
        return FAINA_OK;
    }
    return refuse(r, name, "a size such as \"512MiB\", or a number of bytes");
}

static enum faina_code unknown(struct reader *r, const char *where, const char *key,
                               const char *const *names)
{
    const char *nearest = fa_wire_nearest(key, names);

    return fa_error_field(r->err, FAINA_INVALID_REQUEST, where, "unknown setting \"%.100s\"%s%s%s",
                          key, nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                          nearest ? "\"?" : "");
}

/* ------------------------------------------------------------------------------------------
 * The members
 */

static enum faina_code read_limits(struct reader *r, const char *name, struct fa_json value,
                                   void *out)
{
    static const struct {
        const char *name, *full_name;
        read_fn *read;
        size_t offset;
    } limits[] = {
        {"memory", "limits.memory", read_bytes, offsetof(struct fa_limits, memory_bytes)},
        {"cpu", "limits.cpu", read_seconds, offsetof(struct fa_limits, cpu_s)},
        {"files", "limits.files", read_count, offsetof(struct fa_limits, files)},
        {"fileSize", "limits.fileSize", read_bytes, offsetof(struct fa_limits, file_bytes)},
        {"processes", "limits.processes", read_count, offsetof(struct fa_limits, processes)},
    };
    const char *names[FA_COUNT(limits) + 1] = {NULL};
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json member;

    if (value.type != FA_JSON_OBJECT)
        return refuse(r, name, "an object such as {\"memory\":\"512MiB\"}");
    for (size_t i = 0; i < FA_COUNT(limits); i++)
        names[i] = limits[i].name;
    for (it = fa_json_iter(value); fa_json_next(&it, &key, &member);) {
        const char *text = fa_json_unescape(key, r->arena);
        enum faina_code code;
        size_t i = 0;

        while (i < FA_COUNT(limits) && strcmp(text, limits[i].name) != 0)
            i++;
        if (i == FA_COUNT(limits))
            return unknown(r, name, text, names);
        code = limits[i].read(r, limits[i].full_name, member, (char *)out + limits[i].offset);
        if (code != FAINA_OK)
            return code;
    }
    return FAINA_OK;
}

bool fa_settings_is_env_name(const char *name)
{
    if (name[0] == '\0' || strncmp(name, "FAINA_", strlen("FAINA_")) == 0)
        return false;
    for (; *name; name++)
        if (!(*name == '_' || (*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z') ||
              (*name >= '0' && *name <= '9')))
            return false;
    return true;
}

static enum faina_code read_env(struct reader *r, const char *name, struct fa_json value, void *out)
{
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json member;
    const char **env;
    size_t count = 0;

    (void)out;
    if (value.type != FA_JSON_OBJECT)
        return refuse(r, name, "an object such as {\"LANG\":\"C.UTF-8\"}");
    env = fa_arena_zero(r->arena, fa_json_count(value) + 1, sizeof(char *));
    for (it = fa_json_iter(value); fa_json_next(&it, &key, &member);) {
        const char *text = fa_json_unescape(key, r->arena);

        if (!fa_settings_is_env_name(text))
            return refuse(r, name, "names of letters, digits and _, none of them FAINA_...");
        if (member.type != FA_JSON_STRING)
            return refuse(r, name, "an object whose values are strings");
        env[count++] = fa_arena_printf(r->arena, "%s=%s", text, fa_json_text(member, r->arena));
    }
    r->out->env = env;
    r->out->env_count = count;
    return FAINA_OK;
}

static enum faina_code read_env_file(struct reader *r, const char *name, struct fa_json value,
                                     void *out)
{
    const char *path = value.type == FA_JSON_STRING ? fa_json_text(value, r->arena) : "";

    if (!path[0])
        return refuse(r, name, "a path, absolute or relative to the handlers folder");
    *(const char **)out = path;
    return FAINA_OK;
}

/* NAME, or PREFIX* */
static bool is_env_pattern(const char *text, struct fa_arena *arena)
{
    size_t len = strlen(text);
    const char *name = fa_arena_copy(arena, text, len > 0 && text[len - 1] == '*' ? len - 1 : len);

    for (const char *at = name; *at; at++)
        if (*at == '=' || *at == '*' || (unsigned char)*at <= ' ')
            return false;
    return name[0] != '\0';
}

enum faina_code fa_settings_pass(struct fa_settings *settings, struct fa_arena *arena,
                                 const char *const *names, size_t count, const char *name,
                                 struct faina_error *err)
{
    size_t has = settings->pass_env_count;
    const char **all = fa_arena_zero(arena, has + count + 1, sizeof(*all));

    for (size_t i = 0; i < has; i++)
        all[i] = settings->pass_env[i];
    for (size_t i = 0; i < count; i++) {
        if (!is_env_pattern(names[i], arena))
            return fa_error_field(err, FAINA_INVALID_REQUEST, name,
                                  "%s must be names of variables, or beginnings of names such as "
                                  "\"AWS_*\"",
                                  name);
        all[has + i] = fa_arena_strdup(arena, names[i]);
    }
    settings->pass_env = all;
    settings->pass_env_count = has + count;
    return FAINA_OK;
}

static enum faina_code read_pass_env(struct reader *r, const char *name, struct fa_json value,
                                     void *out)
{
    struct fa_json_iter it;
    struct fa_json item;
    const char **names;
    size_t count = 0;

    (void)out;
    if (value.type != FA_JSON_ARRAY)
        return refuse(r, name, "a list of names such as [\"API_KEY\",\"AWS_*\"]");
    names = fa_arena_zero(r->arena, fa_json_count(value) + 1, sizeof(*names));
    for (it = fa_json_iter(value); fa_json_next(&it, NULL, &item);) {
        if (item.type != FA_JSON_STRING)
            return refuse(r, name, "a list of strings");
        names[count++] = fa_json_text(item, r->arena);
    }
    return fa_settings_pass(r->out, r->arena, names, count, name, r->err);
}

static enum faina_code read_mode(struct reader *r, const char *name, struct fa_json value,
                                 void *out)
{
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, r->arena) : "";
    bool is_lines = strcmp(text, "lines") == 0;

    if (!is_lines && strcmp(text, "task") != 0)
        return refuse(r, name, "\"task\" (a process for each attempt) or \"lines\"");
    *(bool *)out = is_lines;
    return FAINA_OK;
}

static enum faina_code read_processes(struct reader *r, const char *name, struct fa_json value,
                                      void *out)
{
    int64_t number = 0;

    if (read_count(r, name, value, &number) != FAINA_OK || number > FA_SETTINGS_PROCESSES_MAX)
        return refuse(r, name, "a whole number from 1 to 1000");
    *(int *)out = (int)number;
    return FAINA_OK;
}

/* maxAttempts, retry and resources, as in a submit. */
static enum faina_code read_as_task(struct reader *r, const char *name, struct fa_json value,
                                    void *out)
{
    const char *json = fa_arena_printf(r->arena, "{\"type\":\"x\",\"%s\":%.*s}", name,
                                       (int)value.raw.len, value.raw.ptr);
    struct faina_submit submit;
    enum faina_code code = fa_wire_read_submit(fa_str(json), r->arena, &submit, r->err);

    (void)out;
    if (code == FAINA_OK)
        code = fa_check_submit(&submit, FA_INPUT_SIZE_DEFAULT, r->err);
    if (code != FAINA_OK)
        return code;
    if (submit.max_attempts != 0)
        r->out->max_attempts = submit.max_attempts;
    if (strcmp(name, "retry") == 0)
        r->out->retry = submit.retry;
    if (submit.resource_count > 0) {
        r->out->resources = submit.resources;
        r->out->resource_count = submit.resource_count;
    }
    return FAINA_OK;
}

static enum faina_code read_concurrency(struct reader *r, const char *name, struct fa_json value,
                                        void *out)
{
    int64_t number = 0;
    enum faina_code code = read_count(r, name, value, &number);

    (void)out;
    r->out->concurrency = (int)number;
    return code;
}

static enum faina_code read_dependencies(struct reader *r, const char *name, struct fa_json value,
                                         void *out)
{
    const char *text = value.type == FA_JSON_STRING ? fa_json_text(value, r->arena) : "";
    bool is_ended = strcmp(text, "ended") == 0;

    if (!is_ended && strcmp(text, "completed") != 0)
        return refuse(r, name, "\"completed\" or \"ended\"");
    *(bool *)out = is_ended;
    return FAINA_OK;
}

static const struct {
    const char *name;
    read_fn *read;
    size_t offset;
} members[] = {
    {"timeout", read_duration, offsetof(struct fa_settings, timeout_ms)},
    {"concurrency", read_concurrency, 0},
    {"maxAttempts", read_as_task, 0},
    {"maxRetries", read_as_task, 0},
    {"retry", read_as_task, 0},
    {"resources", read_as_task, 0},
    {"limits", read_limits, offsetof(struct fa_settings, limits)},
    {"env", read_env, 0},
    {"envFile", read_env_file, offsetof(struct fa_settings, env_file)},
    {"passEnv", read_pass_env, 0},
    {"mode", read_mode, offsetof(struct fa_settings, is_lines)},
    {"processes", read_processes, offsetof(struct fa_settings, processes)},
    {"dependencies", read_dependencies, offsetof(struct fa_settings, takes_bad_ends)},
};

static enum faina_code read_member(struct reader *r, const char *key, struct fa_json value)
{
    const char *names[FA_COUNT(members) + 1] = {NULL};

    for (size_t i = 0; i < FA_COUNT(members); i++) {
        names[i] = members[i].name;
        if (strcmp(key, members[i].name) == 0)
            return value.type == FA_JSON_NULL ? FAINA_OK
                                              : members[i].read(r, members[i].name, value,
                                                                (char *)r->out + members[i].offset);
    }
    return unknown(r, "", key, names);
}

enum faina_code fa_settings_read(struct fa_bytes text, struct fa_arena *arena,
                                 struct fa_settings *out, struct faina_error *err)
{
    struct fa_settings settings = {0};
    struct reader r = {.arena = arena, .out = &settings, .err = err};
    enum faina_code code;
    struct fa_json_iter it;
    struct fa_bytes key;
    struct fa_json value;

    code = fa_json_check(text, FA_JSON_DEPTH_MAX, "settings", FAINA_INVALID_REQUEST, err);
    if (code != FAINA_OK)
        return code;
    value = fa_json_value(text);
    if (value.type != FA_JSON_OBJECT)
        return fa_error_set(err, FAINA_INVALID_REQUEST,
                            "the settings must be a JSON object such as {\"timeout\":\"5m\"}");
    for (it = fa_json_iter(value); code == FAINA_OK && fa_json_next(&it, &key, &value);)
        code = read_member(&r, fa_json_unescape(key, arena), value);
    if (code == FAINA_OK && settings.processes > 0 && !settings.is_lines)
        code = fa_error_field(err, FAINA_INVALID_REQUEST, "processes",
                              "processes is for \"mode\":\"lines\"");
    if (code == FAINA_OK)
        *out = settings;
    return code;
}

void fa_settings_own(struct fa_settings *settings, struct fa_arena *arena)
{
    settings->env = fa_arena_strs(arena, settings->env, settings->env_count);
    settings->env_file = fa_arena_strdup(arena, settings->env_file);
    settings->pass_env = fa_arena_strs(arena, settings->pass_env, settings->pass_env_count);
}

struct faina_submit fa_settings_submit(struct fa_arena *arena, const struct fa_settings *settings)
{
    return (struct faina_submit){
        .max_attempts = settings->max_attempts,
        .retry = settings->retry,
        .resources = fa_arena_strs(arena, settings->resources, settings->resource_count),
        .resource_count = settings->resource_count,
    };
}
