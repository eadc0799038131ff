/*
 * json_text.h - a small JSON text, written into an arena.
 *
 *     struct fa_json_builder builder;
 *     struct fa_json_writer *writer = fa_json_builder_begin(&builder);
 *     ... writes one value ...
 *     text = fa_json_builder_end(&builder, arena);
 */
#ifndef FA_STORE_TXN_JSON_TEXT_H
#define FA_STORE_TXN_JSON_TEXT_H

#include "json/json.h"

struct fa_json_builder {
    struct fa_buf buf;
    struct fa_json_writer writer;
};

struct fa_json_writer *fa_json_builder_begin(struct fa_json_builder *builder);
/* The text in `arena`; frees the builder's memory. */
const char *fa_json_builder_end(struct fa_json_builder *builder, struct fa_arena *arena);

#endif
