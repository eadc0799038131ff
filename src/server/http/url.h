/*
 * url.h - request targets: a path, and a query of names and values.
 *
 *   T1  All results are percent-decoded, well-formed UTF-8 without NUL bytes.
 *   T2  A path is matched before it is decoded, so that an encoded slash is part of a name.
 */
#ifndef FA_SERVER_HTTP_URL_H
#define FA_SERVER_HTTP_URL_H

#include "base/error.h"

#define FA_URL_PARAMS_MAX 32 /* of a query */
#define FA_URL_PARTS_MAX 2   /* {id} and the like in one pattern */

struct fa_url {
    const char *path; /* not decoded, without the query */
    struct fa_url_param {
        const char *name, *value;
    } params[FA_URL_PARAMS_MAX];
    size_t param_count;
};

/* INVALID_REQUEST: bad escapes, too many parameters, or one given twice. */
FA_MUST_CHECK enum faina_code fa_url_parse(const char *target, struct fa_arena *arena,
                                           struct fa_url *out, struct faina_error *err);

/* The value of a parameter; NULL: there is none. */
const char *fa_url_param(const struct fa_url *url, const char *name);

/* Whether a path matches a pattern such as "/tasks/{id}:claim". {id} matches text without '/' and
 * ':', {name} text without '/'. The parts are slices of the path, not decoded. */
bool fa_url_match(const char *pattern, const char *path, struct fa_bytes parts[FA_URL_PARTS_MAX]);

/* Resolves %xx. NULL: a bad escape, a NUL, or not UTF-8. With is_query, '+' is a space. */
char *fa_url_decode(struct fa_bytes raw, bool is_query, struct fa_arena *arena);

#endif
