/* vault_work.c - see vault_work.h. */
#include "vault_work.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS (60 * 60 * 1000) /* of the task in the background */
#define REPORT_MS 1000              /* between two reports of progress */
#define LOCK_MS 5000                /* how long to wait for an earlier attempt that is stopping */
#define POLL_MS 50
#define AWAY_MS 1000 /* between two tries to reach the engine */
#define OUTPUT_MAX ((size_t)64 * 1024)

struct vault_work {
    char task[FAINA_ID_SIZE];
    char *ns;
    int64_t fence;
    struct vault_store store;
    char folder[VAULT_PATH_SIZE];
    int lock;
    struct faina *engine;
    vault_work_fn *run;
    void *input;
    int64_t deadline_ms, reported_ms;
};

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void sleep_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ------------------------------------------------------------------------------------------
 * The folder of an attempt
 */

/* Removes what the work has written, and with `all` the folder too. */
static void clean(const char *folder, bool all)
{
    static const char *const names[] = {"manifest", "skeleton", "task", "output"};
    char path[VAULT_PATH_SIZE + 64];
    struct dirent *item;
    DIR *dir;

    snprintf(path, sizeof(path), "%s/leaves", folder);
    dir = opendir(path);
    while (dir && (item = readdir(dir)) != NULL)
        if (item->d_name[0] != '.')
            unlinkat(dirfd(dir), item->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(path);
    for (size_t i = 0; i < (all ? VAULT_COUNT(names) : 2); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    if (all)
        rmdir(folder);
}

/* -1: another process, or another attempt, works in it; or it is gone. */
static int lock_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat ours, there;

    if (fd < 0)
        return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &ours) == 0 && stat(folder, &there) == 0 &&
        ours.st_ino == there.st_ino)
        return fd;
    close(fd);
    return -1;
}

static bool take_folder(struct vault_work *work, struct vault_error *err)
{
    char path[VAULT_PATH_SIZE + 64], text[128];
    int64_t until = now_ms() + LOCK_MS;

    if (!vault_path(work->folder, "%s/staging/%s", work->store.root, work->task))
        return vault_refuse(err, "settings", "the path of the store is too long");
    for (;;) {
        if (mkdir(work->folder, 0700) != 0 && errno != EEXIST)
            return vault_fail_errno(err, "create", work->folder);
        work->lock = lock_folder(work->folder);
        if (work->lock >= 0)
            break;
        if (now_ms() > until)
            return vault_fail(err, "busy", "an earlier attempt of this task has not stopped yet");
        sleep_ms(POLL_MS);
    }
    clean(work->folder, false);
    snprintf(path, sizeof(path), "%s/output", work->folder);
    unlink(path);
    snprintf(path, sizeof(path), "%s/task", work->folder);
    snprintf(text, sizeof(text), "{\"id\":\"%s\",\"fence\":%lld}\n", work->task,
             (long long)work->fence);
    return vault_store_write(path, text, strlen(text), err);
}

static void free_work(struct vault_work *work)
{
    if (work->lock >= 0)
        close(work->lock);
    faina_close(work->engine);
    free(work->input);
    free(work->ns);
    free(work);
}

/* ------------------------------------------------------------------------------------------
 * The task
 */

enum attempt_state { IS_HELD, IS_BACKGROUND, IS_OVER, IS_UNKNOWN };

/* IS_HELD: the handler has returned, but the worker has not stored that yet. */
static enum attempt_state find_attempt_state(const struct vault_work *work)
{
    struct faina_task *task = NULL;
    enum faina_code code = faina_get(work->engine, work->task, &task, NULL);
    enum attempt_state state = IS_OVER;

    if (code != FAINA_OK)
        return code == FAINA_TASK_NOT_FOUND ? IS_OVER : IS_UNKNOWN;
    if (task->fence == work->fence && task->status == FAINA_BACKGROUND)
        state = IS_BACKGROUND;
    else if (task->fence == work->fence &&
             (task->status == FAINA_RUNNING || task->status == FAINA_CLAIMED))
        state = IS_HELD;
    faina_free(task);
    return state;
}

/* The listener for the end of the work: completes the task with `output`, or fails it with *err.
 * `waits` while the task is still held. True: the task has this end, or another one. */
static bool end_task(const struct vault_work *work, const char *output,
                     const struct vault_error *err, bool waits)
{
    const struct faina_by by = {.fence = work->fence};
    enum attempt_state state;

    while (now_ms() < work->deadline_ms) {
        enum faina_code code = FAINA_OVERLOADED;

        state = find_attempt_state(work);
        if (state == IS_OVER)
            return true;
        if (state == IS_HELD && !waits)
            return false;
        if (state == IS_BACKGROUND && output)
            code = faina_complete(work->engine, work->task, &by, output, NULL, NULL);
        else if (state == IS_BACKGROUND)
            code = faina_fail(work->engine, work->task, &by,
                              &(struct faina_failure){.message = err->message,
                                                      .kind = err->kind,
                                                      .permanent = err->is_permanent},
                              NULL, NULL);
        if (code == FAINA_OK)
            return true;
        sleep_ms(state == IS_UNKNOWN ? AWAY_MS : POLL_MS);
    }
    return false;
}

bool vault_work_progress(struct vault_work *work, uint64_t done, uint64_t total,
                         struct vault_error *err)
{
    int64_t now = now_ms();
    struct faina_report report = {
        .has_progress = total > 0,
        .progress = total > 0 ? (int)(done * 100 / total) : 0,
    };

    if (now < work->reported_ms + REPORT_MS)
        return true;
    if (now > work->deadline_ms)
        return vault_fail(err, "timeout", "the work took longer than an hour");
    work->reported_ms = now;
    switch (find_attempt_state(work)) {
    case IS_OVER: /* W3 */
        return vault_fail(err, "cancelled", "the task has ended meanwhile");
    case IS_BACKGROUND:
        if (report.has_progress)
            faina_progress(work->engine, work->task, &(struct faina_by){.fence = work->fence},
                           &report, NULL, NULL);
        return true;
    case IS_HELD:
    case IS_UNKNOWN:
        return true;
    }
    return true;
}

bool vault_work_go_on(void *ctx, struct vault_error *err)
{
    return vault_work_progress(ctx, 0, 0, err);
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

static void *work_main(void *arg)
{
    struct vault_work *work = arg;
    struct vault_text output = {0};
    struct vault_error err = {0};
    char path[VAULT_PATH_SIZE + 64];
    bool is_done = work->run(work, &output, &err);

    /* Kept until the task is completed: a kill in between doesn't repeat the work. */
    snprintf(path, sizeof(path), "%s/output", work->folder);
    if (is_done)
        is_done = vault_store_write(path, output.ptr, output.len, &err);
    if (end_task(work, is_done ? output.ptr : NULL, &err, true))
        clean(work->folder, true);
    vault_text_free(&output);
    free_work(work);
    return NULL;
}

static struct vault_work *new_work(const char *task, const char *ns, int64_t fence)
{
    struct vault_work *work = calloc(1, sizeof(*work));

    if (!work)
        abort();
    snprintf(work->task, sizeof(work->task), "%s", task);
    work->ns = strdup(ns);
    work->fence = fence;
    work->lock = -1;
    work->deadline_ms = now_ms() + TIMEOUT_MS;
    return work;
}

static bool prepare(struct vault_work *work, struct vault_error *err)
{
    struct faina_error why;

    if (!vault_store_open(&work->store, work->ns, err) || !take_folder(work, err))
        return false;
    if (faina_plugin_open(&work->engine, &why) == FAINA_OK)
        return true;
    if (why.code == FAINA_NOT_SUPPORTED)
        return vault_refuse(err, "settings", "%s", why.message);
    return vault_fail(err, "engine", "%s", why.message);
}

enum faina_outcome vault_work_begin(struct faina_context *context, const char *reason,
                                    vault_work_fn *run, void *input)
{
    const struct faina_task *task = faina_context_task(context);
    struct vault_work *work = new_work(task->id, task->ns, task->fence);
    struct vault_error err;
    pthread_attr_t detached;
    pthread_t thread;
    bool is_ok;

    work->run = run;
    work->input = input;
    is_ok = prepare(work, &err);
    if (is_ok && faina_context_background(context, reason, TIMEOUT_MS, NULL) != FAINA_OK)
        is_ok = vault_fail(&err, "background", "the task can't continue in the background");
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    if (is_ok && pthread_create(&thread, &detached, work_main, work) != 0)
        is_ok = vault_fail(&err, "thread", "can't start a thread");
    pthread_attr_destroy(&detached);
    if (is_ok)
        return FAINA_OUTCOME_BACKGROUND;
    if (work->lock >= 0)
        clean(work->folder, true);
    free_work(work);
    return vault_give_up(context, &err);
}

void *vault_work_input(struct vault_work *work)
{
    return work->input;
}

const char *vault_work_task(const struct vault_work *work)
{
    return work->task;
}

const char *vault_work_namespace(const struct vault_work *work)
{
    return work->ns;
}

const struct vault_store *vault_work_store(const struct vault_work *work)
{
    return &work->store;
}

const char *vault_work_folder(const struct vault_work *work)
{
    return work->folder;
}

struct faina *vault_work_engine(struct vault_work *work)
{
    return work->engine;
}

/* ------------------------------------------------------------------------------------------
 * After a kill
 */

/* The fence in the file `task`; 0: the process was killed before it was written. */
static int64_t read_fence(const char *folder)
{
    char path[VAULT_PATH_SIZE + 64], *text = NULL;
    struct vault_error ignored;
    yajl_val value = NULL;
    int64_t fence = 0;

    snprintf(path, sizeof(path), "%s/task", folder);
    if (vault_store_read(path, OUTPUT_MAX, &text, &ignored) && text &&
        vault_json_object(text, "it", &value, &ignored))
        fence = vault_json_count(value, "fence");
    yajl_tree_free(value);
    free(text);
    return fence;
}

static void recover_one(struct faina *engine, const char *ns, const char *task, const char *folder)
{
    const struct vault_error killed = {.kind = "killed",
                                       .message = "the process that worked on it was ended"};
    char path[VAULT_PATH_SIZE + 64], *output = NULL;
    struct vault_error ignored;
    struct vault_work *work;
    int lock = lock_folder(folder);

    if (lock < 0)
        return;
    work = new_work(task, ns, read_fence(folder));
    work->lock = lock;
    work->engine = engine;
    snprintf(path, sizeof(path), "%s/output", folder);
    (void)vault_store_read(path, OUTPUT_MAX, &output, &ignored);
    /* A task that is still held was never in the background: its lease ends, and it is retried. */
    if (work->fence > 0)
        (void)end_task(work, output, &killed, false);
    clean(folder, true);
    free(output);
    work->engine = NULL;
    free_work(work);
}

static void recover_namespace(struct faina *engine, const char *ns)
{
    char staging[VAULT_PATH_SIZE], folder[VAULT_PATH_SIZE];
    struct dirent *item;
    DIR *dir;

    if (!vault_path(staging, "%s/%s/staging", vault_settings()->store, ns))
        return;
    dir = opendir(staging);
    while (dir && (item = readdir(dir)) != NULL)
        if (strlen(item->d_name) == FAINA_ID_SIZE - 1 &&
            vault_path(folder, "%s/%s", staging, item->d_name))
            recover_one(engine, ns, item->d_name, folder);
    if (dir)
        closedir(dir);
}

static bool has_staging(void)
{
    return access(vault_settings()->store, F_OK) == 0;
}

static void *recover_main(void *arg)
{
    struct faina *engine = NULL;
    struct faina_error why;
    struct dirent *item;
    DIR *dir;

    (void)arg;
    if (!has_staging())
        return NULL;
    while (faina_plugin_open(&engine, &why) != FAINA_OK) {
        if (why.code == FAINA_NOT_SUPPORTED)
            return NULL;
        sleep_ms(POLL_MS);
    }
    dir = opendir(vault_settings()->store);
    while (dir && (item = readdir(dir)) != NULL)
        if (item->d_name[0] != '.')
            recover_namespace(engine, item->d_name);
    if (dir)
        closedir(dir);
    faina_close(engine);
    return NULL;
}

void vault_work_recover(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, recover_main, NULL) == 0)
        pthread_detach(thread);
}
