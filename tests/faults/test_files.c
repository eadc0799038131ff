/*
 * test_files.c - files that are not what they should be: a clear refusal, and nothing touched.
 */
#include "faults/inspect.h"
#include "faults/shim.h"
#include "support/writer.h"

#include "base/clock.h"
#include "base/random.h"
#include "support/crew.h"
#include "support/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void set_file(struct fa_t *t, const char *name)
{
    snprintf(t->url, sizeof t->url, "sqlite:%.400s/%s", t->dir, name);
    t->options.open_timeout_ms = -1; /* don't wait for another owner */
}

/* Opening is refused with UNAVAILABLE, in a sentence that has `word` in it. */
static void check_refused(struct fa_t *t, const char *word)
{
    struct faina_error err = {0};
    enum faina_code code = fa_t_try_open(t, &err);

    CHECK(code == FAINA_UNAVAILABLE, "%s: %s (%s), wanted unavailable", t->url,
          faina_code_name(code), err.message);
    CHECK_INT(err.code, FAINA_UNAVAILABLE);
    CHECK(strstr(err.message, word) != NULL, "\"%s\" doesn't speak of \"%s\"", err.message, word);
}

static void check_same_file(const char *path, const char *want, size_t want_size)
{
    size_t size;
    char *data = fa_f_read_file(path, &size);

    CHECK(size == want_size && memcmp(data, want, size) == 0, "%s was changed", path);
    free(data);
}

/* A file with a few hundred tasks in it; returns its path. */
static const char *make_file(struct fa_t *t, const char *name)
{
    set_file(t, name);
    fa_t_open(t);
    for (int i = 0; i < 200; i++) {
        const char *id = fa_t_submit(t, .type = i % 2 ? "x" : "y",
                                     .idempotency_key = fa_arena_printf(&t->arena, "k%d", i),
                                     .input = "{\"some\":\"input\"}");

        if (i % 3 == 0)
            fa_t_finish_task(t, id);
    }
    fa_t_close(t);
    return fa_t_path(t, name);
}

/* ------------------------------------------------------------------------------------------
 * Not ours
 */

static void test_files__not_a_database(void **state)
{
    static const char *const contents[] = {
        "This is a letter, and no database at all. It goes on for a while, as letters do.\n",
        "\x7f"
        "ELF\x02\x01\x01 something that looks like a program",
    };
    struct fa_t t;

    (void)state;
    fa_t_init(&t);
    set_file(&t, "letter.txt");
    for (size_t i = 0; i < FA_COUNT(contents); i++) {
        const char *path = fa_t_path(&t, "letter.txt");

        fa_f_write_file(path, contents[i], strlen(contents[i]));
        check_refused(&t, "letter.txt");
        check_same_file(path, contents[i], strlen(contents[i]));
        CHECK_TRUE(access(fa_t_path(&t, "letter.txt-wal"), F_OK) != 0);
    }
    fa_t_finish(&t);
}

static void test_files__database_of_another_program(void **state)
{
    const char *path;
    struct fa_t t;
    size_t size;
    char *before;

    (void)state;
    fa_t_init(&t);
    path = fa_t_path(&t, "other.db");
    fa_f_write_file(path, "", 0);
    fa_f_exec(path, "CREATE TABLE songs (name TEXT); INSERT INTO songs VALUES ('one')");
    before = fa_f_read_file(path, &size);
    set_file(&t, "other.db");
    check_refused(&t, "other.db");
    check_same_file(path, before, size);
    free(before);
    fa_t_finish(&t);
}

static void test_files__empty_file_becomes_ours(void **state)
{
    struct fa_t t;

    (void)state;
    fa_t_init(&t);
    fa_f_write_file(fa_t_path(&t, "empty.db"), "", 0);
    set_file(&t, "empty.db");
    fa_t_open(&t);
    fa_t_finish_task(&t, fa_t_submit(&t, .type = "x"));
    fa_t_finish(&t);
}

static void test_files__newer_than_the_program(void **state)
{
    const char *path;
    struct fa_t t;
    size_t size;
    char *before;

    (void)state;
    fa_t_init(&t);
    path = make_file(&t, "newer.db");
    fa_f_exec(path, "INSERT INTO schema_migrations SELECT * FROM (SELECT * FROM schema_migrations "
                    "LIMIT 0) UNION ALL SELECT '9999', 'from the future', "
                    "'2030-01-01T00:00:00.000000Z'");
    before = fa_f_read_file(path, &size);
    check_refused(&t, "newer");
    check_same_file(path, before, size);
    free(before);
    fa_f_exec(path, "DELETE FROM schema_migrations WHERE id = '9999'");
    fa_t_open(&t);
    CHECK_OK(&t, fa_t_get_by_key(&t, NULL, "x", "k1"));
    fa_t_finish(&t);
}

/* ------------------------------------------------------------------------------------------
 * Not a file, not to be written
 */

static void test_files__folders(void **state)
{
    struct fa_t t;

    (void)state;
    fa_t_init(&t);
    CHECK_INT(mkdir(fa_t_path(&t, "folder.db"), 0777), 0);
    set_file(&t, "folder.db");
    check_refused(&t, "folder.db");
    set_file(&t, "missing/faina.db");
    check_refused(&t, "missing");
    CHECK_TRUE(access(fa_t_path(&t, "missing"), F_OK) != 0);
    fa_t_finish(&t);
}

static void try_read_only(struct fa_t *t, const char *folder)
{
    char name[64];

    snprintf(name, sizeof name, "%s/kept.db", folder);
    set_file(t, name);
    check_refused(t, folder);
    snprintf(name, sizeof name, "%s/new.db", folder);
    set_file(t, name);
    check_refused(t, folder);
}

static int make_world(void **state)
{
    *state = fa_alloc(sizeof(struct fa_t));
    fa_t_init(*state);
    return 0;
}

/* Also when the test has failed. */
static int unmount_world(void **state)
{
    struct fa_t *t = *state;

    umount2(fa_t_path(t, "locked"), MNT_DETACH);
    fa_t_finish(t);
    free(t);
    return 0;
}

/* Root writes wherever it likes, but not on a file system that is mounted read-only. */
static void test_files__read_only_folder(void **state)
{
    bool is_root = geteuid() == 0;
    struct fa_t *t = *state;
    const char *folder = fa_t_path(t, "locked");

    CHECK_INT(mkdir(folder, 0777), 0);
    if (is_root && mount("faina-test", folder, "tmpfs", 0, "size=16m") != 0) {
        print_message("a file system can't be mounted here: %s\n", strerror(errno));
        skip();
    }
    make_file(t, "locked/kept.db");
    if (is_root)
        CHECK_INT(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    else
        CHECK_INT(chmod(folder, 0555), 0);
    try_read_only(t, "locked");
    if (is_root)
        CHECK_INT(mount(NULL, folder, NULL, MS_REMOUNT, NULL), 0);
    else
        CHECK_INT(chmod(folder, 0777), 0);
    set_file(t, "locked/kept.db");
    fa_t_open(t); /* the cause is gone */
    CHECK_OK(t, fa_t_get_by_key(t, NULL, "x", "k1"));
    fa_t_close(t);
}

/* ------------------------------------------------------------------------------------------
 * Taken away while it is open
 */

static void test_files__removed_while_open(void **state)
{
    static const char *const names[] = {"kept.db", "kept.db-wal", "kept.db.lock"};
    struct fa_service_info info;
    struct faina_error err;
    struct fa_t t;

    (void)state;
    fa_t_init(&t);
    make_file(&t, "kept.db");
    fa_t_open(&t);
    for (size_t i = 0; i < FA_COUNT(names); i++) {
        const char *path = fa_t_path(&t, names[i]), *away = fa_t_path(&t, "away");
        const char *id = fa_t_submit(&t, .type = "z");

        CHECK_INT(rename(path, away), 0);
        for (int is_replaced = 0; is_replaced < 2; is_replaced++) {
            CHECK_INT(fa_t_try_submit(&t, .type = "z"), FAINA_UNAVAILABLE);
            CHECK(strncmp(t.op.error.message, names[i], strlen(names[i])) == 0, "\"%s\"",
                  t.op.error.message);
            CHECK_INT(fa_service_info(t.svc, false, &t.arena, &info, &err), FAINA_UNAVAILABLE);
            /* By a new connection, unless a chore has left one that is open. */
            (void)fa_t_get(&t, id);
            CHECK_TRUE(t.op.code == FAINA_UNAVAILABLE || t.op.code == FAINA_OK);
            fa_f_write_file(path, "", 0);
        }
        CHECK_INT(rename(away, path), 0);
        CHECK_OK(&t, fa_t_claim(&t, id, "w"));
    }
    fa_t_close(&t);
    fa_t_open(&t);
    CHECK_OK(&t, fa_t_list(&t, .type = "z"));
    CHECK_INT(t.op.tasks->count, FA_COUNT(names));
    fa_t_finish(&t);
}

/* ------------------------------------------------------------------------------------------
 * Damaged
 */

/* Everything there is to do with a task, on each of these. */
/* A worker that believes to hold them all lives, and signs off. */
static int poke_worker(struct fa_t *t, const struct faina_tasks *tasks)
{
    struct faina_held *held = fa_arena_zero(&t->arena, tasks->count + 1, sizeof(*held));
    struct faina_worker self = {.id = "w"};
    struct fa_op ops[] = {
        {.kind = FA_OP_WORKER_PUT, .arena = &t->arena, .worker = {&self, held, tasks->count, 0}},
        {.kind = FA_OP_WORKER_REMOVE, .arena = &t->arena, .id = "w"},
    };
    int refused = 0;

    for (size_t i = 0; i < tasks->count; i++)
        held[i].id = tasks->items[i].id;
    for (size_t i = 0; i < FA_COUNT(ops); i++) {
        fa_service_run(t->svc, &ops[i], 1);
        CHECK(ops[i].code == FAINA_OK || ops[i].error.message[0], "%s without a sentence",
              faina_code_name(ops[i].code));
        refused += ops[i].code == FAINA_UNAVAILABLE || ops[i].code == FAINA_INTERNAL;
    }
    return refused;
}

static int poke_tasks(struct fa_t *t, const struct faina_tasks *tasks)
{
    static const enum fa_op_kind kinds[] = {
        FA_OP_GET,       FA_OP_EVENTS,   FA_OP_EXPLAIN, FA_OP_CHILDREN, FA_OP_CLAIM,  FA_OP_START,
        FA_OP_HEARTBEAT, FA_OP_COMPLETE, FA_OP_CANCEL,  FA_OP_RETRY,    FA_OP_DELETE,
    };
    int refused = 0;

    for (size_t i = 0; i < tasks->count; i++) {
        for (size_t k = 0; k < FA_COUNT(kinds); k++) {
            struct fa_op op = {
                .kind = kinds[k], .id = tasks->items[i].id, .wants_task = true, .arena = &t->arena};

            op.by.worker_id = fa_op_writes(op.kind) ? "w" : NULL;
            fa_service_run(t->svc, &op, 1);
            CHECK(op.code == FAINA_OK || op.error.message[0], "%s without a sentence",
                  faina_code_name(op.code));
            refused += op.code == FAINA_UNAVAILABLE || op.code == FAINA_INTERNAL;
        }
    }
    return refused + poke_worker(t, tasks);
}

/* Opens a damaged file and does a little of everything. Whatever comes back, it is an answer. */
static int poke(struct fa_t *t)
{
    struct faina_error err = {0};
    enum faina_code code = fa_t_try_open(t, &err);
    int refused = code != FAINA_OK;

    CHECK(code == FAINA_OK || (code == FAINA_UNAVAILABLE && err.message[0]), "open: %s (%s)",
          faina_code_name(code), err.message);
    if (code != FAINA_OK)
        return refused;
    for (int i = 0; i < 20; i++) {
        struct faina_submit submit = {.type = "x",
                                      .idempotency_key = fa_arena_printf(&t->arena, "k%d", i)};
        struct faina_claim claim = {.worker_id = "w", .limit = 3};
        struct faina_query query = {.ns = "*", .limit = 50};
        struct fa_op ops[] = {
            {.kind = FA_OP_SUBMIT, .submit = &submit, .arena = &t->arena},
            {.kind = FA_OP_CLAIM_NEXT, .claim = &claim, .arena = &t->arena},
            {.kind = FA_OP_LIST, .query = &query, .arena = &t->arena},
            {.kind = FA_OP_STATS, .name = {"*", NULL, NULL}, .arena = &t->arena},
            {.kind = FA_OP_WORKER_LIST, .arena = &t->arena},
        };

        /* Not through fa_t_run: what a damaged file holds may break every rule. */
        fa_service_run(t->svc, ops, FA_COUNT(ops));
        if (i == 0 && ops[2].code == FAINA_OK)
            refused += poke_tasks(t, ops[2].tasks);
        for (size_t j = 0; j < FA_COUNT(ops); j++) {
            CHECK(ops[j].code == FAINA_OK || ops[j].error.message[0], "%s without a sentence",
                  faina_code_name(ops[j].code));
            refused += ops[j].code != FAINA_OK;
        }
    }
    fa_t_close(t);
    return refused;
}

/* Something in every table. */
static void populate(struct fa_t *t)
{
    const char *gpu = "gpu";
    const char *id;

    for (enum faina_status s = 0; s < FAINA_STATUS_COUNT; s++)
        fa_t_make(t, s, "w");
    CHECK_OK(t, fa_t_resource_set(t, "gpu", 3));
    for (int i = 0; i < 4; i++) {
        id = fa_t_submit(t, .type = "using", .resources = &gpu, .resource_count = 1);
        if (i % 2)
            fa_t_take(t, id, "w");
    }
    fa_t_submit(t, .type = "after", .depends_on = &id, .depends_on_count = 1, .delay_ms = 60000);
    id = fa_t_submit(t, .type = "again");
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_fail_attempt(t, id, BY("w"), "no"));
    fa_t_take(t, id, "w");
    CHECK_OK(t, fa_t_run(t, &(struct fa_op){.kind = FA_OP_WORKER_PUT,
                                            .worker = {.self = &(struct faina_worker){"w"}}}));
    CHECK_OK(t, fa_t_pause(t, NULL, "paused"));
    CHECK_OK(t, fa_t_team_put(t, &(struct faina_team){.name = "red"}));
}

static void write_damaged(struct fa_t *t, const char *data, size_t size)
{
    fa_f_write_file(fa_t_path(t, "damaged.db"), data, size);
    remove(fa_t_path(t, "damaged.db-wal"));
    remove(fa_t_path(t, "damaged.db-shm"));
}

static void test_files__damaged_header(void **state)
{
    struct fa_t t;
    size_t size;
    char *data;

    (void)state;
    fa_t_init(&t);
    data = fa_f_read_file(make_file(&t, "sound.db"), &size);
    set_file(&t, "damaged.db");
    for (size_t at = 0; at < 100; at++) {
        data[at] = (char)~data[at];
        write_damaged(&t, data, size);
        poke(&t);
        data[at] = (char)~data[at];
        fa_t_forget(&t);
    }
    write_damaged(&t, data, size);
    CHECK_INT(poke(&t), 0);
    free(data);
    fa_t_finish(&t);
}

static void test_files__damaged_pages(void **state)
{
    struct fa_random random;
    int refused = 0;
    struct fa_t t;
    size_t size;
    char *data;

    (void)state;
    fa_t_init(&t);
    fa_random_seed(&random, fa_t_seed());
    data = fa_f_read_file(make_file(&t, "sound.db"), &size);
    set_file(&t, "damaged.db");
    for (int round = 0; round < 150; round++) {
        char *copy = fa_alloc(size);
        size_t at = 100 + fa_random_below(&random, size - 100);
        size_t len = 1 + fa_random_below(&random, 64);

        memcpy(copy, data, size);
        for (size_t i = at; i < at + len && i < size; i++)
            copy[i] = (char)fa_random_next(&random);
        write_damaged(&t, copy, size);
        refused += poke(&t) > 0;
        free(copy);
        fa_t_forget(&t);
    }
    CHECK(refused > 0, "no damage was ever noticed");
    free(data);
    fa_t_finish(&t);
}

/* A file whose pages are sound, but that says things which the engine never wrote. */
static void test_files__nonsense_in_rows(void **state)
{
    static const char *const nonsense[] = {
        "UPDATE lane SET resources = '{\"a\"' || id",
        "UPDATE lane SET resources = 'null' || id",
        "UPDATE lane SET resources = '[1, {}, ' || id || ']'",
        "UPDATE lane SET resources = '\"gpu\"' WHERE id = 1",
        "UPDATE lane SET resources = '' WHERE id = 1",
        "UPDATE lane SET id = -id",
        "UPDATE lane SET id = id + 1152921504606846976",
        "UPDATE lane SET id = 0 WHERE id = 1",
        "UPDATE lane SET namespace = x'ff00fe', type = x'00' WHERE id = 1",
        "DELETE FROM lane",
        "UPDATE task SET lane = 999",
        "UPDATE task SET tail = -1",
        "UPDATE task SET id = -id",
        "UPDATE task SET parent = id",
        "UPDATE task SET input = '{', metadata = 7, key = x'ff'",
        "UPDATE task SET max_attempts = -3, rank = 'high', retry_factor = -1e308",
        "DELETE FROM task",
        "UPDATE ready SET lane = lane + 100",
        "UPDATE ready SET id = id + 1",
        "UPDATE ready SET version = 'x', attempts = -1, flags = -1, fence = -5",
        "UPDATE held SET status = 77",
        "UPDATE held SET lane = 12345, worker = NULL",
        "UPDATE held SET lease_us = -1, flags = 1073741823",
        "UPDATE parked SET status = -2",
        "UPDATE parked SET deps_left = -9, deps_bad = 100",
        "UPDATE parked SET status = 3, at_us = 1",
        "UPDATE ended SET status = 1",
        "UPDATE ended SET status = 99, output = '{'",
        "UPDATE ended SET completed_us = NULL WHERE 0; DELETE FROM ended",
        "INSERT INTO ended SELECT * FROM ended LIMIT 0; DELETE FROM ready; DELETE FROM held",
        "UPDATE tally SET n = -5",
        "UPDATE tally SET status = 50, lane = -1",
        "DELETE FROM tally",
        "UPDATE resource SET max_concurrency = -77, name = ''",
        "UPDATE resource SET id = -id",
        "DELETE FROM resource",
        "DELETE FROM hold",
        "UPDATE hold SET task = 5",
        "DELETE FROM task_key",
        "UPDATE task_key SET task = 3",
        "UPDATE task_dep SET needs = task",
        "DELETE FROM task_dep",
        "UPDATE event SET what = NULL WHERE 0; UPDATE event SET status = 66, actor = 9, at_us = -1",
        "UPDATE worker SET last_heartbeat_us = 9223372036854775807, pool_size = 'x'",
        "UPDATE worker SET last_heartbeat_us = 'x', started_us = -1, is_leader = 9",
        "UPDATE worker SET types = '[1,{', services = x'ff', last_heartbeat_us = -5",
        "UPDATE worker SET types = '{}', services = '[7,null]', version = x'00'",
        "UPDATE schema_migrations SET executed_at = 'yesterday', description = x'ff'",
    };
    struct fa_t t;
    size_t size;
    char *data;

    (void)state;
    fa_t_init(&t);
    make_file(&t, "sound.db");
    fa_t_open(&t);
    populate(&t);
    fa_t_close(&t);
    data = fa_f_read_file(fa_t_path(&t, "sound.db"), &size);
    set_file(&t, "damaged.db");
    for (size_t i = 0; i < FA_COUNT(nonsense); i++) {
        write_damaged(&t, data, size);
        if (fa_f_try_exec(fa_t_path(&t, "damaged.db"), nonsense[i]))
            poke(&t);
        fa_t_forget(&t);
    }
    free(data);
    fa_t_finish(&t);
}

static void test_files__cut_short(void **state)
{
    struct fa_t t;
    size_t size;
    char *data;

    (void)state;
    fa_t_init(&t);
    data = fa_f_read_file(make_file(&t, "sound.db"), &size);
    set_file(&t, "damaged.db");
    for (int i = 1; i < 40; i++) {
        size_t cut = i < 10 ? (size_t)i * 13 : size * (size_t)i / 40;

        write_damaged(&t, data, cut);
        /* Of the last pages nobody may ever have need. */
        CHECK(poke(&t) > 0 || i > 20, "a file cut to %zu of %zu bytes was taken for whole", cut,
              size);
        fa_t_forget(&t);
    }
    free(data);
    fa_t_finish(&t);
}

/* ------------------------------------------------------------------------------------------
 * One owner
 */

static void test_files__second_opener_in_this_process(void **state)
{
    struct fa_t t, second;

    (void)state;
    fa_t_init(&t);
    set_file(&t, "one.db");
    fa_t_open(&t);
    second = t;
    second.svc = NULL;
    check_refused(&second, "one.db");
    fa_t_finish_task(&t, fa_t_submit(&t, .type = "x")); /* the first doesn't mind */
    fa_t_close(&t);
    fa_t_open(&second);
    fa_t_close(&second);
    fa_t_finish(&t);
}

static void ignore_record(void *ctx, const struct fa_l_record *record)
{
    (void)ctx;
    (void)record;
}

static void test_files__owned_by_another_process(void **state)
{
    struct fa_w holder;
    struct fa_t t;
    char pid[32];

    (void)state;
    fa_t_init(&t);
    set_file(&t, "owned.db");
    fa_w_start(&holder, &(struct fa_w_plan){.role = FA_W_HOLD, .url = t.url});
    CHECK(fa_w_read(&holder, FA_T_DEADLINE_MS * 1000, ignore_record, NULL), "it has ended");
    snprintf(pid, sizeof pid, "%d", (int)holder.pid);
    check_refused(&t, pid);
    fa_w_kill(&holder, ignore_record, NULL);
    fa_t_open(&t); /* the lock went with the process */
    fa_t_finish_task(&t, fa_t_submit(&t, .type = "x"));
    fa_t_finish(&t);
}

static void kill_holder(struct fa_t *mine, size_t index, void *arg)
{
    (void)mine;
    (void)index;
    fa_w_kill(arg, ignore_record, NULL);
}

static void test_files__waits_for_the_owner_to_go(void **state)
{
    struct faina_error err = {0};
    struct fa_t_crew *crew;
    struct fa_w holder;
    int64_t start_us;
    struct fa_t t;

    (void)state;
    fa_t_init(&t);
    set_file(&t, "owned.db");
    fa_w_start(&holder, &(struct fa_w_plan){.role = FA_W_HOLD, .url = t.url});
    CHECK(fa_w_read(&holder, FA_T_DEADLINE_MS * 1000, ignore_record, NULL), "it has ended");
    t.options.open_timeout_ms = 50;
    start_us = fa_clock_mono_us();
    CHECK_INT(fa_t_try_open(&t, &err), FAINA_UNAVAILABLE);
    CHECK(fa_clock_mono_us() - start_us >= 50 * 1000, "it gave up too early");
    t.options.open_timeout_ms = FA_T_DEADLINE_MS;
    crew = fa_t_crew_start(&t, 1, kill_holder, &holder);
    fa_t_open(&t);
    fa_t_crew_join(crew);
    fa_t_finish(&t);
}

/* Another name of the same file is still the same file. */
static void test_files__other_names_of_an_owned_file(void **state)
{
    struct fa_t t, second;

    (void)state;
    fa_t_init(&t);
    set_file(&t, "real.db");
    fa_t_open(&t);
    CHECK_INT(symlink("real.db", fa_t_path(&t, "soft.db")), 0);
    CHECK_INT(mkdir(fa_t_path(&t, "sub"), 0777), 0);
    second = t;
    second.svc = NULL;
    second.arena = (struct fa_arena){0};
    set_file(&second, "sub/../real.db");
    check_refused(&second, "real.db");
    set_file(&second, "soft.db");
    check_refused(&second, ".db");
    fa_t_finish(&t);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files__not_a_database),
        cmocka_unit_test(test_files__database_of_another_program),
        cmocka_unit_test(test_files__empty_file_becomes_ours),
        cmocka_unit_test(test_files__newer_than_the_program),
        cmocka_unit_test(test_files__folders),
        cmocka_unit_test_setup_teardown(test_files__read_only_folder, make_world, unmount_world),
        cmocka_unit_test(test_files__removed_while_open),
        cmocka_unit_test(test_files__damaged_header),
        cmocka_unit_test(test_files__damaged_pages),
        cmocka_unit_test(test_files__nonsense_in_rows),
        cmocka_unit_test(test_files__cut_short),
        cmocka_unit_test(test_files__second_opener_in_this_process),
        cmocka_unit_test(test_files__owned_by_another_process),
        cmocka_unit_test(test_files__waits_for_the_owner_to_go),
        cmocka_unit_test(test_files__other_names_of_an_owned_file),
    };

    if (fa_w_is_writer(argc, argv))
        return fa_w_main(argv);
    fa_shim_install(); /* fails nothing here, but makes flushes free */
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("files", tests, NULL, NULL);
}
