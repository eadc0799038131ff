/*
 * support.c - see support.h.
 */
#include "support/support.h"

#include "base/clock.h"
#include "base/random.h"
#include "support/psql.h"
#include "support/served.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define URLS_DEFAULT FA_T_SQLITE " " FA_T_MEMORY " " FA_T_POSTGRES " " FA_T_HTTP

/* The state that cmocka passes to a test's set-up. */
struct plan {
    const struct fa_t_case *test;
    char url[FA_T_PATH_SIZE];
    char name[FA_T_PATH_SIZE];
};

/* ------------------------------------------------------------------------------------------
 * Checks
 */

void fa_t_fail(const char *file, int line, const char *format, ...)
{
    char text[8192];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (syscall(SYS_gettid) == getpid()) {
        print_error("%s\n", text);
        _fail(file, line);
    }
    fprintf(stderr, "%s:%d: %s (on a thread of its own)\n", file, line, text);
    abort();
}

void fa_t_check_code(const struct fa_t *t, enum faina_code got, enum faina_code want,
                     const char *what, const char *file, int line)
{
    if (got == want)
        return;
    fa_t_fail(file, line, "%s answered %s (%s), wanted %s", what, faina_code_name(got),
              t->op.error.message, faina_code_name(want));
}

void fa_t_check_int(int64_t got, int64_t want, const char *what, const char *file, int line)
{
    if (got != want)
        fa_t_fail(file, line, "%s is %lld, wanted %lld", what, (long long)got, (long long)want);
}

/* Where two texts first differ: the beginning of that line. */
static const char *differing_line(const char *a, const char *b)
{
    const char *line = a;

    for (const char *at = a; *at && *at == *b; at++, b++)
        if (*at == '\n')
            line = at + 1;
    return line;
}

void fa_t_check_str(const char *got, const char *want, const char *what, const char *file, int line)
{
    const char *got_line, *want_line;

    if (got == NULL && want == NULL)
        return;
    if (got == NULL || want == NULL)
        fa_t_fail(file, line, "%s is %s, wanted %s", what, got ? got : "(null)",
                  want ? want : "(null)");
    if (strcmp(got, want) == 0)
        return;
    got_line = differing_line(got, want);
    want_line = differing_line(want, got);
    if (got_line == got && strchr(got, '\n') == NULL)
        fa_t_fail(file, line, "%s is \"%s\", wanted \"%s\"", what, got, want);
    fa_t_fail(file, line, "%s differs:\n- %.*s\n+ %.*s", what, (int)strcspn(want_line, "\n"),
              want_line, (int)strcspn(got_line, "\n"), got_line);
}

void fa_t_check_status(enum faina_status got, enum faina_status want, const char *what,
                       const char *file, int line)
{
    if (got != want)
        fa_t_fail(file, line, "%s is %s, wanted %s", what, faina_status_name(got),
                  faina_status_name(want));
}

/* ------------------------------------------------------------------------------------------
 * Folders and settings
 */

void fa_t_temp_dir(char out[FA_T_PATH_SIZE])
{
    const char *base = getenv("TMPDIR");

    snprintf(out, FA_T_PATH_SIZE, "%s/faina-test-XXXXXX", base && *base ? base : "/tmp");
    if (mkdtemp(out) == NULL)
        fa_t_fail(__FILE__, __LINE__, "can't make a folder like %s", out);
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    return remove(path);
}

void fa_t_remove_tree(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *fa_t_path(struct fa_t *t, const char *name)
{
    return fa_arena_printf(&t->arena, "%s/%s", t->dir, name);
}

int64_t fa_t_int(const char *text)
{
    char *end;
    long long value = strtoll(text, &end, 0);

    CHECK(end != text && *end == '\0', "\"%s\" is not a number", text);
    return value;
}

int64_t fa_t_env_int(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? fa_t_int(text) : otherwise;
}

uint64_t fa_t_seed(void)
{
    return (uint64_t)fa_t_env_int("FA_SEED", fa_clock_now_us() & 0x7fffffff);
}

/* ------------------------------------------------------------------------------------------
 * A test's engine
 */

void fa_t_init(struct fa_t *t)
{
    memset(t, 0, sizeof *t);
    fa_t_temp_dir(t->dir);
}

/* The server of a test that has one, for as long as its engine is open. */
static void serve(struct fa_t *t)
{
    if (!t->served)
        t->served = fa_alloc_zero(1, sizeof *t->served);
    fa_served_start(t->served, t->store, t->dir, &t->options);
    if (strncmp(t->url, "unix:", 5) == 0)
        snprintf(t->url, sizeof t->url, "unix:%.480s.sock", t->store + strlen("sqlite:"));
    else
        snprintf(t->url, sizeof t->url, "%s", t->served->url);
}

enum faina_code fa_t_try_open(struct fa_t *t, struct faina_error *err)
{
    enum faina_code code;

    if (t->is_served)
        serve(t);
    code = fa_service_open(&t->svc, t->url, &t->options, err);

    if (code != FAINA_OK)
        t->svc = NULL;
    return code;
}

void fa_t_open(struct fa_t *t)
{
    struct faina_error err = {0};

    if (fa_t_try_open(t, &err) != FAINA_OK)
        fa_t_fail(__FILE__, __LINE__, "can't open %s: %s (%s)", t->url, err.message,
                  faina_code_name(err.code));
}

void fa_t_close(struct fa_t *t)
{
    fa_service_close(t->svc);
    t->svc = NULL;
    if (t->served)
        fa_served_stop(t->served);
}

void fa_t_reopen(struct fa_t *t)
{
    CHECK(t->is_durable, "%s keeps nothing when it is closed", t->url);
    fa_t_close(t);
    fa_t_open(t);
}

void fa_t_set_other_store(struct fa_t *t, unsigned long long number)
{
    char *url = t->is_served ? t->store : t->url;
    size_t len = strlen(url);

    CHECK(len + 32 < FA_T_PATH_SIZE, "a URL that is too long: %s", url);
    snprintf(url + len, FA_T_PATH_SIZE - len, ".%llu", number);
}

void fa_t_check_sound(struct fa_t *t)
{
    struct fa_service_info info = {0};
    struct faina_error err = {0};
    enum faina_code code = fa_service_info(t->svc, true, &t->arena, &info, &err);

    CHECK(code == FAINA_OK, "the engine can't check itself: %s", err.message);
    CHECK(info.finding_count == 0, "the engine finds: %s", info.findings[0]);
}

void fa_t_finish(struct fa_t *t)
{
    fa_t_close(t);
    free(t->served);
    if (t->owns_schema)
        fa_psql_drop_schema(t->url);
    fa_arena_finish(&t->arena);
    fa_t_remove_tree(t->dir);
}

void fa_t_share(struct fa_t *mine, const struct fa_t *t)
{
    *mine = *t;
    mine->arena = (struct fa_arena){0};
    mine->op = (struct fa_op){0};
    mine->task = NULL;
}

void fa_t_unshare(struct fa_t *mine)
{
    fa_arena_finish(&mine->arena);
}

void fa_t_forget(struct fa_t *t)
{
    fa_arena_reset(&t->arena);
    t->op = (struct fa_op){0};
    t->task = NULL;
}

/* ------------------------------------------------------------------------------------------
 * Running a suite
 */

static bool is_sql_url(const char *url)
{
    return strcmp(url, FA_T_KV_MEMORY) != 0 && strncmp(url, "nats:", 5) != 0 &&
           strncmp(url, "{nats}", 6) != 0;
}

static bool is_durable_url(const char *url)
{
    return strncmp(url, "memory:", 7) != 0 && strcmp(url, FA_T_KV_MEMORY) != 0;
}

/* A name that is valid for every kind of store: small letters, digits and `_`. */
static void make_name(char out[32])
{
    struct fa_random random;

    fa_random_seed_system(&random);
    snprintf(out, 32, "t_%016llx", (unsigned long long)fa_random_next(&random));
}

/* The value of a word in braces at `text`, and how long the word is. */
static const char *word_value(const char *text, const char *dir, const char *name, size_t *taken)
{
    const struct {
        const char *word, *value;
    } words[] = {{"{dir}", dir},
                 {"{name}", name},
                 {"{postgres}", fa_psql_url()},
                 {"{nats}", getenv("FA_NATS_URL")}};

    for (size_t i = 0; i < FA_COUNT(words); i++) {
        *taken = strlen(words[i].word);
        if (strncmp(text, words[i].word, *taken) == 0)
            return words[i].value;
    }
    return NULL;
}

void fa_t_set_url(struct fa_t *t, const char *url)
{
    char name[32];
    size_t len = 0, taken;

    make_name(name);
    while (*url != '\0' && len + 1 < sizeof t->url) {
        const char *value = word_value(url, t->dir, name, &taken);

        if (value) {
            len += (size_t)snprintf(t->url + len, sizeof t->url - len, "%s", value);
            url += taken;
        } else {
            t->url[len++] = *url++;
        }
    }
    CHECK(len < sizeof t->url, "a URL that is too long: %s", t->url);
    t->url[len] = '\0';
    t->is_durable = is_durable_url(t->url);
    t->is_sql = is_sql_url(t->url);
    t->is_served = strstr(t->url, "{serve}") != NULL;
    snprintf(t->store, sizeof t->store, "sqlite:%.480s/faina.db", t->dir);
    t->owns_schema = strncmp(t->url, "postgres", 8) == 0 && strstr(t->url, name);
}

static int set_up(void **state)
{
    const struct plan *plan = *state;
    struct fa_t *t = fa_alloc_zero(1, sizeof *t);

    fa_t_init(t);
    t->test = plan->test;
    fa_t_set_url(t, plan->url);
    fa_t_open(t);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct fa_t *t = *state;

    fa_t_finish(t);
    free(t);
    return 0;
}

static void run_case(void **state)
{
    struct fa_t *t = *state;

    t->test->run(t);
    if (t->svc)
        fa_t_check_sound(t);
}

/* The engine's kind for messages: the part before the colon. */
static void kind_of(const char *url, char out[32])
{
    if (strncmp(url, "{postgres}", 10) == 0)
        snprintf(out, 32, "postgres");
    else if (strncmp(url, "{nats}", 6) == 0)
        snprintf(out, 32, "nats");
    else
        snprintf(out, 32, "%.*s", (int)strcspn(url, ":"), url);
}

/* Fills in one plan for each case that `url` can run; returns how many. */
static size_t plan_url(struct plan *plans, const char *url, const struct fa_t_case *cases,
                       size_t count)
{
    size_t used = 0;
    char kind[32];

    if (strstr(url, "{postgres}") && fa_psql_url() == NULL) {
        print_message("no PostgreSQL here: run it through tools/test-postgres\n");
        return 0;
    }
    if (strstr(url, "{nats}") && getenv("FA_NATS_URL") == NULL) {
        print_message("no NATS here: run it through tools/test-nats\n");
        return 0;
    }
    kind_of(url, kind);
    for (size_t i = 0; i < count; i++) {
        struct plan *plan = &plans[used];

        if ((cases[i].needs & FA_T_DURABLE) && !is_durable_url(url))
            continue;
        if ((cases[i].needs & FA_T_LOCAL) && strstr(url, "{serve}"))
            continue;
        if ((cases[i].needs & FA_T_SQL) && !is_sql_url(url))
            continue;
        plan->test = &cases[i];
        snprintf(plan->url, sizeof plan->url, "%s", url);
        snprintf(plan->name, sizeof plan->name, "%s [%s]", cases[i].name, kind);
        used++;
    }
    return used;
}

int fa_t_main(int argc, char **argv, const char *suite, const struct fa_t_case *cases, size_t count)
{
    const char *setting = getenv("FA_CONFORMANCE_URLS");
    char *urls = strdup(setting && *setting ? setting : URLS_DEFAULT);
    char *rest = NULL;
    size_t url_count = 1, used = 0;
    struct plan *plans;
    struct CMUnitTest *tests;
    int failed;

    for (const char *at = urls; *at; at++)
        url_count += *at == ' ';
    plans = fa_alloc_zero(url_count * count, sizeof *plans);
    for (char *url = strtok_r(urls, " ", &rest); url; url = strtok_r(NULL, " ", &rest))
        used += plan_url(plans + used, url, cases, count);
    tests = fa_alloc_zero(used ? used : 1, sizeof *tests);
    for (size_t i = 0; i < used; i++)
        tests[i] = (struct CMUnitTest){plans[i].name, run_case, set_up, tear_down, &plans[i]};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    failed = _cmocka_run_group_tests(suite, tests, used, NULL, NULL);
    free(tests);
    free(plans);
    free(urls);
    return failed;
}

/* ------------------------------------------------------------------------------------------
 * Waiting
 */

void fa_t_wait_until(bool (*fact)(struct fa_t *t, void *arg), struct fa_t *t, void *arg,
                     const char *what)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t deadline = fa_clock_mono_us() + FA_T_DEADLINE_MS * 1000;

    while (!fact(t, arg)) {
        CHECK(fa_clock_mono_us() < deadline, "waited %d ms in vain until %s", FA_T_DEADLINE_MS,
              what);
        nanosleep(&pause, NULL);
    }
}
