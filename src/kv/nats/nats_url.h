/*
 * nats_url.h - nats://[user:password@]host:port[,host:port...][?bucket=faina&replicas=3
 *              &tls=require&creds=FILE]
 *
 *   U1  No sentence holds a password.
 */
#ifndef FA_KV_NATS_NATS_URL_H
#define FA_KV_NATS_NATS_URL_H

#include "base/bytes.h"
#include "base/error.h"

#define FA_NATS_SERVERS_MAX 32
#define FA_NATS_BUCKET_SIZE_MAX 64

struct fa_nats_url {
    const char *servers[FA_NATS_SERVERS_MAX]; /* nats://host:port */
    int server_count;
    const char *location;        /* for people: host:port,... and the bucket */
    const char *user, *password; /* NULL: none */
    const char *bucket;
    int replicas; /* 0: not given, one when the bucket is created */
    bool needs_tls;
    const char *creds; /* a file; NULL: none */
};

FA_MUST_CHECK enum faina_code fa_nats_url_read(const char *url, struct fa_arena *arena,
                                               struct fa_nats_url *out, struct faina_error *err);

#endif
