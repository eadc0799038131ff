/*
 * client.h - an engine behind HTTP: every operation is a request to `faina serve`.
 *
 *   http://host:port   https://host:port   unix:/path/of/the/socket
 *
 * A path after the host is a prefix of all requests (a proxy in front); `/api/v1` at its end is
 * ignored, since each request has that. `?timeout=10s` is how long an answer may take.
 * FAINA_TOKEN, or the file FAINA_TOKEN_FILE, is the bearer token; FAINA_CA_FILE has certificates to
 * trust instead of the system's.
 *
 *   R1  The operations of one run go in their order. Submits that follow each other, and acts of
 *       workers that do, are one request and one transaction; others are a request each.
 *   R2  What may have reached the server is sent again only when that changes nothing: reads,
 *       submits with a key, and reports that a worker may repeat (README.md has the list).
 */
#ifndef FA_CLIENT_CLIENT_H
#define FA_CLIENT_CLIENT_H

#include "service/service.h"

/* Reads the server's description. UNAVAILABLE: there is no answer, or it is not that of an engine.
 * UNAUTHORIZED: the server needs another token. */
FA_MUST_CHECK enum faina_code fa_client_open(struct fa_service **out, const char *url,
                                             const struct faina_options *options,
                                             struct faina_error *err);

#endif
