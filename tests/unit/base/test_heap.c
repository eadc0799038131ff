/*
 * test_heap.c - the best position is on top.
 */
#include "support/support.h"

#include "base/heap.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define ITEMS 500

struct item {
    uint32_t at;
    struct fa_position position;
};

static void test_heap__the_best_is_on_top(void **state)
{
    struct item *items = fa_alloc_zero(ITEMS, sizeof(*items));
    struct fa_heap heap = {0};
    unsigned random = 7;

    for (int round = 0; round < 20000; round++) {
        struct item *item = &items[((random = random * 1103515245u + 12345u) >> 8) % ITEMS];
        const struct item *best = NULL;

        if (random >> 28 < 5) {
            fa_heap_remove(&heap, &item->at);
            CHECK_INT(item->at, 0);
        } else {
            item->position = (struct fa_position){random >> 29, (random >> 8) % 50};
            fa_heap_put(&heap, &item->at, item->position);
        }
        if (round % 16 != 0)
            continue;
        for (int i = 0; i < ITEMS; i++) {
            if (items[i].at != 0 &&
                (!best || fa_position_is_before(items[i].position, best->position)))
                best = &items[i];
        }
        CHECK_TRUE((best == NULL) == (fa_heap_top(&heap) == NULL));
        if (best != NULL)
            CHECK_TRUE(!fa_position_is_before(best->position,
                                              ((struct item *)fa_heap_top(&heap))->position) &&
                       !fa_position_is_before(((struct item *)fa_heap_top(&heap))->position,
                                              best->position));
    }
    fa_heap_finish(&heap);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap__the_best_is_on_top),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
