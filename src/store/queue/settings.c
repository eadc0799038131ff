/* settings.c - what applies to the whole store: values that answers leave out. */
#include "store/read/lookup.h"
#include "store/queue/ops.h"
#include "store/txn/row_check.h"

#include "json/json.h"

struct reading {
    struct fa_source *source;
    struct fa_arena *arena;
    struct fa_store_settings *out;
};

static void sink_setting(void *ctx, size_t row, const struct fa_value *c)
{
    static const struct fa_form form = {"setting", "xj", "name value"};
    struct reading *reading = ctx;

    (void)row;
    if (fa_source_check(reading->source, &form, c, &c[0], reading->arena) &&
        !fa_json_texts(fa_json_value(fa_str(fa_value_json(&c[1], reading->arena))), reading->arena,
                       &reading->out->redact.items, &reading->out->redact.count))
        reading->out->redact = (struct fa_texts){NULL, 0};
}

enum faina_code fa_read_settings(struct fa_source *source, struct fa_op *op)
{
    struct fa_store_settings *out = fa_arena_zero(op->arena, 1, sizeof(*out));
    struct fa_value name = fa_value_text("redact");
    enum faina_code code = fa_db_one(source->db, FA_SQL_SETTING_FIND, &name, 1, sink_setting,
                                     &(struct reading){source, op->arena, out}, &op->error);

    if (code == FAINA_OK)
        op->settings_answer = out;
    return code;
}

enum faina_code fa_do_settings_set(struct fa_unit *unit, struct fa_op *op)
{
    const struct fa_texts *redact = &op->settings.redact;
    struct fa_json_writer w;
    struct fa_buf json;
    enum faina_code code;

    fa_buf_init(&json, SIZE_MAX / 2);
    fa_json_writer_init(&w, &json, 0);
    fa_json_put_strs(&w, redact->items, redact->count);
    fa_buf_add_char(&json, '\0');
    code = fa_db_one(unit->source.db, FA_SQL_SETTING_PUT,
                     (struct fa_value[]){fa_value_text("redact"), fa_value_text(json.ptr)}, 2, NULL,
                     NULL, &op->error);
    fa_buf_finish(&json);
    return code == FAINA_OK ? fa_read_settings(&unit->source, op) : code;
}
