/* kv_keys.c - see kv_keys.h. */
#include "kv/kv_keys.h"

#include "base/hash.h"
#include "kv/kv.h"

static void add_lower(struct fa_buf *buf, const char *text)
{
    for (; *text != '\0'; text++)
        fa_buf_add_char(buf, (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text));
}

static const char *hashed(const char *prefix, struct fa_buf *text, struct fa_arena *arena)
{
    uint8_t digest[FA_SHA256_SIZE];
    char hex[FA_SHA256_HEX_SIZE];

    fa_sha256((struct fa_bytes){text->ptr, text->len}, digest);
    fa_hex(digest, sizeof(digest), hex);
    fa_buf_finish(text);
    return fa_arena_printf(arena, "%s%s", prefix, hex);
}

static const char *scoped(const char *prefix, const char *ns, const char *type, const char *key,
                          struct fa_arena *arena)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX / 2);
    fa_buf_add_str(&text, ns);
    fa_buf_add_char(&text, '\0');
    add_lower(&text, type);
    fa_buf_add_char(&text, '\0');
    fa_buf_add_str(&text, key);
    return hashed(prefix, &text, arena);
}

const char *fa_kv_task_key(const char *id, struct fa_arena *arena)
{
    return fa_arena_printf(arena, FA_KV_TASKS "%s", id);
}

const char *fa_kv_idem_key(const char *ns, const char *type, const char *key,
                           struct fa_arena *arena)
{
    if (strcmp(ns, "default") == 0 && strcmp(type, "default") == 0 && fa_kv_key_is_valid(key) &&
        strncmp(key, "x.", 2) != 0)
        return fa_arena_printf(arena, FA_KV_IDEMS "%s", key);
    return scoped(FA_KV_IDEMS "x.", ns, type, key, arena);
}

const char *fa_kv_input_key(const char *ns, const char *type, const char *input_hash,
                            struct fa_arena *arena)
{
    return scoped(FA_KV_IDEMS "x.i.", ns, type, input_hash, arena);
}

const char *fa_kv_name_key(const char *prefix, const char *name, const char *more,
                           struct fa_arena *arena)
{
    struct fa_buf text;

    fa_buf_init(&text, SIZE_MAX / 2);
    add_lower(&text, name);
    if (more != NULL) {
        fa_buf_add_char(&text, '\0');
        fa_buf_add_str(&text, more);
    }
    return hashed(prefix, &text, arena);
}
