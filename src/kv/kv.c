/* kv.c - checks arguments and results once, for all stores. */
#include "kv/kv.h"

#include <assert.h>

bool fa_kv_key_is_valid(const char *key)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=/.";
    size_t len = strlen(key);

    return len > 0 && strspn(key, allowed) == len && key[0] != '.' && key[len - 1] != '.' &&
           strstr(key, "..") == NULL;
}

void fa_kv_read(struct fa_kv *kv, struct fa_kv_read *reads, size_t count, struct fa_arena *arena,
                struct faina_error *err)
{
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        assert(fa_kv_key_is_valid(reads[i].key));
    kv->ops->read(kv, reads, count, arena, err);
    for (size_t i = 0; i < count; i++)
        assert(reads[i].code != FAINA_OK || reads[i].revision > 0);
}

void fa_kv_write(struct fa_kv *kv, struct fa_kv_write *writes, size_t count,
                 struct faina_error *err)
{
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        assert(fa_kv_key_is_valid(writes[i].key));
        assert(!writes[i].is_delete || writes[i].value.len == 0);
    }
    kv->ops->write(kv, writes, count, err);
    for (size_t i = 0; i < count; i++)
        assert(writes[i].code != FAINA_OK || writes[i].revision > writes[i].expected);
}

enum faina_code fa_kv_get(struct fa_kv *kv, const char *key, struct fa_arena *arena,
                          struct fa_kv_read *out, struct faina_error *err)
{
    *out = (struct fa_kv_read){.key = key, .is_fresh = true};
    fa_kv_read(kv, out, 1, arena, err);
    return out->code;
}

static enum faina_code write_one(struct fa_kv *kv, struct fa_kv_write *write, uint64_t *revision,
                                 struct faina_error *err)
{
    fa_kv_write(kv, write, 1, err);
    if (write->code == FAINA_OK && revision != NULL)
        *revision = write->revision;
    if (write->code == FAINA_CONFLICT)
        fa_error_set(err, FAINA_CONFLICT, "%.200s has changed meanwhile", write->key);
    return write->code;
}

enum faina_code fa_kv_create(struct fa_kv *kv, const char *key, struct fa_bytes value,
                             uint64_t *revision, struct faina_error *err)
{
    return fa_kv_update(kv, key, value, 0, revision, err);
}

enum faina_code fa_kv_update(struct fa_kv *kv, const char *key, struct fa_bytes value,
                             uint64_t expected, uint64_t *revision, struct faina_error *err)
{
    struct fa_kv_write write = {.key = key, .value = value, .expected = expected};

    return write_one(kv, &write, revision, err);
}

enum faina_code fa_kv_delete(struct fa_kv *kv, const char *key, uint64_t expected,
                             struct faina_error *err)
{
    struct fa_kv_write write = {.key = key, .is_delete = true, .expected = expected};

    return write_one(kv, &write, NULL, err);
}

enum faina_code fa_kv_list(struct fa_kv *kv, const char *prefix, fa_kv_each_fn *each, void *ctx,
                           struct faina_error *err)
{
    assert(prefix[0] != '\0' && prefix[strlen(prefix) - 1] == '.');
    return kv->ops->list(kv, prefix, each, ctx, err);
}

enum faina_code fa_kv_watch(struct fa_kv *kv, const struct fa_kv_watcher *watcher,
                            struct faina_error *err)
{
    assert(watcher->changed != NULL && watcher->ready != NULL && watcher->reset != NULL);
    return kv->ops->watch(kv, watcher, err);
}

void fa_kv_unwatch(struct fa_kv *kv)
{
    kv->ops->unwatch(kv);
}

size_t fa_kv_value_max(struct fa_kv *kv)
{
    return kv->ops->value_max(kv);
}

enum faina_code fa_kv_info(struct fa_kv *kv, struct fa_arena *arena, struct fa_kv_info *out,
                           struct faina_error *err)
{
    *out = (struct fa_kv_info){.size_bytes = -1, .keys = -1};
    return kv->ops->info(kv, arena, out, err);
}

void fa_kv_tidy(struct fa_kv *kv)
{
    if (kv->ops->tidy != NULL)
        kv->ops->tidy(kv);
}

void fa_kv_close(struct fa_kv *kv)
{
    if (kv != NULL)
        kv->ops->close(kv);
}
