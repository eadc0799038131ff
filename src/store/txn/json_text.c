/* json_text.c - see json_text.h. */
#include "store/txn/json_text.h"

struct fa_json_writer *fa_json_builder_begin(struct fa_json_builder *builder)
{
    fa_buf_init(&builder->buf, SIZE_MAX / 2);
    fa_json_writer_init(&builder->writer, &builder->buf, 0);
    return &builder->writer;
}

const char *fa_json_builder_end(struct fa_json_builder *builder, struct fa_arena *arena)
{
    const char *text = fa_arena_copy(arena, builder->buf.ptr, builder->buf.len);

    fa_buf_finish(&builder->buf);
    return text;
}
