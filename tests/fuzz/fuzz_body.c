/*
 * fuzz_body.c - request bodies: each of the tables reads whatever comes, or refuses it with a
 * sentence. The first byte picks the table.
 */
#include "base/utf8.h"
#include "wire/body.h"
#include "wire/wire.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* Room for whichever struct a table fills in. */
union any {
    struct fa_act act;
    struct fa_claims claims;
    struct fa_many many;
    struct fa_batch_body batch;
    struct fa_limit_body limit;
    struct fa_team_body team;
    struct fa_lane_body lane;
    struct fa_purge_body purge;
    struct fa_token_body token;
};

static void check_refusal(enum faina_code code, const struct faina_error *err)
{
    if (code == FAINA_OK)
        return;
    require(err->code == code);
    require(err->message[0] != '\0');
    require(fa_utf8_is_valid(fa_str(err->message)));
    require(fa_utf8_is_valid(fa_str(err->field)));
}

static void check_many(const struct fa_many *many)
{
    for (size_t i = 0; i < many->count; i++)
        require(!many->items[i].id || fa_utf8_is_valid(fa_str(many->items[i].id)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fa_shape *const bodies[] = {
        &fa_body_claim,    &fa_body_start,     &fa_body_complete,   &fa_body_fail,
        &fa_body_progress, &fa_body_heartbeat, &fa_body_block,      &fa_body_background,
        &fa_body_release,  &fa_body_cancel,    &fa_body_retry,      &fa_body_status,
        &fa_body_claims,   &fa_body_outcomes,  &fa_body_heartbeats, &fa_body_batch,
        &fa_body_limit,    &fa_body_team,      &fa_body_lane,       &fa_body_purge,
        &fa_body_token,
    };
    struct fa_arena arena = {0};
    struct faina_error err = {0};
    struct fa_bytes text;
    union any any = {0};
    size_t which;

    if (size == 0)
        return 0;
    which = data[0] % (FA_COUNT(bodies) + 2);
    text = (struct fa_bytes){(const char *)data + 1, size - 1};
    if (which < FA_COUNT(bodies)) {
        enum faina_code code = fa_body_read(text, bodies[which], &arena, &any, &err);

        check_refusal(code, &err);
        if (code == FAINA_OK &&
            (bodies[which] == &fa_body_outcomes || bodies[which] == &fa_body_heartbeats))
            check_many(&any.many);
    } else if (which == FA_COUNT(bodies)) {
        struct faina_submit submit;

        check_refusal(fa_wire_read_submit(text, &arena, &submit, &err), &err);
    } else {
        struct fa_wire_heartbeat beat;

        check_refusal(fa_wire_read_heartbeat(text, &arena, &beat, &err), &err);
    }
    fa_arena_finish(&arena);
    return 0;
}
