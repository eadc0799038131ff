/*
 * tls.c - see tls.h.
 */
#include "server/http/tls.h"

#include "base/bytes.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>

struct fa_tls {
    pthread_mutex_t mutex; /* guards context */
    SSL_CTX *context;
};

/* A session is the library's own struct. */
static SSL *ssl_of(struct fa_tls_session *session)
{
    return (SSL *)(void *)session;
}

/* ------------------------------------------------------------------------------------------
 * Contexts
 */

/* A server can't ask for a passphrase, so an encrypted key is refused. */
static int no_passphrase(char *to, int size, int writes, void *ctx)
{
    (void)to;
    (void)size;
    (void)writes;
    (void)ctx;
    return 0;
}

static bool use_certificate(SSL_CTX *context, const char *text)
{
    BIO *in = BIO_new_mem_buf(text, -1);
    X509 *first = in ? PEM_read_bio_X509_AUX(in, NULL, no_passphrase, NULL) : NULL, *more;
    bool is_good = first && SSL_CTX_use_certificate(context, first) == 1;

    X509_free(first);
    while (is_good && (more = PEM_read_bio_X509(in, NULL, no_passphrase, NULL)) != NULL)
        is_good = SSL_CTX_add0_chain_cert(context, more) == 1; /* takes ownership of it */
    BIO_free(in);
    ERR_clear_error(); /* the end of the text is reported as an error too */
    return is_good;
}

static bool use_key(SSL_CTX *context, const char *text)
{
    BIO *in = BIO_new_mem_buf(text, -1);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL) : NULL;
    bool is_good =
        key && SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;

    EVP_PKEY_free(key);
    BIO_free(in);
    ERR_clear_error();
    return is_good;
}

static int select_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned int in_len, void *ctx)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;

    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

bool fa_tls_create(struct fa_tls **out, const char *certificate, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    struct fa_tls *tls;

    if (!context)
        return false;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    if (!use_certificate(context, certificate) || !use_key(context, key)) {
        SSL_CTX_free(context);
        return false;
    }
    tls = fa_alloc_zero(1, sizeof(*tls));
    pthread_mutex_init(&tls->mutex, NULL);
    tls->context = context;
    *out = tls;
    return true;
}

void fa_tls_destroy(struct fa_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    pthread_mutex_destroy(&tls->mutex);
    free(tls);
}

void fa_tls_replace(struct fa_tls *tls, struct fa_tls *from)
{
    SSL_CTX *before;

    pthread_mutex_lock(&tls->mutex);
    before = tls->context;
    tls->context = from->context;
    pthread_mutex_unlock(&tls->mutex);
    from->context = before;
    fa_tls_destroy(from);
}

/* ------------------------------------------------------------------------------------------
 * Sessions
 */

struct fa_tls_session *fa_tls_session_create(struct fa_tls *tls, int fd)
{
    SSL *ssl;

    pthread_mutex_lock(&tls->mutex);
    ssl = SSL_new(tls->context); /* holds a reference to the context */
    pthread_mutex_unlock(&tls->mutex);
    if (ssl && SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        ssl = NULL;
    }
    if (ssl)
        SSL_set_accept_state(ssl);
    ERR_clear_error();
    return (struct fa_tls_session *)(void *)ssl;
}

void fa_tls_session_destroy(struct fa_tls_session *session)
{
    SSL_free(ssl_of(session));
}

bool fa_tls_session_is_current(struct fa_tls *tls, struct fa_tls_session *session)
{
    bool is_current;

    pthread_mutex_lock(&tls->mutex);
    is_current = SSL_get_SSL_CTX(ssl_of(session)) == tls->context;
    pthread_mutex_unlock(&tls->mutex);
    return is_current;
}

void fa_tls_session_end(struct fa_tls_session *session)
{
    SSL_shutdown(ssl_of(session));
    ERR_clear_error();
}

/* What a library call that transferred nothing means. */
static ssize_t no_bytes(struct fa_tls_session *session, int rc, int other, bool *wants_other)
{
    int error = SSL_get_error(ssl_of(session), rc);

    ERR_clear_error();
    *wants_other = error == other;
    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return -1;
}

ssize_t fa_tls_read(struct fa_tls_session *session, char *to, size_t size, bool *wants_other)
{
    int rc = SSL_read(ssl_of(session), to, size < INT_MAX ? (int)size : INT_MAX);

    *wants_other = false;
    return rc > 0 ? rc : no_bytes(session, rc, SSL_ERROR_WANT_WRITE, wants_other);
}

ssize_t fa_tls_write(struct fa_tls_session *session, const char *from, size_t size,
                     bool *wants_other)
{
    int rc = SSL_write(ssl_of(session), from, size < INT_MAX ? (int)size : INT_MAX);

    *wants_other = false;
    return rc > 0 ? rc : no_bytes(session, rc, SSL_ERROR_WANT_READ, wants_other);
}
