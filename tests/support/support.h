/*
 * support.h - shared by all suites: an engine of its own for each test, checks that print the
 * values that they compared, temporary folders, and waiting for a condition.
 *
 * A suite is a table of functions that take a `struct fa_t *`. fa_t_main runs each of them once per
 * engine URL, each time with a new engine in a new folder, and removes the folder afterwards.
 *
 * Threads: a struct fa_t belongs to one thread. crew.h gives each further thread one of its own
 * that shares the engine.
 */
#ifndef FA_TEST_SUPPORT_H
#define FA_TEST_SUPPORT_H

#include "service/service.h"

#include <stdarg.h>
#include <stdio.h>

#define FA_T_PATH_SIZE 512

struct fa_served;
struct fa_t_case;

/* The context of one test. */
struct fa_t {
    struct fa_service *svc;
    char dir[FA_T_PATH_SIZE];   /* this test's folder, inside TMPDIR; no '/' at the end */
    char url[FA_T_PATH_SIZE];   /* of the engine */
    bool is_durable;            /* stored tasks survive fa_t_reopen */
    bool is_sql;                /* FA_T_SQL */
    bool owns_schema;           /* the schema in `url` is dropped when the test ends */
    bool is_served;             /* `url` is a server's; it runs while the engine is open ... */
    struct fa_served *served;   /* ... and is this one (served.h) */
    char store[FA_T_PATH_SIZE]; /* ... with this engine behind it */
    struct faina_options options;
    struct fa_arena arena;   /* all results of this test are allocated here */
    struct fa_op op;         /* the newest operation with its result ... */
    struct faina_task *task; /* ... and its task, where it has one */
    const struct fa_t_case *test;
};

/* What a test needs from an engine. */
enum fa_t_need {
    FA_T_ANY = 0,
    FA_T_DURABLE = 1 << 0, /* tasks survive closing */
    FA_T_LOCAL = 1 << 1,   /* it is in this process */
    FA_T_SQL = 1 << 2,     /* it has everything that the SQL family has: subtasks, dependencies,
                              workflows, schedules, teams, deleted tasks, versions that grow by 1 */
};

struct fa_t_case {
    const char *name;
    void (*run)(struct fa_t *t);
    enum fa_t_need needs;
};

#define FA_T_CASE(function)                                                                        \
    {                                                                                              \
#function, function, FA_T_ANY                                                              \
    }
#define FA_T_CASE_DURABLE(function)                                                                \
    {                                                                                              \
#function, function, FA_T_DURABLE                                                          \
    }
#define FA_T_CASE_LOCAL(function)                                                                  \
    {                                                                                              \
#function, function, FA_T_LOCAL                                                            \
    }

#define FA_T_CASE_SQL(function)                                                                    \
    {                                                                                              \
#function, function, FA_T_SQL                                                              \
    }
#define FA_T_CASE_NEEDS(function, needs)                                                           \
    {                                                                                              \
#function, function, needs                                                                 \
    }

/*
 * Where a test's engine is. {dir} becomes the test's folder, {name} a name that no other test has,
 * {postgres} the server of tools/test-postgres, and {nats} that of tools/test-nats.
 */
#define FA_T_SQLITE "sqlite:{dir}/faina.db"
#define FA_T_MEMORY "memory:"
#define FA_T_POSTGRES                                                                              \
    "{postgres}?schema={name}" /* the engine creates the schema, the test drops it */
/* `faina serve` on a file in the test's folder, over TCP and over the socket beside the file. */
#define FA_T_HTTP "http:{serve}"
#define FA_T_UNIX "unix:{serve}"
/* The engine of NATS, on a store of keys in memory and on the servers of tools/test-nats. */
#define FA_T_KV_MEMORY "kv-memory:"
#define FA_T_NATS "{nats}?bucket={name}"

/*
 * Runs every case on every engine and returns the number that failed. argv[1] picks tests by name
 * (`*` and `?` are wildcards). FA_CONFORMANCE_URLS replaces the list of engines: URLs as above,
 * separated by spaces. A URL with {postgres} or {nats} is skipped when there is no server.
 */
int fa_t_main(int argc, char **argv, const char *suite, const struct fa_t_case *cases,
              size_t count);

/* For suites that open their engines themselves: a folder, no engine yet. */
void fa_t_init(struct fa_t *t);
void fa_t_finish(struct fa_t *t); /* closes, removes the folder and the schema */
/* t->url from one of the above: a new store, not opened yet. */
void fa_t_set_url(struct fa_t *t, const char *url);
void fa_t_open(struct fa_t *t); /* the engine at t->url; the test fails when it can't */
enum faina_code fa_t_try_open(struct fa_t *t, struct faina_error *err);
void fa_t_close(struct fa_t *t);
void fa_t_reopen(struct fa_t *t); /* durable engines only */
/* Another store of the same kind, not opened yet; the number makes its name. */
void fa_t_set_other_store(struct fa_t *t, unsigned long long number);
/* The engine's own checks of its store find nothing wrong. fa_t_main does this after every test. */
void fa_t_check_sound(struct fa_t *t);

/* Another context on the same engine, for another thread. Only its arena is its own. */
void fa_t_share(struct fa_t *mine, const struct fa_t *t);
void fa_t_unshare(struct fa_t *mine);

/* Frees all results so far. For long loops. */
void fa_t_forget(struct fa_t *t);

/* Folders and settings. */
void fa_t_temp_dir(char out[FA_T_PATH_SIZE]); /* made in TMPDIR, else /tmp */
void fa_t_remove_tree(const char *path);
const char *fa_t_path(struct fa_t *t, const char *name); /* a file in the test's folder */
int64_t fa_t_int(const char *text); /* the whole text is a number, or the test fails */
int64_t fa_t_env_int(const char *name, int64_t otherwise);
/* FA_SEED when set, else one from the clock. */
uint64_t fa_t_seed(void);

/* ------------------------------------------------------------------------------------------
 * Checks. On the test's own thread a failed check ends the test; on another thread it ends
 * the program, since a test can't be ended from there.
 */

void fa_t_fail(const char *file, int line, const char *format, ...) FA_PRINTF(3, 4)
    __attribute__((noreturn));
void fa_t_check_code(const struct fa_t *t, enum faina_code got, enum faina_code want,
                     const char *what, const char *file, int line);
void fa_t_check_int(int64_t got, int64_t want, const char *what, const char *file, int line);
void fa_t_check_str(const char *got, const char *want, const char *what, const char *file,
                    int line);
void fa_t_check_status(enum faina_status got, enum faina_status want, const char *what,
                       const char *file, int line);

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fa_t_fail(__FILE__, __LINE__, __VA_ARGS__);                                            \
    } while (0)
#define CHECK_CODE(t, call, want) fa_t_check_code(t, call, want, #call, __FILE__, __LINE__)
#define CHECK_OK(t, call) CHECK_CODE(t, call, FAINA_OK)
#define CHECK_INT(got, want)                                                                       \
    fa_t_check_int((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define CHECK_STR(got, want) fa_t_check_str(got, want, #got, __FILE__, __LINE__)
#define CHECK_STATUS(got, want) fa_t_check_status(got, want, #got, __FILE__, __LINE__)
#define CHECK_TRUE(condition) CHECK(condition, "not true: %s", #condition)

/* ------------------------------------------------------------------------------------------
 * Waiting for a condition
 */

#define FA_T_DEADLINE_MS 20000 /* long enough for a sanitizer build on a busy machine */

/* Polls until `fact` is true. The test fails after FA_T_DEADLINE_MS. */
void fa_t_wait_until(bool (*fact)(struct fa_t *t, void *arg), struct fa_t *t, void *arg,
                     const char *what);

#endif
