/*
 * test_open.c - URLs and options: which engine, or why none.
 */
#include "support/ops.h"

#include "model/limits.h"

static void test_open__bad_urls(struct fa_t *t)
{
    static const struct {
        const char *url;
        enum faina_code code;
    } cases[] = {
        {"", FAINA_INVALID_REQUEST},
        {"faina.db", FAINA_INVALID_REQUEST},
        {"sqlite:", FAINA_INVALID_REQUEST},
        {"sqlite://faina.db", FAINA_INVALID_REQUEST},
        {"sqlite::memory:", FAINA_INVALID_REQUEST},
        {"memory", FAINA_INVALID_REQUEST},
        {"memory:x", FAINA_INVALID_REQUEST},
        {"mysql://me:secret@host/db", FAINA_INVALID_REQUEST},
        {"amqp://host", FAINA_INVALID_REQUEST},
    };

    (void)t;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_service *svc = NULL;
        struct faina_error err = {0};
        enum faina_code code = fa_service_open(&svc, cases[i].url, NULL, &err);

        CHECK(code == cases[i].code, "\"%s\": %s, wanted %s", cases[i].url, faina_code_name(code),
              faina_code_name(cases[i].code));
        CHECK_STR(err.field, "url");
        CHECK(strstr(err.message, "secret") == NULL, "a password in \"%s\"", err.message);
        CHECK(svc == NULL, "\"%s\" was opened all the same", cases[i].url);
    }
}

static void test_open__options_out_of_range(struct fa_t *t)
{
    static const struct {
        struct faina_options options;
        const char *field;
    } cases[] = {
        {{.input_size_max = -1}, "input_size_max"},
        {{.input_size_max = FA_INPUT_SIZE_CEILING + 1}, "input_size_max"},
        {{.cache_kib = -1}, "cache_kib"},
    };

    (void)t;
    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_service *svc = NULL;
        struct faina_error err = {0};

        CHECK_INT(fa_service_open(&svc, "memory:", &cases[i].options, &err), FAINA_INVALID_REQUEST);
        CHECK_STR(err.field, cases[i].field);
    }
}

static void test_open__small_cache_is_enough(struct fa_t *t)
{
    fa_t_close(t);
    t->options.cache_kib = 64;
    fa_t_open(t);
    for (int i = 0; i < 300; i++)
        fa_t_finish_task(t, fa_t_submit(t, .type = "x", .input = "{\"a\":1}"));
    CHECK_OK(t, fa_t_stats(t, NULL));
    CHECK_INT(t->op.stats->by_status[FAINA_COMPLETED], 300);
}

static void test_open__info_tells_what_it_is(struct fa_t *t)
{
    struct fa_service_info info = {0};
    struct faina_error err = {0};

    fa_t_submit(t, .type = "x");
    CHECK_INT(fa_service_info(t->svc, true, &t->arena, &info, &err), FAINA_OK);
    CHECK_TRUE(info.engine && info.engine[0]);
    CHECK_TRUE(info.features == 0 || (info.features & FA_HAS_WORKFLOWS));
    CHECK_INT((info.features & FA_HAS_BACKUP) != 0, strcmp(info.engine, "sqlite") == 0);
    CHECK_TRUE(info.engine_version && info.engine_version[0]);
    CHECK_TRUE(info.schema_version > 0 && info.migration_count > 0);
    CHECK_TRUE(info.migrations[0].id && info.migrations[0].description);
    CHECK_TRUE(info.migrations[0].executed_us > 0);
    CHECK_TRUE(info.commits > 0 && info.operations > 0);
    CHECK_INT(info.finding_count, 0);
}

/* In memory, every opening is an engine of its own. */
static void test_open__memory_is_not_shared(struct fa_t *t)
{
    struct fa_t one = {.url = "memory:"}, two = {.url = "memory:"};
    const char *id;

    (void)t;
    fa_t_open(&one);
    fa_t_open(&two);
    id = fa_t_submit(&one, .type = "x");
    CHECK_CODE(&two, fa_t_get(&two, id), FAINA_TASK_NOT_FOUND);
    fa_t_close(&one);
    fa_t_close(&two);
    fa_arena_finish(&one.arena);
    fa_arena_finish(&two.arena);
}

int main(int argc, char **argv)
{
    static const struct fa_t_case cases[] = {
        FA_T_CASE(test_open__bad_urls),
        FA_T_CASE(test_open__options_out_of_range),
        FA_T_CASE(test_open__small_cache_is_enough),
        FA_T_CASE_SQL(test_open__info_tells_what_it_is),
        FA_T_CASE(test_open__memory_is_not_shared),
    };

    return fa_t_main(argc, argv, "open", cases, FA_COUNT(cases));
}
