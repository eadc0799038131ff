/* workflow_folder.c - see workflow_folder.h. */
#include "worker/workflow_folder.h"

#include "base/clock.h"
#include "model/limits.h"
#include "model/limits_file.h"
#include "model/workflow.h"
#include "worker/handler_folder.h"
#include "worker/folder_watch.h"
#include "worker/resource_file.h"

#include <dirent.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define GONE_US 1000000  /* editors and checkouts remove a file for a moment */
#define RETRY_US 2000000 /* when the store was not available */

struct entry {
    char *file; /* its name in the folder */
    struct fa_file_mark mark;
    char *workflow;                  /* that it defines; NULL: none yet */
    int64_t version;                 /* of the workflow in the store */
    int64_t gone_us;                 /* since when the file is missing; 0: it exists */
    bool is_off;                     /* switched off here (W3) */
    struct fa_resource_file *limits; /* resources.yaml: the limits in it (W6) */
    bool has_duplicate;              /* refused because of another file (W4) */
    bool is_seen;                    /* by the present scan, which then sets `st` */
    struct stat st;
    struct entry *next; /* in the order of names */
};

struct fa_workflows {
    struct fa_service *service;
    struct fa_event_loop *loop;
    struct fa_workflows_config config; /* texts in `arena` */
    struct fa_arena arena;
    struct fa_folder_watch watch;
    struct entry *entries;
    struct fa_message first;
    bool has_begun;   /* the first scan is over ... */
    sem_t begun;      /* ... which the owner waits for */
    bool was_refused; /* the folder itself, which is logged once */
};

/* ------------------------------------------------------------------------------------------
 * The store
 */

static enum faina_code run_op(struct fa_workflows *workflows, struct fa_op *op,
                              struct fa_arena *arena, struct faina_error *err)
{
    op->arena = arena;
    fa_service_run(workflows->service, op, 1);
    if (op->code != FAINA_OK)
        *err = op->error;
    return op->code;
}

/* *out is NULL when there is no such workflow. */
static enum faina_code find_stored(struct fa_workflows *workflows, const char *name,
                                   struct fa_arena *arena, const struct fa_stored_workflow **out,
                                   struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_WORKFLOW_LIST,
                       .workflow = {.ns = workflows->config.ns, .name = name}};
    enum faina_code code = run_op(workflows, &op, arena, err);

    *out = code == FAINA_OK && op.workflows->count > 0 ? op.workflows->items : NULL;
    return code == FAINA_NOT_FOUND ? FAINA_OK : code;
}

/* Switches off the workflow of a file, unless it was changed by another caller since. */
static enum faina_code switch_off(struct fa_workflows *workflows, struct entry *entry,
                                  struct faina_error *err)
{
    struct fa_op op = {.kind = FA_OP_WORKFLOW_ENABLE,
                       .by = {.reason = "its file is gone"},
                       .workflow = {.ns = workflows->config.ns, .name = entry->workflow}};
    const struct fa_stored_workflow *stored;
    struct fa_arena arena = {0};
    enum faina_code code = find_stored(workflows, entry->workflow, &arena, &stored, err);

    if (code == FAINA_OK && stored && stored->version != entry->version) {
        fa_report(&workflows->config.log, FA_LOG_WARN,
                  "workflow %s stays: %s, which defined it, is gone, but it was changed since",
                  entry->workflow, entry->file);
    } else if (code == FAINA_OK && stored && stored->is_enabled) {
        code = run_op(workflows, &op, &arena, err);
        if (code == FAINA_OK)
            fa_report(&workflows->config.log, FA_LOG_INFO,
                      "workflow %s is switched off: %s is gone (faina workflow rm %s removes it)",
                      entry->workflow, entry->file, entry->workflow);
        entry->is_off = code == FAINA_OK;
    }
    fa_arena_finish(&arena);
    return code;
}

/* ------------------------------------------------------------------------------------------
 * One file
 */

static const struct entry *find_duplicate(const struct fa_workflows *workflows,
                                          const struct entry *entry, const char *name)
{
    for (const struct entry *other = workflows->entries; other; other = other->next)
        if (other != entry && other->gone_us == 0 && other->workflow &&
            strcmp(other->workflow, name) == 0)
            return other;
    return NULL;
}

/* The missing file for which the workflow was switched off here; NULL: none. */
static struct entry *find_gone(struct fa_workflows *workflows, const char *name)
{
    for (struct entry *other = workflows->entries; other; other = other->next)
        if (other->is_off && other->workflow && strcmp(other->workflow, name) == 0)
            return other;
    return NULL;
}

static void forget_workflow(struct entry *entry)
{
    free(entry->workflow);
    entry->workflow = NULL;
    entry->is_off = false;
}

static void set_workflow(struct entry *entry, const char *name, int64_t version)
{
    char *copy = strdup(name);

    free(entry->workflow);
    entry->workflow = copy;
    entry->version = version;
    entry->is_off = false;
}

/* Stores the definition, unless the same one is stored already (W2). */
static enum faina_code store(struct fa_workflows *workflows, struct entry *entry,
                             const struct fa_workflow *workflow, struct fa_arena *arena,
                             struct faina_error *err)
{
    const struct fa_definition definition = {.ns = workflows->config.ns, .text = workflow->json};
    struct fa_op op = {.kind = FA_OP_WORKFLOW_PUT,
                       .by = {.reason = fa_arena_printf(arena, "by the file %.900s", entry->file)},
                       .definition = &definition};
    struct entry *gone = find_gone(workflows, workflow->name);
    const struct fa_stored_workflow *stored;
    enum faina_code code = find_stored(workflows, workflow->name, arena, &stored, err);

    if (code != FAINA_OK)
        return code;
    if (stored && !gone && fa_bytes_equal(fa_str(stored->definition), workflow->json)) {
        fa_report(&workflows->config.log,
                  stored->is_enabled == workflow->is_enabled ? FA_LOG_INFO : FA_LOG_WARN,
                  "workflow %s version %lld is as in %s%s", workflow->name,
                  (long long)stored->version, entry->file,
                  stored->is_enabled || !workflow->is_enabled ? "" : ", but was switched off");
    } else {
        code = run_op(workflows, &op, arena, err);
        if (code != FAINA_OK)
            return code;
        stored = op.workflow_answer;
        fa_report(&workflows->config.log, FA_LOG_INFO, "workflow %s version %lld is from %s%s",
                  stored->name, (long long)stored->version, entry->file,
                  stored->is_enabled ? "" : ", switched off");
    }
    if (gone && gone != entry)
        forget_workflow(gone); /* this file defines it now */
    set_workflow(entry, workflow->name, stored->version);
    return FAINA_OK;
}

static void report_mistakes(struct fa_workflows *workflows, const struct entry *entry,
                            const struct fa_mistakes *mistakes, const struct faina_error *err)
{
    for (size_t i = 0; i < mistakes->count; i++)
        fa_report(&workflows->config.log, FA_LOG_ERROR, "%s:%d:%d: %s", entry->file,
                  mistakes->items[i].line, mistakes->items[i].column, mistakes->items[i].message);
    if (mistakes->count == 0)
        fa_report(&workflows->config.log, FA_LOG_ERROR, "%s: %s", entry->file, err->message);
}

static bool parse_limits(struct fa_workflows *workflows, struct entry *entry, struct fa_bytes text,
                         enum fa_workflow_format format, struct fa_arena *arena,
                         struct fa_file_limits *out)
{
    struct fa_mistakes mistakes = {0};
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_limits_file_read(text, format, arena, out, &mistakes, &err) == FAINA_OK)
        return true;
    report_mistakes(workflows, entry, &mistakes, &err);
    return false;
}

/* False: the mistakes are in the log. */
static bool parse_definition(struct fa_workflows *workflows, struct entry *entry,
                             struct fa_bytes text, enum fa_workflow_format format,
                             struct fa_arena *arena, const struct fa_workflow **out)
{
    struct fa_workflow_target target = {.ns = workflows->config.ns ? workflows->config.ns
                                                                   : "default"};
    struct fa_mistakes mistakes = {0};
    const struct entry *duplicate;
    struct faina_error err;

    fa_error_clear(&err);
    if (fa_workflow_read(text, format, &target, arena, out, &mistakes, &err) == FAINA_OK) {
        duplicate = find_duplicate(workflows, entry, (*out)->name);
        entry->has_duplicate = duplicate != NULL;
        if (!duplicate)
            return true;
        fa_error_set(&err, FAINA_CONFLICT, "workflow %.200s is defined by %.200s already",
                     (*out)->name, duplicate->file);
    }
    report_mistakes(workflows, entry, &mistakes, &err);
    return false;
}

/* What a file has: a workflow or limits. */
struct content {
    const struct fa_workflow *workflow;
    struct fa_file_limits limits;
};

static bool read_content(struct fa_workflows *workflows, struct entry *entry, const char *path,
                         const struct stat *st, struct fa_arena *arena, struct content *out)
{
    enum fa_workflow_format format = FA_WORKFLOW_JSON;
    struct faina_error err;
    enum faina_code code;
    struct fa_buf text;
    bool is_good;

    fa_error_clear(&err);
    fa_buf_init(&text, FA_WORKFLOW_SIZE_MAX);
    code = fa_folder_check(path, st, &err);
    if (code == FAINA_OK)
        code = fa_file_read(path, &text, &err);
    (void)!fa_workflow_format_of(path, &format);
    if (code != FAINA_OK)
        report_mistakes(workflows, entry, &(struct fa_mistakes){0}, &err);
    is_good =
        code == FAINA_OK &&
        (entry->limits ? parse_limits(workflows, entry, (struct fa_bytes){text.ptr, text.len},
                                      format, arena, &out->limits)
                       : parse_definition(workflows, entry, (struct fa_bytes){text.ptr, text.len},
                                          format, arena, &out->workflow));
    fa_buf_finish(&text);
    if (!is_good && entry->limits)
        fa_report(&workflows->config.log, FA_LOG_ERROR, "%s is not used; all limits stay",
                  entry->file);
    else if (!is_good)
        fa_report(&workflows->config.log, FA_LOG_ERROR, "%s is not used%s%s", entry->file,
                  entry->workflow ? "; as before stays workflow " : "",
                  entry->workflow ? entry->workflow : "");
    return is_good;
}

/* Applies the file. False: the store is not available, so try again. */
static bool apply(struct fa_workflows *workflows, struct entry *entry, const char *path,
                  const struct stat *st)
{
    struct content content = {0};
    struct fa_arena arena = {0};
    struct faina_error err;
    enum faina_code code = FAINA_OK;

    fa_error_clear(&err);
    if (read_content(workflows, entry, path, st, &arena, &content)) {
        if (entry->limits)
            code = fa_resource_file_apply(entry->limits, workflows->service, &content.limits, &err);
        else if (entry->workflow && strcmp(entry->workflow, content.workflow->name) != 0 &&
                 !entry->is_off)
            code = switch_off(workflows, entry, &err); /* the file defines another one now */
        if (code == FAINA_OK && !entry->limits)
            code = store(workflows, entry, content.workflow, &arena, &err);
        if (code != FAINA_OK)
            fa_report(&workflows->config.log, FA_LOG_ERROR, "%s can't be applied: %s", entry->file,
                      err.message);
    }
    fa_arena_finish(&arena);
    return code != FAINA_UNAVAILABLE && code != FAINA_OVERLOADED && code != FAINA_TIMEOUT;
}

static struct entry *find_entry(struct fa_workflows *workflows, const char *file)
{
    struct entry **at = &workflows->entries, *entry;

    while (*at && strcmp((*at)->file, file) < 0)
        at = &(*at)->next;
    if (*at && strcmp((*at)->file, file) == 0)
        return *at;
    entry = fa_alloc_zero(1, sizeof(*entry));
    entry->file = strdup(file);
    if (fa_limits_file_is(file))
        entry->limits = fa_resource_file_create(entry->file, &workflows->config.log);
    entry->next = *at;
    *at = entry;
    return entry;
}

/* A file that has just been changed may not be complete yet. */
static bool is_fresh(const struct stat *st)
{
    int64_t changed_us = (int64_t)st->st_ctim.tv_sec * 1000000 + st->st_ctim.tv_nsec / 1000;
    int64_t age_us = fa_clock_now_us() - changed_us;

    return age_us >= 0 && age_us < FA_FOLDER_SETTLE_US; /* clocks may be set back */
}

static void handle_present(struct fa_workflows *workflows, struct entry *entry)
{
    struct fa_file_mark mark = fa_file_mark_of(&entry->st);
    char path[4096];

    if (entry->gone_us == 0 && fa_file_mark_is_same(&entry->mark, &mark))
        return;
    if (workflows->has_begun && is_fresh(&entry->st)) {
        fa_folder_watch_rescan(&workflows->watch, FA_FOLDER_SETTLE_US);
        return;
    }
    entry->gone_us = 0;
    entry->mark = mark;
    snprintf(path, sizeof(path), "%s/%s", workflows->config.path, entry->file);
    if (apply(workflows, entry, path, &entry->st))
        return;
    entry->mark = (struct fa_file_mark){0};
    fa_folder_watch_rescan(&workflows->watch, RETRY_US);
}

static void handle_missing(struct fa_workflows *workflows, struct entry *entry)
{
    struct faina_error err;

    if (entry->limits)
        fa_report(&workflows->config.log, FA_LOG_INFO, "%s is gone; the limits in it stay",
                  entry->file);
    if (!entry->workflow || entry->is_off)
        return;
    if (find_duplicate(workflows, entry, entry->workflow)) { /* the file was renamed */
        forget_workflow(entry);
        return;
    }
    if (fa_clock_mono_us() - entry->gone_us < GONE_US) {
        fa_folder_watch_rescan(&workflows->watch, GONE_US);
        return;
    }
    fa_error_clear(&err);
    if (switch_off(workflows, entry, &err) != FAINA_OK) {
        fa_report(&workflows->config.log, FA_LOG_ERROR, "workflow %s can't be switched off: %s",
                  entry->workflow, err.message);
        fa_folder_watch_rescan(&workflows->watch, RETRY_US);
    } else if (!entry->is_off) { /* changed by another caller */
        forget_workflow(entry);
    }
}

/* ------------------------------------------------------------------------------------------
 * The folder
 */

static void find_files(struct fa_workflows *workflows, DIR *dir)
{
    enum fa_workflow_format format;
    struct dirent *item;
    struct stat st;

    for (struct entry *entry = workflows->entries; entry; entry = entry->next)
        entry->is_seen = false;
    while ((item = readdir(dir)) != NULL) {
        struct entry *entry;

        if (item->d_name[0] == '.' || !fa_workflow_format_of(item->d_name, &format) ||
            fstatat(dirfd(dir), item->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode))
            continue;
        entry = find_entry(workflows, item->d_name);
        entry->is_seen = true;
        entry->st = st;
    }
}

/* Before any file is read: a file may define the workflow of one that is missing. */
static void mark_missing(struct fa_workflows *workflows)
{
    bool has_missing = false;

    for (struct entry *entry = workflows->entries; entry; entry = entry->next) {
        if (entry->is_seen || entry->gone_us != 0)
            continue;
        entry->gone_us = fa_clock_mono_us();
        has_missing = true;
    }
    for (struct entry *entry = workflows->entries; has_missing && entry; entry = entry->next)
        if (entry->has_duplicate)
            entry->mark = (struct fa_file_mark){0}; /* its duplicate may be the missing one */
}

static void free_entry(struct entry *entry)
{
    fa_resource_file_destroy(entry->limits);
    free(entry->file);
    free(entry->workflow);
    free(entry);
}

static void drop_missing(struct fa_workflows *workflows)
{
    for (struct entry **at = &workflows->entries; *at;) {
        struct entry *entry = *at;

        if (entry->gone_us == 0 || entry->workflow) {
            at = &entry->next;
            continue;
        }
        *at = entry->next;
        free_entry(entry);
    }
}

static void report_refusal(struct fa_workflows *workflows, enum faina_code code,
                           const struct faina_error *err)
{
    bool is_logged = code != FAINA_NOT_FOUND || workflows->entries || workflows->config.is_wanted;

    if (is_logged && !workflows->was_refused)
        fa_report(&workflows->config.log, code == FAINA_NOT_FOUND ? FA_LOG_WARN : FA_LOG_ERROR,
                  "no workflow is read from files: %s", err->message);
    workflows->was_refused = is_logged;
}

static void scan_folder(struct fa_folder_watch *watch)
{
    struct fa_workflows *workflows = FA_CONTAINER_OF(watch, struct fa_workflows, watch);
    struct faina_error err;
    DIR *dir = NULL;
    enum faina_code code;

    fa_error_clear(&err);
    code = fa_folder_open(workflows->config.path, "workflows", FAINA_NOT_FOUND, &dir, &err);
    if (code != FAINA_OK) {
        report_refusal(workflows, code, &err);
        return;
    }
    workflows->was_refused = false;
    find_files(workflows, dir);
    closedir(dir);
    mark_missing(workflows);
    for (struct entry *entry = workflows->entries; entry; entry = entry->next)
        if (entry->is_seen)
            handle_present(workflows, entry);
    for (struct entry *entry = workflows->entries; entry; entry = entry->next)
        if (!entry->is_seen)
            handle_missing(workflows, entry);
    drop_missing(workflows);
}

static void first_scan(struct fa_message *message)
{
    struct fa_workflows *workflows = FA_CONTAINER_OF(message, struct fa_workflows, first);

    scan_folder(&workflows->watch);
    workflows->has_begun = true;
    sem_post(&workflows->begun);
}

void fa_workflows_apply(struct fa_service *service, const struct fa_workflows_config *config,
                        const char *definition)
{
    const char *slash = strrchr(config->path, '/');
    struct fa_workflows workflows = {.service = service, .config = *config};
    struct entry entry = {.file = strdup(slash ? slash + 1 : config->path)};
    const struct fa_workflow *workflow = NULL;
    struct fa_arena arena = {0};
    struct faina_error err;

    fa_error_clear(&err);
    if (parse_definition(&workflows, &entry, fa_str(definition), FA_WORKFLOW_JSON, &arena,
                         &workflow) &&
        store(&workflows, &entry, workflow, &arena, &err) != FAINA_OK)
        fa_report(&config->log, FA_LOG_ERROR, "the workflow of %s can't be stored: %s", entry.file,
                  err.message);
    fa_arena_finish(&arena);
    free(entry.workflow);
    free(entry.file);
}

enum faina_code fa_workflows_create(struct fa_workflows **out, struct fa_service *service,
                                    const struct fa_workflows_config *config,
                                    struct faina_error *err)
{
    struct fa_workflows *workflows = fa_alloc_zero(1, sizeof(*workflows));
    enum faina_code code = fa_event_loop_create(&workflows->loop, err);

    if (code != FAINA_OK) {
        free(workflows);
        return code;
    }
    workflows->service = service;
    workflows->config = *config;
    workflows->config.path = fa_absolute_path(config->path, &workflows->arena);
    workflows->config.ns = fa_arena_strdup(&workflows->arena, config->ns);
    fa_folder_watch_init(&workflows->watch, workflows->loop, workflows->config.path, scan_folder);
    fa_folder_watch_begin(&workflows->watch);
    workflows->first.run = first_scan;
    sem_init(&workflows->begun, 0, 0);
    fa_event_loop_send(workflows->loop, &workflows->first);
    while (sem_wait(&workflows->begun) != 0)
        continue; /* a signal */
    *out = workflows;
    return FAINA_OK;
}

void fa_workflows_destroy(struct fa_workflows *workflows)
{
    struct entry *next;

    if (!workflows)
        return;
    fa_event_loop_destroy(workflows->loop);
    sem_destroy(&workflows->begun);
    fa_folder_watch_finish(&workflows->watch);
    for (struct entry *entry = workflows->entries; entry; entry = next) {
        next = entry->next;
        free_entry(entry);
    }
    fa_arena_finish(&workflows->arena);
    free(workflows);
}
