/* chore_health.c - see chore_health.h. */
#include "store/upkeep/chore_health.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "model/limits.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct fa_upkeep {
    pthread_mutex_t mutex;
    int64_t since_us; /* of the first failure in a row; 0: the last time they succeeded */
    bool is_reported; /* that they have failed for long */
    char reason[512];
};

struct fa_upkeep *fa_upkeep_create(void)
{
    struct fa_upkeep *upkeep = fa_alloc_zero(1, sizeof(*upkeep));

    pthread_mutex_init(&upkeep->mutex, NULL);
    return upkeep;
}

void fa_upkeep_destroy(struct fa_upkeep *upkeep)
{
    if (upkeep == NULL)
        return;
    pthread_mutex_destroy(&upkeep->mutex);
    free(upkeep);
}

void fa_upkeep_succeeded(struct fa_upkeep *upkeep)
{
    pthread_mutex_lock(&upkeep->mutex);
    upkeep->since_us = 0;
    upkeep->is_reported = false;
    pthread_mutex_unlock(&upkeep->mutex);
}

bool fa_upkeep_failed(struct fa_upkeep *upkeep, const char *reason)
{
    int64_t now = fa_clock_mono_us();
    bool is_first;

    pthread_mutex_lock(&upkeep->mutex);
    if (upkeep->since_us == 0)
        upkeep->since_us = now;
    snprintf(upkeep->reason, sizeof(upkeep->reason), "%s", reason);
    is_first = !upkeep->is_reported && now - upkeep->since_us > FA_UPKEEP_FAILED_MS * 1000;
    upkeep->is_reported |= is_first;
    pthread_mutex_unlock(&upkeep->mutex);
    return is_first;
}

int64_t fa_upkeep_failed_ms(struct fa_upkeep *upkeep, struct fa_arena *arena, const char **reason)
{
    int64_t ms = 0;

    pthread_mutex_lock(&upkeep->mutex);
    if (upkeep->since_us != 0) {
        ms = (fa_clock_mono_us() - upkeep->since_us) / 1000 + 1;
        *reason = fa_arena_strdup(arena, upkeep->reason);
    }
    pthread_mutex_unlock(&upkeep->mutex);
    return ms;
}
