/*
 * test_url.c - request targets.
 */
#include "unit/base/unit.h"

#include "server/routes/route.h"

static void check_param(const char *name, const char *got, const char *expected)
{
    check_int(name, got != NULL, expected != NULL);
    if (expected)
        check_str(name, got, expected);
}

static void test_url__queries(void **state)
{
    static const struct {
        const char *target, *path, *a, *b;
        bool is_refused;
    } cases[] = {
        {"/x", "/x", NULL, NULL, false},
        {"/x?", "/x", NULL, NULL, false},
        {"/x?a=1", "/x", "1", NULL, false},
        {"/x?a=1&b=2", "/x", "1", "2", false},
        {"/x?b=2&a=1#c", "/x", "1", "2", false},
        {"/x#?a=1", "/x", NULL, NULL, false},
        {"/x?a", "/x", "", NULL, false},
        {"/x?a=", "/x", "", NULL, false},
        {"/x?&&a=1&&", "/x", "1", NULL, false},
        {"/x?a=b=c", "/x", "b=c", NULL, false},
        {"/x?a=%41%20+%2b", "/x", "A  +", NULL, false},
        {"/x?%61=1", "/x", "1", NULL, false},
        {"/x?a=caf%C3%A9", "/x", "caf\xc3\xa9", NULL, false},
        {"/x?a=?", "/x", "?", NULL, false},
        {"/%zz?a=1", "/%zz", "1", NULL, false}, /* a path is decoded in its parts (T2) */
        {"/x?a=%", NULL, NULL, NULL, true},
        {"/x?a=%4", NULL, NULL, NULL, true},
        {"/x?a=%4g", NULL, NULL, NULL, true},
        {"/x?a=%00", NULL, NULL, NULL, true},
        {"/x?a=%ff", NULL, NULL, NULL, true},
        {"/x?a=\xff", NULL, NULL, NULL, true},
        {"/x?a=1&a=2", NULL, NULL, NULL, true},
        {"/x?a=1&%61=2", NULL, NULL, NULL, true},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_arena arena = {0};
        struct faina_error err;
        struct fa_url url;
        enum faina_code code = fa_url_parse(cases[i].target, &arena, &url, &err);

        check_int(cases[i].target, code, cases[i].is_refused ? FAINA_INVALID_REQUEST : FAINA_OK);
        if (code == FAINA_OK) {
            check_str(cases[i].target, url.path, cases[i].path);
            check_param(cases[i].target, fa_url_param(&url, "a"), cases[i].a);
            check_param(cases[i].target, fa_url_param(&url, "b"), cases[i].b);
        }
        fa_arena_finish(&arena);
    }
}

static void test_url__as_many_parameters_as_allowed(void **state)
{
    for (int count = FA_URL_PARAMS_MAX; count <= FA_URL_PARAMS_MAX + 1; count++) {
        struct fa_arena arena = {0};
        struct faina_error err;
        struct fa_buf target;
        struct fa_url url;

        fa_buf_init(&target, 4096);
        fa_buf_add_str(&target, "/x?");
        for (int i = 0; i < count; i++)
            fa_buf_printf(&target, "p%d=1&", i);
        check_int("code", fa_url_parse(target.ptr, &arena, &url, &err),
                  count > FA_URL_PARAMS_MAX ? FAINA_INVALID_REQUEST : FAINA_OK);
        fa_buf_finish(&target);
        fa_arena_finish(&arena);
    }
}

static void test_url__patterns(void **state)
{
    static const struct {
        const char *pattern, *path;
        const char *part; /* NULL: no match, "": no part */
    } cases[] = {
        {"/tasks", "/tasks", ""},
        {"/tasks", "/tasks/", NULL},
        {"/tasks", "/task", NULL},
        {"/tasks", "/tasksx", NULL},
        {"/tasks/{id}", "/tasks/1", "1"},
        {"/tasks/{id}", "/tasks/", NULL},
        {"/tasks/{id}", "/tasks/1/2", NULL},
        {"/tasks/{id}", "/tasks/1:claim", NULL},
        {"/tasks/{id}", "/tasks/a%2Fb", "a%2Fb"},
        {"/tasks/{id}:claim", "/tasks/1:claim", "1"},
        {"/tasks/{id}:claim", "/tasks/:claim", NULL},
        {"/tasks/{id}:claim", "/tasks/1:claims", NULL},
        {"/tasks/{id}:claim", "/tasks/1:clai", NULL},
        {"/tasks/{id}/events", "/tasks/1/events", "1"},
        {"/resources/{name}", "/resources/a:b", "a:b"},
        {"/resources/{name}", "/resources/a/b", NULL},
        {"/crons/{name}:run", "/crons/a:run", "a"},
        {"/crons/{name}:run", "/crons/a:b:run", "a:b"},
        {"/crons/{name}:run", "/crons/a", NULL},
        {"/crons/{name}:run", "/crons/:run", NULL},
    };

    for (size_t i = 0; i < FA_COUNT(cases); i++) {
        struct fa_bytes parts[FA_URL_PARTS_MAX] = {{0}};
        bool fits = fa_url_match(cases[i].pattern, cases[i].path, parts);

        check_int(cases[i].path, fits, cases[i].part != NULL);
        if (fits)
            check_int(cases[i].path,
                      fa_bytes_equal(parts[0], fa_str(cases[i].part[0] ? cases[i].part : NULL)), 1);
    }
}

/* No request fits two rows of the table, so their order doesn't matter. */
static void test_url__routes_are_distinct(void **state)
{
    for (size_t i = 0; i < fa_route_count; i++) {
        struct fa_bytes parts[FA_URL_PARTS_MAX] = {{0}};
        struct fa_buf path, allow;
        size_t fitting = 0;

        fa_buf_init(&path, 256);
        fa_buf_init(&allow, 256);
        for (const char *at = fa_routes[i].path; *at; at++) {
            if (*at == '{') {
                fa_buf_add_char(&path, 'x');
                at += strcspn(at, "}");
            } else {
                fa_buf_add_char(&path, *at);
            }
        }
        for (size_t k = 0; k < fa_route_count; k++)
            fitting += strcmp(fa_routes[k].method, fa_routes[i].method) == 0 &&
                       fa_url_match(fa_routes[k].path, path.ptr, parts);
        check_int(path.ptr, (int64_t)fitting, 1);
        check_true(path.ptr,
                   fa_route_find(fa_routes[i].method, path.ptr, parts, &allow) == &fa_routes[i]);
        check_true("every route is documented",
                   fa_routes[i].title && fa_routes[i].example && fa_routes[i].status > 0);
        fa_buf_finish(&path);
        fa_buf_finish(&allow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url__queries),
        cmocka_unit_test(test_url__as_many_parameters_as_allowed),
        cmocka_unit_test(test_url__patterns),
        cmocka_unit_test(test_url__routes_are_distinct),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
