/*
 * codes.c - FAINA_CODE_LIST and the lists of statuses and actors, as tables.
 */
#include "model/codes.h"

#include "base/bytes.h"

#include <assert.h>
#include <string.h>

static const struct {
    const char *name;
    int http, exit;
    const char *sentence;
} codes[] = {
#define ROW(id, wire, http_status, exit_code, text)                                                \
    [FAINA_##id] = {wire, http_status, exit_code, text},
    FAINA_CODE_LIST(ROW)
#undef ROW
};

static const char *const statuses[] = {
#define ROW(id, wire) [FAINA_##id] = wire,
    FAINA_STATUS_LIST(ROW)
#undef ROW
};

static const char *const actors[] = {
    [FAINA_ACTOR_API] = "API",
    [FAINA_ACTOR_WORKER] = "WORKER",
    [FAINA_ACTOR_SYSTEM] = "SYSTEM",
};

/* The three functions are public, so they accept any number; the cast catches negative ones. */
const char *faina_code_name(enum faina_code code)
{
    return (unsigned)code < FA_COUNT(codes) ? codes[code].name : "unknown";
}

const char *faina_status_name(enum faina_status status)
{
    return (unsigned)status < FA_COUNT(statuses) ? statuses[status] : "unknown";
}

const char *faina_actor_name(enum faina_actor actor)
{
    return (unsigned)actor < FA_COUNT(actors) ? actors[actor] : "UNKNOWN";
}

const char *faina_loss_name(enum faina_loss loss)
{
    return loss == FAINA_LOSS_CANCELLED ? "cancelled" : "lost";
}

int fa_code_http(enum faina_code code)
{
    assert((unsigned)code < FA_COUNT(codes));
    return codes[code].http;
}

int fa_code_exit(enum faina_code code)
{
    assert((unsigned)code < FA_COUNT(codes));
    return codes[code].exit;
}

const char *fa_code_sentence(enum faina_code code)
{
    assert((unsigned)code < FA_COUNT(codes));
    return codes[code].sentence;
}

bool fa_code_parse(const char *wire, enum faina_code *out)
{
    for (size_t i = 0; wire && i < FA_COUNT(codes); i++) {
        if (strcmp(codes[i].name, wire) == 0) {
            *out = (enum faina_code)i;
            return true;
        }
    }
    return false;
}

enum faina_code fa_code_of_http(int status)
{
    static const struct {
        int status;
        enum faina_code code;
    } rows[] = {
        {401, FAINA_UNAUTHORIZED}, {403, FAINA_FORBIDDEN},        {404, FAINA_NOT_FOUND},
        {409, FAINA_CONFLICT},     {412, FAINA_VERSION_CONFLICT}, {413, FAINA_PAYLOAD_TOO_LARGE},
        {429, FAINA_OVERLOADED},   {501, FAINA_NOT_SUPPORTED},    {502, FAINA_UNAVAILABLE},
        {503, FAINA_UNAVAILABLE},  {504, FAINA_UNAVAILABLE},
    };

    for (size_t i = 0; i < FA_COUNT(rows); i++)
        if (rows[i].status == status)
            return rows[i].code;
    return status < 500 ? FAINA_INVALID_REQUEST : FAINA_INTERNAL;
}
