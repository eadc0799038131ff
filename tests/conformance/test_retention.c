/*
 * test_retention.c - tasks that ended long ago go, after everything about them is in the archive.
 */
#include "support/ops.h"

#include "base/clock.h"
#include "json/json.h"
#include "model/limits.h"
#include "worker/retention_thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#define FAST ((struct faina_retry_policy){.base_ms = 1, .factor = 1, .max_ms = 1})

/* Everything stays for ever; `archive` in the test's folder. */
static struct fa_retention_settings keep_all(struct fa_t *t)
{
    return (struct fa_retention_settings){
        .completed_ms = -1, .failed_ms = -1, .events_ms = -1, .archive = fa_t_path(t, "archive")};
}

/* One round. A node of a fleet waits until it leads. */
static enum faina_code try_round(struct fa_t *t, const struct fa_retention_settings *keep,
                                 size_t *removed, struct faina_error *err)
{
    int64_t until = fa_clock_mono_us() + FA_T_DEADLINE_MS * INT64_C(1000);
    enum faina_code code;

    do {
        fa_error_clear(err);
        code = fa_retention_round(t->svc, keep, removed, err);
    } while (code == FAINA_CONFLICT && fa_clock_mono_us() < until && usleep(10000) == 0);
    return code;
}

static size_t run_round(struct fa_t *t, const struct fa_retention_settings *keep)
{
    struct faina_error err;
    size_t removed = 0;
    enum faina_code code = try_round(t, keep, &removed, &err);

    CHECK(code == FAINA_OK, "%s", err.message);
    return removed;
}

static void add_file(struct fa_buf *text, const char *path)
{
    gzFile file = gzopen(path, "rb");
    char chunk[4096];
    int got;

    CHECK(file != NULL, "%s can't be read", path);
    while ((got = gzread(file, chunk, sizeof chunk)) > 0)
        fa_buf_add(text, chunk, (size_t)got);
    CHECK(got == 0, "%s is no whole gzip file", path);
    gzclose(file);
}

/* All lines of the archive; each is checked to be JSON. */
static const char *read_archive(struct fa_t *t)
{
    const char *folder = fa_t_path(t, "archive");
    DIR *dir = opendir(folder);
    struct fa_buf text;
    struct dirent *entry;
    const char *answer;

    fa_buf_init(&text, SIZE_MAX / 2);
    fa_buf_add_str(&text, "");
    while (dir && (entry = readdir(dir)) != NULL)
        if (strstr(entry->d_name, ".jsonl.gz"))
            add_file(&text, fa_arena_printf(&t->arena, "%s/%s", folder, entry->d_name));
    if (dir)
        closedir(dir);
    for (const char *line = text.ptr, *end; line && (end = strchr(line, '\n')); line = end + 1)
        CHECK(fa_json_check((struct fa_bytes){line, (size_t)(end - line)}, 100, "line",
                            FAINA_INTERNAL, NULL) == FAINA_OK,
              "no JSON: %.*s", (int)(end - line), line);
    answer = fa_arena_copy(&t->arena, text.ptr ? text.ptr : "", text.len);
    fa_buf_finish(&text);
    return answer;
}

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
        n++;
    return n;
}

/* How many lines of the archive are about the task. */
static size_t lines_of(struct fa_t *t, const char *id)
{
    return count_of(read_archive(t), fa_arena_printf(&t->arena, "{\"id\":\"%s\"", id));
}

static void test_retention__ended_tasks_go_into_the_archive(struct fa_t *t)
{
    const char *id =
        fa_t_submit(t, .type = "a", .input = "{\"n\":7}", .retry = FAST, .idempotency_key = "k");
    const char *failed = fa_t_make(t, FAINA_FAILED, "w");
    const char *live = fa_t_make(t, FAINA_RUNNING, "w");
    struct fa_retention_settings keep = keep_all(t);
    const char *text;

    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "not yet"));
    fa_t_wait_status(t, id, FAINA_PENDING);
    while (fa_t_claim(t, id, "w") != FAINA_OK)
        usleep(1000);
    CHECK_OK(t, fa_t_complete(t, id, BY("w"), "{\"done\":true}"));
    CHECK_INT(run_round(t, &keep), 0);
    keep.completed_ms = 3600 * 1000;
    CHECK_INT(run_round(t, &keep), 0);
    CHECK_NOW(t, id, FAINA_COMPLETED);
    keep.completed_ms = 0;
    CHECK_INT(run_round(t, &keep), 1);
    CHECK_CODE(t, fa_t_get(t, id), FAINA_TASK_NOT_FOUND);
    CHECK_NOW(t, failed, FAINA_FAILED);
    CHECK_NOW(t, live, FAINA_RUNNING);
    text = read_archive(t);
    CHECK_INT(lines_of(t, id), 1);
    CHECK_INT(count_of(text, "\n"), 1);
    CHECK_INT(count_of(text, "\"input\":{\"n\":7}"), 1);
    CHECK_INT(count_of(text, "\"output\":{\"done\":true}"), 1);
    CHECK_INT(count_of(text, "\"event\":\"created\""), 1);
    CHECK_INT(count_of(text, "\"event\":\"claimed\""), 2);
    CHECK_INT(count_of(text, "not yet"), 1);
    CHECK_INT(count_of(text, "\"event\":\"completed\""), 1);
    fa_t_submit(t, .type = "a", .idempotency_key = "k");
    CHECK_TRUE(!t->op.existing);
    keep = keep_all(t);
    keep.failed_ms = 0;
    CHECK_INT(run_round(t, &keep), 1);
    CHECK_INT(lines_of(t, failed), 1);
    CHECK_CODE(t, fa_t_get(t, failed), FAINA_TASK_NOT_FOUND);
}

static void test_retention__many_go_in_batches_each_once(struct fa_t *t)
{
    struct fa_retention_settings keep = keep_all(t);
    const char *ids[450];

    for (size_t i = 0; i < FA_COUNT(ids); i++) {
        ids[i] = fa_t_submit(t, .type = "a");
        CHECK_OK(t, fa_t_cancel(t, ids[i], NOBODY));
    }
    keep.failed_ms = 0;
    CHECK_INT(run_round(t, &keep), FA_COUNT(ids));
    CHECK_INT(count_of(read_archive(t), "\n"), FA_COUNT(ids));
    for (size_t i = 0; i < FA_COUNT(ids); i += 50)
        CHECK_INT(lines_of(t, ids[i]), 1);
    CHECK_OK(t, fa_t_list(t, .limit = 10));
    CHECK_INT(t->op.tasks->count, 0);
}

/* Its parent's handler will ask for the result. */
static void test_retention__a_subtask_stays_with_its_parent(struct fa_t *t)
{
    struct faina_submit subtasks[] = {{.type = "one"}, {.type = "two"}};
    const char *parent = fa_t_make(t, FAINA_RUNNING, "w");
    struct fa_retention_settings keep = keep_all(t);
    const char *first;

    keep.completed_ms = keep.failed_ms = 0;
    CHECK_OK(t, fa_t_block(t, parent, BY("w"), subtasks, 2));
    first = fa_t_child(t, parent, 0);
    fa_t_finish_task(t, first);
    CHECK_INT(run_round(t, &keep), 0);
    CHECK_NOW(t, first, FAINA_COMPLETED);
    fa_t_finish_task(t, fa_t_child(t, parent, 1));
    CHECK_INT(run_round(t, &keep), 0);
    fa_t_finish_task(t, parent);
    CHECK_INT(run_round(t, &keep), 3);
    CHECK_INT(count_of(read_archive(t), "\n"), 3);
}

static void test_retention__a_changed_task_stays(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_CANCELLED, "w"),
               *other = fa_t_make(t, FAINA_CANCELLED, "w");
    struct fa_expired_query query = {.completed_ms = -1, .limit = 10};
    struct fa_retention_settings keep = keep_all(t);
    struct faina_error err;
    struct fa_expired old;
    size_t removed;

    run_round(t, &keep); /* it leads */
    CHECK(fa_service_expired_find(t->svc, &query, &t->arena, &old, &err) == FAINA_OK, "%s",
          err.message);
    CHECK_INT(old.count, 2);
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK(fa_service_expired_remove(t->svc, &old, false, &removed, &err) == FAINA_OK, "%s",
          err.message);
    CHECK_INT(removed, 1);
    CHECK_NOW(t, id, FAINA_CANCELLED);
    CHECK_CODE(t, fa_t_get(t, other), FAINA_TASK_NOT_FOUND);
    CHECK(fa_service_expired_remove(t->svc, &old, false, &removed, &err) == FAINA_OK, "%s",
          err.message);
    CHECK_INT(removed, 0);
}

static void test_retention__events_may_go_before_the_task(struct fa_t *t)
{
    const char *id = fa_t_submit(t, .type = "a");
    struct fa_retention_settings keep = keep_all(t);

    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_OK(t, fa_t_retry(t, id, NOBODY));
    CHECK_OK(t, fa_t_cancel(t, id, NOBODY));
    CHECK_STORY(t, id, "created cancelled retried cancelled");
    keep.events_ms = keep.completed_ms = keep.failed_ms = FA_DURATION_MS_MAX;
    CHECK_INT(run_round(t, &keep), 0);
    keep.completed_ms = keep.failed_ms = -1;
    keep.events_ms = 3600 * 1000;
    run_round(t, &keep);
    CHECK_STORY(t, id, "created cancelled retried cancelled");
    CHECK_STR(read_archive(t), "");
    keep.events_ms = 0;
    usleep(5000);
    CHECK_INT(run_round(t, &keep), 0);
    CHECK_STORY(t, id, "created cancelled");
    CHECK_INT(lines_of(t, id), 1);
    CHECK_INT(count_of(read_archive(t), "\"event\":\"retried\""), 1);
    run_round(t, &keep);
    CHECK_INT(lines_of(t, id), 1);
}

static void test_retention__what_cannot_be_archived_stays(struct fa_t *t)
{
    const char *id = fa_t_make(t, FAINA_COMPLETED, "w");
    struct fa_retention_settings keep = keep_all(t);
    struct faina_error err;
    size_t removed;
    int fd = open(keep.archive, O_CREAT | O_WRONLY, 0600);

    close(fd);
    keep.completed_ms = 0;
    CHECK_INT(try_round(t, &keep, &removed, &err), FAINA_UNAVAILABLE);
    CHECK(strstr(err.message, keep.archive) != NULL, "%s", err.message);
    CHECK_INT(removed, 0);
    CHECK_NOW(t, id, FAINA_COMPLETED);
    unlink(keep.archive);
    CHECK_INT(run_round(t, &keep), 1);
    CHECK_INT(lines_of(t, id), 1);
}

/* A disk that is full in the middle of a write: as much as fits of a file, and no more. */
static void test_retention__a_full_disk_loses_nothing(struct fa_t *t)
{
    struct rlimit before, limit;
    struct fa_retention_settings keep = keep_all(t);
    struct faina_error err;
    size_t removed;
    int i;

    if (strncmp(t->url, "sqlite:", 7) == 0)
        return; /* the limit would hit its own file as well */
    for (i = 0; i < 100; i++)
        CHECK_OK(t, fa_t_cancel(t, fa_t_submit(t, .type = "a"), NOBODY));
    keep.failed_ms = 0;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = 1000;
    setrlimit(RLIMIT_FSIZE, &limit);
    CHECK_INT(try_round(t, &keep, &removed, &err), FAINA_UNAVAILABLE);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK(strstr(err.message, ".jsonl.gz can't be written") != NULL, "%s", err.message);
    CHECK_INT(removed, 0);
    CHECK_STR(read_archive(t), "");
    CHECK_INT(run_round(t, &keep), 100);
    CHECK_INT(count_of(read_archive(t), "\n"), 100);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE_NEEDS(test_retention__ended_tasks_go_into_the_archive, FA_T_LOCAL | FA_T_SQL),
        FA_T_CASE_NEEDS(test_retention__many_go_in_batches_each_once, FA_T_LOCAL | FA_T_SQL),
        FA_T_CASE_NEEDS(test_retention__a_subtask_stays_with_its_parent, FA_T_LOCAL | FA_T_SQL),
        FA_T_CASE_NEEDS(test_retention__a_changed_task_stays, FA_T_LOCAL | FA_T_SQL),
        FA_T_CASE_NEEDS(test_retention__events_may_go_before_the_task, FA_T_LOCAL | FA_T_SQL),
        FA_T_CASE_NEEDS(test_retention__what_cannot_be_archived_stays, FA_T_LOCAL | FA_T_SQL),
        FA_T_CASE_NEEDS(test_retention__a_full_disk_loses_nothing, FA_T_LOCAL | FA_T_SQL),
    };

    return fa_t_main(argc, argv, "retention", cases, FA_COUNT(cases));
}
