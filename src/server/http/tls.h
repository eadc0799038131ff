/*
 * tls.h - TLS on a connection, by OpenSSL: version 1.2 or later.
 *
 * The certificate can be replaced while connections are served; those that exist keep the one that
 * they began with.
 *
 * Threads: any for fa_tls_*; a session belongs to the thread of its connection.
 */
#ifndef FA_SERVER_HTTP_TLS_H
#define FA_SERVER_HTTP_TLS_H

#include "base/error.h"

#include <sys/types.h>

struct fa_tls;
struct fa_tls_session;

/* Certificate (with its chain) and key are PEM texts. False: they don't fit together. */
FA_MUST_CHECK bool fa_tls_create(struct fa_tls **out, const char *certificate, const char *key);
void fa_tls_destroy(struct fa_tls *tls); /* NULL is fine */
/* `tls` takes the certificate and key of `from`, which is destroyed. */
void fa_tls_replace(struct fa_tls *tls, struct fa_tls *from);

/* NULL: there is no memory. The handshake is part of the first read. */
struct fa_tls_session *fa_tls_session_create(struct fa_tls *tls, int fd);
void fa_tls_session_destroy(struct fa_tls_session *session); /* NULL is fine; not the socket */
/* Whether it has the certificate that new sessions get. */
bool fa_tls_session_is_current(struct fa_tls *tls, struct fa_tls_session *session);
/* Sends close_notify: nothing more follows. */
void fa_tls_session_end(struct fa_tls_session *session);

/* As recv and send on a socket that doesn't block: -1 with EAGAIN when it has to wait. A read may
 * have to wait until the socket is writable, and the other way round: *wants_other is true then. */
ssize_t fa_tls_read(struct fa_tls_session *session, char *to, size_t size, bool *wants_other);
ssize_t fa_tls_write(struct fa_tls_session *session, const char *from, size_t size,
                     bool *wants_other);

#endif
