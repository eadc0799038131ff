/* pair.c - see pair.h. */
#include "postgres/pair.h"

#include <stdlib.h>

int fa_pair_set_up(void **state)
{
    struct fa_pair *pair = fa_alloc_zero(1, sizeof *pair);

    *state = pair;
    fa_t_init(&pair->a);
    fa_t_init(&pair->b);
    if (fa_psql_url() == NULL)
        return 0;
    fa_t_set_url(&pair->a, FA_T_POSTGRES);
    memcpy(pair->b.url, pair->a.url, sizeof pair->b.url);
    return 0;
}

int fa_pair_tear_down(void **state)
{
    struct fa_pair *pair = *state;

    fa_t_finish(&pair->b);
    fa_t_finish(&pair->a);
    free(pair);
    return 0;
}

void fa_pair_open(struct fa_pair *pair)
{
    fa_psql_need_engine();
    fa_t_open(&pair->a);
    fa_t_open(&pair->b);
}
