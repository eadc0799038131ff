/*
 * folder.c - a scan compares what is there with what was: by the times, sizes and numbers of the
 * files. inotify only says that it is time for a scan, so nothing is missed when events are lost.
 */
#include "runtime/folder.h"

#include "base/clock.h"
#include "model/check.h"
#include "model/limits.h"
#include "runtime/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#define SETTINGS_SIZE_MAX (64 * 1024)
#define SETTLE_US 50000   /* events come in groups */
#define ABSENT_US 2000000 /* how often to look for a folder that isn't there */
#define EVENTS                                                                                     \
    (IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB |            \
     IN_DELETE_SELF | IN_MOVE_SELF)

/* What tells a file from its other versions. */
struct mark {
    ino_t inode;
    off_t size;
    struct timespec changed;
};

struct entry {
    char *type;
    struct mark program, settings;
    struct fa_handler *handler; /* NULL: refused */
    bool is_seen;
    struct entry *next;
};

struct fa_folder {
    struct fa_pool *pool;
    struct fa_loop *loop;
    struct fa_spawner *spawner;
    struct fa_folder_config config; /* texts in `arena` */
    struct fa_arena arena;
    struct entry *entries;
    struct fa_watch inotify; /* fd -1: none */
    struct fa_timer timer;
    struct fa_post begin;
    bool was_refused; /* D3 for the folder itself */
};

/* ------------------------------------------------------------------------------------------
 * Who may change it
 */

enum faina_code fa_folder_check(const char *path, const struct stat *st, struct faina_error *err)
{
    const char *what = S_ISDIR(st->st_mode) ? "folder" : "file";

    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return fa_error_set(err, FAINA_FORBIDDEN,
                            "the %s %.300s can be written to by others; run: chmod go-w %.100s",
                            what, path, path);
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return fa_error_set(err, FAINA_FORBIDDEN,
                            "the %s %.300s belongs to another user (%ld), who could change it",
                            what, path, (long)st->st_uid);
    return FAINA_OK;
}

bool fa_folder_wants(const char *type, const char *const *types, size_t count)
{
    if (!types)
        return true;
    for (size_t i = 0; i < count; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

/* ------------------------------------------------------------------------------------------
 * One handler
 */

static struct mark mark_of(const struct stat *st)
{
    return (struct mark){.inode = st->st_ino, .size = st->st_size, .changed = st->st_ctim};
}

static bool is_same(const struct mark *a, const struct mark *b)
{
    return a->inode == b->inode && a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static enum faina_code read_file(const char *path, struct fa_buf *out, struct faina_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char chunk[4096];
    ssize_t len = -1;

    while (fd >= 0 && (len = read(fd, chunk, sizeof(chunk))) > 0)
        fa_buf_add(out, chunk, (size_t)len);
    if (len < 0)
        fa_error_set(err, FAINA_UNAVAILABLE, "%.300s can't be read: %s", path, strerror(errno));
    else if (out->overflow)
        fa_error_set(err, FAINA_INVALID_REQUEST, "%.300s is larger than %d KiB", path,
                     SETTINGS_SIZE_MAX / 1024);
    if (fd >= 0)
        close(fd);
    return len < 0 ? FAINA_UNAVAILABLE : out->overflow ? FAINA_INVALID_REQUEST : FAINA_OK;
}

static enum faina_code load_settings(const char *path, const struct stat *st,
                                     struct fa_arena *arena, struct fa_settings *out,
                                     struct faina_error *err)
{
    struct faina_error inner;
    struct fa_buf text;
    enum faina_code code;

    *out = (struct fa_settings){0};
    if (!st)
        return FAINA_OK;
    fa_error_clear(&inner);
    fa_buf_init(&text, SETTINGS_SIZE_MAX);
    code = fa_folder_check(path, st, &inner);
    if (code == FAINA_OK)
        code = read_file(path, &text, &inner);
    if (code == FAINA_OK)
        code = fa_settings_read((struct fa_bytes){text.ptr, text.len}, arena, out, &inner);
    fa_buf_finish(&text);
    if (code != FAINA_OK)
        fa_error_set(err, code, "%.200s: %.300s", path, inner.message);
    return code;
}

enum faina_code fa_folder_settings(const char *path, const char *ending, struct fa_arena *arena,
                                   struct fa_settings *out, struct faina_error *err)
{
    const char *place =
        fa_arena_printf(arena, "%.*s.json", (int)(strlen(path) - strlen(ending)), path);
    struct stat st;

    return load_settings(place, stat(place, &st) == 0 ? &st : NULL, arena, out, err);
}

static bool is_executable(const struct stat *st)
{
    return (st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0;
}

/* Makes the handler and puts it into the pool. */
static enum faina_code load(struct fa_folder *folder, struct entry *entry, const char *path,
                            const struct stat *program, const struct stat *settings_stat,
                            struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_settings settings;
    struct fa_command_config config = {
        .type = entry->type,
        .path = path,
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
        code = load_settings(fa_arena_printf(&scratch, "%s.json", path), settings_stat, &scratch,
                             &settings, err);
    if (code == FAINA_OK) {
        struct fa_handler *handler = fa_command_create(folder->loop, folder->spawner, &config);

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

    while (entry && strcmp(entry->type, type) != 0)
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

/* Settings, plugins, hidden files and what editors leave are no commands. */
static bool is_command_name(const char *name)
{
    return name[0] != '.' && !ends_with(name, ".json") && !ends_with(name, ".so") &&
           !ends_with(name, "~");
}

/* Somebody forgot to make it executable; other files may lie there as they like. */
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

/* One name in the folder. */
static void look_at(struct fa_folder *folder, const char *name)
{
    struct stat program, settings;
    struct mark marks[2] = {{0}};
    char path[4096], settings_path[4096 + 8];
    struct faina_error err;
    struct entry *entry;
    bool has_settings;

    if (!is_command_name(name) ||
        !fa_folder_wants(name, folder->config.types, folder->config.type_count))
        return;
    snprintf(path, sizeof(path), "%s/%s", folder->config.path, name);
    snprintf(settings_path, sizeof(settings_path), "%s.json", path);
    if (stat(path, &program) != 0 || !S_ISREG(program.st_mode) ||
        (!is_executable(&program) && !is_script(path)))
        return;
    has_settings = stat(settings_path, &settings) == 0;
    marks[0] = mark_of(&program);
    if (has_settings)
        marks[1] = mark_of(&settings);
    entry = find_entry(folder, name);
    entry->is_seen = true;
    if (is_same(&entry->program, &marks[0]) && is_same(&entry->settings, &marks[1]))
        return;
    entry->program = marks[0];
    entry->settings = marks[1];
    fa_error_clear(&err);
    if (load(folder, entry, path, &program, has_settings ? &settings : NULL, &err) == FAINA_OK) {
        fa_tell(&folder->config.log, FA_LOG_INFO, "handles %s by %s", name, path);
        return;
    }
    unload(folder, entry);
    fa_tell(&folder->config.log, FA_LOG_ERROR, "%s is not used: %s", name, err.message);
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
            fa_tell(&folder->config.log, FA_LOG_INFO, "no longer handles %s: its file is gone",
                    entry->type);
        unload(folder, entry);
        *at = entry->next;
        free(entry->type);
        free(entry);
    }
}

static enum faina_code open_folder(struct fa_folder *folder, DIR **out, struct faina_error *err)
{
    const char *path = folder->config.path;
    enum faina_code code;
    struct stat st;
    DIR *dir = opendir(path);

    if (!dir)
        return fa_error_set(err, FAINA_UNAVAILABLE, "the handlers folder %.300s can't be read: %s",
                            path, strerror(errno));
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
    struct dirent *item;
    DIR *dir = NULL;
    enum faina_code code = open_folder(folder, &dir, err);

    while (code == FAINA_OK && (item = readdir(dir)) != NULL)
        look_at(folder, item->d_name);
    if (dir)
        closedir(dir);
    drop_unseen(folder);
    return code;
}

/* Asks the kernel to tell of changes. False: the folder isn't there. */
static bool subscribe(struct fa_folder *folder)
{
    return folder->inotify.fd < 0 ||
           inotify_add_watch(folder->inotify.fd, folder->config.path, EVENTS) >= 0;
}

static void scan_again(struct fa_timer *timer)
{
    struct fa_folder *folder =
        (struct fa_folder *)((char *)timer - offsetof(struct fa_folder, timer));
    struct faina_error err;
    enum faina_code code;
    bool is_there;

    fa_error_clear(&err);
    is_there = subscribe(folder);
    code = scan(folder, &err);
    if (code == FAINA_FORBIDDEN && !folder->was_refused)
        fa_tell(&folder->config.log, FA_LOG_ERROR, "no handler is used: %s", err.message);
    folder->was_refused = code == FAINA_FORBIDDEN;
    if (!is_there || folder->inotify.fd < 0)
        fa_timer_set(folder->loop, timer, fa_clock_mono_us() + ABSENT_US);
}

static void on_inotify(struct fa_watch *watch)
{
    struct fa_folder *folder =
        (struct fa_folder *)((char *)watch - offsetof(struct fa_folder, inotify));
    char events[4096];

    while (read(watch->fd, events, sizeof(events)) > 0)
        continue;
    if (folder->timer.place == 0 || folder->timer.at_us > fa_clock_mono_us() + SETTLE_US)
        fa_timer_set(folder->loop, &folder->timer, fa_clock_mono_us() + SETTLE_US);
}

static void begin_watching(struct fa_post *post)
{
    struct fa_folder *folder =
        (struct fa_folder *)((char *)post - offsetof(struct fa_folder, begin));
    struct stat st;

    if (folder->inotify.fd >= 0 && !fa_loop_watch(folder->loop, &folder->inotify)) {
        close(folder->inotify.fd);
        folder->inotify.fd = -1;
    }
    if (folder->inotify.fd < 0 || stat(folder->config.path, &st) != 0)
        fa_timer_set(folder->loop, &folder->timer, fa_clock_mono_us() + ABSENT_US);
}

static void copy_config(struct fa_folder *folder, const struct fa_folder_config *config)
{
    char *absolute = realpath(config->path, NULL);
    const char **types;

    folder->config = *config;
    if (absolute) {
        folder->config.path = fa_arena_strdup(&folder->arena, absolute);
    } else if (config->path[0] == '/') {
        folder->config.path = fa_arena_strdup(&folder->arena, config->path);
    } else { /* it may come later, wherever we are then */
        char *here = getcwd(NULL, 0);

        folder->config.path =
            fa_arena_printf(&folder->arena, "%s/%s", here ? here : ".", config->path);
        free(here);
    }
    free(absolute);
    if (!config->types)
        return;
    types = fa_arena_zero(&folder->arena, config->type_count + 1, sizeof(char *));
    for (size_t i = 0; i < config->type_count; i++)
        types[i] = fa_arena_strdup(&folder->arena, config->types[i]);
    folder->config.types = types;
}

enum faina_code fa_folder_create(struct fa_folder **out, struct fa_pool *pool, struct fa_loop *loop,
                                 struct fa_spawner *spawner, const struct fa_folder_config *config,
                                 struct faina_error *err)
{
    struct fa_folder *folder = fa_alloc_zero(1, sizeof(*folder));
    enum faina_code code;

    folder->pool = pool;
    folder->loop = loop;
    folder->spawner = spawner;
    folder->timer.fire = scan_again;
    folder->begin.run = begin_watching;
    copy_config(folder, config);
    folder->inotify.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    folder->inotify.on_event = on_inotify;
    subscribe(folder); /* before the scan: what comes after it is told */
    code = scan(folder, err);
    if (code == FAINA_FORBIDDEN || (code != FAINA_OK && config->must_exist)) {
        fa_folder_destroy(folder);
        return code;
    }
    fa_loop_post(loop, &folder->begin);
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
        free(entry);
    }
    if (folder->inotify.fd >= 0)
        close(folder->inotify.fd);
    fa_arena_finish(&folder->arena);
    free(folder);
}
