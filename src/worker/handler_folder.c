/*
 * handler_folder.c - a scan compares the files with the last scan, by change time, size and inode.
 */
#include "worker/handler_folder.h"

#include "model/check.h"
#include "model/limits.h"
#include "worker/command/command.h"
#include "worker/command/environment.h"
#include "worker/folder_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SETTINGS_SIZE_MAX (64 * 1024)
#define ACCOUNT_SIZE_MAX (8 * 1024) /* a group with a longer record has more than one member */

struct entry {
    char *type, *path;
    struct fa_file_mark program, settings;
    struct fa_handler *handler; /* NULL: refused; a file that its settings name may change */
    char problem[640];          /* why it was refused, as it was logged */
    bool is_seen;
    struct entry *next;
};

struct fa_folder {
    struct fa_pool *pool;
    struct fa_event_loop *loop;
    struct fa_spawner *spawner;
    struct fa_folder_config config; /* texts in `arena` */
    struct fa_arena arena;
    struct entry *entries;
    struct fa_folder_watch watch;
    bool was_refused; /* D3 for the folder itself */
};

/* ------------------------------------------------------------------------------------------
 * Permissions (D1)
 */

/* Whether the owner is the group's only member, as most systems make a group for each user: it is
 * the user's group in /etc/passwd, has the same name, and no further members. */
static bool is_private_group(uid_t owner, gid_t gid)
{
    char user_text[ACCOUNT_SIZE_MAX], group_text[ACCOUNT_SIZE_MAX];
    struct passwd user, *found_user = NULL;
    struct group group, *found_group = NULL;

    return getpwuid_r(owner, &user, user_text, sizeof(user_text), &found_user) == 0 && found_user &&
           user.pw_gid == gid &&
           getgrgid_r(gid, &group, group_text, sizeof(group_text), &found_group) == 0 &&
           found_group && strcmp(group.gr_name, user.pw_name) == 0 && !group.gr_mem[0];
}

static bool can_others_write(const struct stat *st)
{
    return (st->st_mode & S_IWOTH) ||
           ((st->st_mode & S_IWGRP) && !is_private_group(st->st_uid, st->st_gid));
}

/* Whether a file in the folder would be refused as well. */
static bool has_open_files(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *item;
    struct stat st;
    bool has = false;

    while (dir && !has && (item = readdir(dir)) != NULL)
        has = fstatat(dirfd(dir), item->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) &&
              can_others_write(&st);
    if (dir)
        closedir(dir);
    return has;
}

enum faina_code fa_folder_check(const char *path, const struct stat *st, struct faina_error *err)
{
    const char *what = S_ISDIR(st->st_mode) ? "folder" : "file";

    /* A folder such as /tmp has these permissions on purpose: don't suggest a chmod. */
    if (can_others_write(st) && ((st->st_mode & S_ISVTX) || st->st_uid != geteuid()))
        return fa_error_set(err, FAINA_FORBIDDEN,
                            "the %s %.300s can be written to by others; use a folder that only its "
                            "owner can change",
                            what, path);
    if (can_others_write(st))
        return fa_error_set(err, FAINA_FORBIDDEN,
                            "the %s %.200s can be written to by others; run: chmod %sgo-w %.200s",
                            what, path, S_ISDIR(st->st_mode) && has_open_files(path) ? "-R " : "",
                            path);
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return fa_error_set(err, FAINA_FORBIDDEN,
                            "the %s %.300s belongs to another user (%ld), who could change it",
                            what, path, (long)st->st_uid);
    return FAINA_OK;
}

bool fa_folder_wants(const char *type, const char *const *types, size_t count)
{
    return !types || fa_names_have(&(struct fa_texts){types, count}, type);
}

/* ------------------------------------------------------------------------------------------
 * One handler
 */

/* Reads the file that sets variables once, so that a mistake is found before the first attempt. */
static enum faina_code check_environment(const char *path, struct fa_settings *settings,
                                         struct fa_arena *arena, struct faina_error *err)
{
    const char *slash = strrchr(path, '/');
    struct fa_arena scratch = {0};
    struct fa_environment environment;
    enum faina_code code;

    if (!settings->env_file)
        return FAINA_OK;
    if (settings->env_file[0] != '/' && slash)
        settings->env_file =
            fa_arena_printf(arena, "%.*s/%s", (int)(slash - path), path, settings->env_file);
    fa_environment_init(&environment, &scratch);
    code = fa_environment_add(&environment, settings, err);
    fa_arena_finish(&scratch);
    return code;
}

static enum faina_code load_settings(const char *path, const struct stat *st,
                                     const struct fa_texts *pass_env, struct fa_arena *arena,
                                     struct fa_settings *out, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    struct faina_error inner;
    struct fa_buf text;

    *out = (struct fa_settings){0};
    fa_error_clear(&inner);
    fa_buf_init(&text, SETTINGS_SIZE_MAX);
    if (st)
        code = fa_folder_check(path, st, &inner);
    if (st && code == FAINA_OK)
        code = fa_file_read(path, &text, &inner);
    if (st && code == FAINA_OK)
        code = fa_settings_read((struct fa_bytes){text.ptr, text.len}, arena, out, &inner);
    if (code == FAINA_OK)
        code = fa_settings_pass(out, arena, pass_env->items, pass_env->count, "passEnv", &inner);
    if (code == FAINA_OK)
        code = check_environment(path, out, arena, &inner);
    fa_buf_finish(&text);
    if (code != FAINA_OK)
        fa_error_set(err, code, "%.200s: %.300s", path, inner.message);
    return code;
}

enum faina_code fa_folder_settings(const char *path, const char *ending,
                                   const struct fa_texts *pass_env, struct fa_arena *arena,
                                   struct fa_settings *out, struct faina_error *err)
{
    const char *settings_path =
        fa_arena_printf(arena, "%.*s.json", (int)(strlen(path) - strlen(ending)), path);
    struct stat st;

    return load_settings(settings_path, stat(settings_path, &st) == 0 ? &st : NULL, pass_env, arena,
                         out, err);
}

static bool is_executable(const struct stat *st)
{
    return (st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
}

/* Makes the handler and puts it into the pool. */
static enum faina_code load(struct fa_folder *folder, struct entry *entry, const char *path,
                            const struct stat *program, const char *settings_path,
                            const struct stat *settings_stat, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_settings settings;
    struct fa_command_config config = {
        .type = entry->type,
        .path = path,
        .program = fa_file_mark_of(program),
        .folder = folder->config.path,
        .settings = &settings,
        .kill_after_ms = folder->config.kill_after_ms,
    };
    enum faina_code code =
        fa_check_name(entry->type, FA_TYPE_SIZE_MAX, "type", FAINA_INVALID_REQUEST, err);

    if (code == FAINA_OK && !is_executable(program))
        code =
            fa_error_set(err, FAINA_FORBIDDEN, "it is not executable; run: chmod +x %.300s", path);
    if (code == FAINA_OK)
        code = fa_folder_check(path, program, err);
    if (code == FAINA_OK)
        code = load_settings(settings_path, settings_stat, &folder->config.pass_env, &scratch,
                             &settings, err);
    if (code == FAINA_OK) {
        struct fa_handler *handler =
            settings.is_lines ? fa_lines_create(folder->config.lines, &config)
                              : fa_command_create(folder->loop, folder->spawner, &config);

        code = fa_pool_put(folder->pool, handler, err);
        entry->handler = code == FAINA_OK ? handler : NULL;
    }
    fa_arena_finish(&scratch);
    return code;
}

static void unload(struct fa_folder *folder, struct entry *entry)
{
    if (entry->handler)
        fa_pool_remove(folder->pool, entry->handler);
    entry->handler = NULL;
}

static struct entry *find_entry(struct fa_folder *folder, const char *type)
{
    struct entry *entry = folder->entries;

    while (entry && !fa_name_is_same(entry->type, type))
        entry = entry->next;
    if (entry)
        return entry;
    entry = fa_alloc_zero(1, sizeof(*entry));
    entry->type = strdup(type);
    entry->next = folder->entries;
    folder->entries = entry;
    return entry;
}

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), end = strlen(ending);

    return len >= end && strcmp(name + len - end, ending) == 0;
}

/* Settings, plugins, hidden files and editors' backup files are no commands. */
static bool is_command_name(const char *name)
{
    return name[0] != '.' && !ends_with(name, ".json") && !ends_with(name, ".so") &&
           !ends_with(name, "~");
}

/* A script that is not executable is reported; other files are ignored. */
static bool is_script(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char head[2];
    bool is =
        fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) && head[0] == '#' && head[1] == '!';

    if (fd >= 0)
        close(fd);
    return is;
}

/* The file `name` as the handler of `type`. False: it is none. */
static bool scan_file(struct fa_folder *folder, const char *name, const char *type)
{
    struct stat program, settings;
    struct fa_file_mark marks[2] = {{0}};
    char path[4096], settings_path[4096 + 8];
    struct faina_error err;
    struct entry *entry;
    bool has_settings;

    if (!is_command_name(name) ||
        !fa_folder_wants(type, folder->config.types, folder->config.type_count))
        return false;
    snprintf(path, sizeof(path), "%s/%s", folder->config.path, name);
    snprintf(settings_path, sizeof(settings_path), "%s/%s.json", folder->config.path, type);
    if (stat(path, &program) != 0 || !S_ISREG(program.st_mode) ||
        (!is_executable(&program) && !is_script(path)))
        return false;
    has_settings = stat(settings_path, &settings) == 0;
    marks[0] = fa_file_mark_of(&program);
    if (has_settings)
        marks[1] = fa_file_mark_of(&settings);
    entry = find_entry(folder, type);
    if (entry->is_seen)
        return true;
    entry->is_seen = true;
    if (fa_file_mark_is_same(&entry->program, &marks[0]) &&
        fa_file_mark_is_same(&entry->settings, &marks[1]) && strcmp(entry->path, path) == 0 &&
        entry->handler)
        return true;
    if (!entry->path || strcmp(entry->path, path) != 0 ||
        !fa_file_mark_is_same(&entry->program, &marks[0]))
        entry->problem[0] = '\0';
    entry->program = marks[0];
    entry->settings = marks[1];
    free(entry->path);
    entry->path = strdup(path);
    fa_error_clear(&err);
    if (load(folder, entry, path, &program, settings_path, has_settings ? &settings : NULL, &err) ==
        FAINA_OK) {
        entry->problem[0] = '\0';
        fa_report(&folder->config.log, FA_LOG_INFO, "handles %s by %s", type, path);
        return true;
    }
    unload(folder, entry);
    if (strcmp(entry->problem, err.message) != 0) /* D3 */
        fa_report(&folder->config.log, FA_LOG_ERROR, "%s is not used: %s", type, err.message);
    snprintf(entry->problem, sizeof(entry->problem), "%s", err.message);
    return true;
}

/* TYPE.EXT for a TYPE without a file of its own. */
static void scan_ending(struct fa_folder *folder, const struct fa_texts *names, const char *ending)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->items[i];
        struct fa_arena scratch = {0};

        if (ends_with(name, ending) && strlen(name) > strlen(ending))
            scan_file(folder, name, fa_arena_copy(&scratch, name, strlen(name) - strlen(ending)));
        fa_arena_finish(&scratch);
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ------------------------------------------------------------------------------------------
 * The folder
 */

static void drop_unseen(struct fa_folder *folder)
{
    for (struct entry **at = &folder->entries; *at;) {
        struct entry *entry = *at;

        if (entry->is_seen) {
            entry->is_seen = false;
            at = &entry->next;
            continue;
        }
        if (entry->handler)
            fa_report(&folder->config.log, FA_LOG_INFO, "no longer handles %s: its file is gone",
                      entry->type);
        unload(folder, entry);
        *at = entry->next;
        free(entry->type);
        free(entry->path);
        free(entry);
    }
}

enum faina_code fa_folder_open(const char *path, const char *what, enum faina_code missing,
                               DIR **out, struct faina_error *err)
{
    enum faina_code code;
    struct stat st;
    DIR *dir = opendir(path);

    if (!dir)
        return fa_error_set(err, errno == ENOENT ? missing : FAINA_UNAVAILABLE,
                            "the %s folder %.300s can't be read: %s", what, path, strerror(errno));
    code = fstat(dirfd(dir), &st) == 0
               ? fa_folder_check(path, &st, err)
               : fa_error_set(err, FAINA_UNAVAILABLE, "%.300s: %s", path, strerror(errno));
    if (code != FAINA_OK) {
        closedir(dir);
        return code;
    }
    *out = dir;
    return FAINA_OK;
}

static enum faina_code scan(struct fa_folder *folder, struct faina_error *err)
{
    static const char *const endings[] = {"", ".sh", ".py", ".js", ".mjs", ".rb", ".pl"};
    struct fa_arena scratch = {0};
    struct dirent *item;
    DIR *dir = NULL;
    const char **names = NULL;
    size_t count = 0, size = 0;
    enum faina_code code =
        fa_folder_open(folder->config.path, "handlers", FAINA_UNAVAILABLE, &dir, err);

    while (code == FAINA_OK && (item = readdir(dir)) != NULL) {
        names = fa_arena_grow(&scratch, names, count, &size, sizeof(*names));
        names[count++] = fa_arena_strdup(&scratch, item->d_name);
    }
    if (dir)
        closedir(dir);
    if (count > 0)
        qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < FA_COUNT(endings); i++)
        scan_ending(folder, &(struct fa_texts){names, count}, endings[i]);
    fa_arena_finish(&scratch);
    drop_unseen(folder);
    return code;
}

static void rescan(struct fa_folder_watch *watch)
{
    struct fa_folder *folder = FA_CONTAINER_OF(watch, struct fa_folder, watch);
    struct faina_error err;
    enum faina_code code;

    fa_error_clear(&err);
    code = scan(folder, &err);
    if (code == FAINA_FORBIDDEN && !folder->was_refused)
        fa_report(&folder->config.log, FA_LOG_ERROR, "no handler is used: %s", err.message);
    folder->was_refused = code == FAINA_FORBIDDEN;
}

enum faina_code fa_folder_create(struct fa_folder **out, struct fa_pool *pool,
                                 struct fa_event_loop *loop, struct fa_spawner *spawner,
                                 const struct fa_folder_config *config, struct faina_error *err)
{
    struct fa_folder *folder = fa_alloc_zero(1, sizeof(*folder));
    enum faina_code code;

    folder->pool = pool;
    folder->loop = loop;
    folder->spawner = spawner;
    folder->config = *config;
    folder->config.path = fa_absolute_path(config->path, &folder->arena);
    if (config->types)
        folder->config.types = fa_arena_strs(&folder->arena, config->types, config->type_count);
    folder->config.pass_env.items =
        fa_arena_strs(&folder->arena, config->pass_env.items, config->pass_env.count);
    fa_folder_watch_init(&folder->watch, loop, folder->config.path, rescan);
    code = scan(folder, err);
    if (code == FAINA_FORBIDDEN || (code != FAINA_OK && config->must_exist)) {
        fa_folder_destroy(folder);
        return code;
    }
    fa_folder_watch_begin(&folder->watch);
    *out = folder;
    return FAINA_OK;
}

void fa_folder_destroy(struct fa_folder *folder)
{
    struct entry *next;

    if (!folder)
        return;
    for (struct entry *entry = folder->entries; entry; entry = next) {
        next = entry->next;
        free(entry->type);
        free(entry->path);
        free(entry);
    }
    fa_folder_watch_finish(&folder->watch);
    fa_arena_finish(&folder->arena);
    free(folder);
}
