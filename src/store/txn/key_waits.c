/* key_waits.c - see key_waits.h. */
#include "store/txn/key_waits.h"

#include <stdio.h>
#include <string.h>

#define KEEP_US 30000000

void fa_key_waits_init(struct fa_key_waits *waits)
{
    memset(waits->items, 0, sizeof(waits->items));
    atomic_store(&waits->until_us, 0);
    pthread_mutex_init(&waits->mutex, NULL);
}

void fa_key_waits_finish(struct fa_key_waits *waits)
{
    pthread_mutex_destroy(&waits->mutex);
}

/* The mutex is held. NULL: it is not there. */
static struct fa_key_waits_item *find(struct fa_key_waits *waits, const char *ns)
{
    for (size_t i = 0; i < FA_KEY_WAITS_MAX; i++) {
        if (waits->items[i].ns[0] != '\0' && strcmp(waits->items[i].ns, ns) == 0)
            return &waits->items[i];
    }
    return NULL;
}

void fa_key_waits_note(struct fa_key_waits *waits, const char *ns, int64_t now_us)
{
    struct fa_key_waits_item *item;

    pthread_mutex_lock(&waits->mutex);
    item = find(waits, ns);
    if (item == NULL) {
        item = &waits->items[0];
        for (size_t i = 1; i < FA_KEY_WAITS_MAX; i++) {
            if (waits->items[i].until_us < item->until_us)
                item = &waits->items[i];
        }
        snprintf(item->ns, sizeof(item->ns), "%s", ns);
    }
    item->until_us = now_us + KEEP_US;
    atomic_store(&waits->until_us, item->until_us);
    pthread_mutex_unlock(&waits->mutex);
}

bool fa_key_waits_have(struct fa_key_waits *waits, const char *ns, int64_t now_us)
{
    const struct fa_key_waits_item *item;
    bool has;

    if (!fa_key_waits_have_any(waits, now_us))
        return false;
    pthread_mutex_lock(&waits->mutex);
    item = find(waits, ns);
    has = item != NULL && item->until_us > now_us;
    pthread_mutex_unlock(&waits->mutex);
    return has;
}
