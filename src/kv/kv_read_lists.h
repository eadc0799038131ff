/*
 * kv_read_lists.h - what reads share: values of "faina." keys as structs, and pages of lists.
 */
#ifndef FA_KV_KV_READ_LISTS_H
#define FA_KV_KV_READ_LISTS_H

#include "kv/kv_engine.h"

/* False: the value is damaged, or there is none. */
bool fa_kv_worker_parse(struct fa_bytes value, struct fa_arena *arena, struct faina_worker *out,
                        const char **owner);
bool fa_kv_token_parse(struct fa_bytes value, struct fa_arena *arena, struct fa_token *out);

/* A list that is sorted by name: the items of a page. `name_of` gives an item's name. Returns how
 * many items the page has, from items[*from] on; sets op->next_cursor. */
FA_MUST_CHECK enum faina_code fa_kv_page(struct fa_op *op, const void *items, size_t size,
                                         size_t count, const char *(*name_of)(const void *item),
                                         size_t *from, size_t *page_count);

/* kv_find.c */
enum faina_code fa_kv_find(struct fa_kv_engine *engine, struct fa_op *op);
/* kv_explain.c */
enum faina_code fa_kv_explain(struct fa_kv_engine *engine, struct fa_op *op,
                              const struct faina_task *task);

#endif
