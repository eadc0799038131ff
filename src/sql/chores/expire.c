/* expire.c - background work that nobody finished in time has failed. */
#include "sql/chores/chores.h"

#include "base/json.h"

const char *fa_chore_error(struct fa_unit *unit, const char *kind, const char *message)
{
    struct fa_json_writer writer;
    const char *text;
    struct fa_buf buf;

    fa_buf_init(&buf, 4096);
    fa_json_writer_init(&writer, &buf, 0);
    fa_json_begin_object(&writer);
    fa_json_key(&writer, "message");
    fa_json_put_str(&writer, message);
    fa_json_key(&writer, "kind");
    fa_json_put_str(&writer, kind);
    fa_json_key(&writer, "detail");
    fa_json_put_null(&writer);
    fa_json_key(&writer, "retryable");
    fa_json_put_bool(&writer, true);
    fa_json_end_object(&writer);
    text = fa_unit_text(unit, buf.ptr);
    fa_buf_finish(&buf);
    return text;
}

enum faina_code fa_chore_expire(struct fa_unit *unit, struct fa_row *row, struct faina_error *err)
{
    return fa_end_attempt(
        unit, row, true, "expired", FAINA_ACTOR_SYSTEM, NULL,
        fa_chore_error(unit, "expired", "the background work was not finished in time"), err);
}
