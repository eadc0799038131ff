/*
 * test_map.c - a table of pointers by two texts.
 */
#include "unit/base/unit.h"

#include "base/map.h"

#include <stdlib.h>

#define ITEMS 2000

struct item {
    char a[16], b[16];
};

static bool is_item(const void *item, const char *a, const char *b)
{
    return strcmp(((const struct item *)item)->a, a) == 0 &&
           (b == NULL || strcmp(((const struct item *)item)->b, b) == 0);
}

static struct item *make_items(void)
{
    struct item *items = fa_alloc_zero(ITEMS, sizeof(*items));

    for (int i = 0; i < ITEMS; i++) {
        snprintf(items[i].a, sizeof(items[i].a), "%d", i / 40);
        snprintf(items[i].b, sizeof(items[i].b), "%d", i % 40);
    }
    return items;
}

static void test_map__an_empty_one_has_nothing(void **state)
{
    struct fa_map map = {.is = is_item};

    assert_null(fa_map_get(&map, "1", "2"));
    fa_map_remove(&map, "1", "2", &map);
    fa_map_finish(&map);
}

static void test_map__parts_are_told_apart(void **state)
{
    struct item one = {"ab", "c"}, other = {"a", "bc"};
    struct fa_map map = {.is = is_item};

    fa_map_put(&map, one.a, one.b, &one);
    assert_null(fa_map_get(&map, "a", "bc"));
    fa_map_put(&map, other.a, other.b, &other);
    assert_ptr_equal(fa_map_get(&map, "ab", "c"), &one);
    assert_ptr_equal(fa_map_get(&map, "a", "bc"), &other);
    fa_map_finish(&map);
}

/* Those that are removed leave no hole in which others get lost. */
static void test_map__many_come_and_go(void **state)
{
    struct fa_map map = {.is = is_item};
    struct item *items = make_items();
    bool is_there[ITEMS] = {false};
    unsigned random = 1;

    for (int round = 0; round < 20000; round++) {
        int i = (int)((random = random * 1103515245u + 12345u) >> 8) % ITEMS;

        if (is_there[i])
            fa_map_remove(&map, items[i].a, items[i].b, &items[i]);
        else
            fa_map_put(&map, items[i].a, items[i].b, &items[i]);
        is_there[i] = !is_there[i];
        if (round % 1000 != 0)
            continue;
        for (int k = 0; k < ITEMS; k++)
            assert_ptr_equal(fa_map_get(&map, items[k].a, items[k].b),
                             is_there[k] ? &items[k] : NULL);
    }
    fa_map_finish(&map);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map__an_empty_one_has_nothing),
        cmocka_unit_test(test_map__parts_are_told_apart),
        cmocka_unit_test(test_map__many_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
