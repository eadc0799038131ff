/*
 * kv_nats.h - a store of keys in a JetStream bucket.
 *
 * The bucket is an ordinary one (`nats kv get` shows its keys): a stream KV_{bucket} with one
 * message for each key. It is created when it is missing.
 *
 *   N1  A write that no answer came for is sent again only after the key was read: if it has the
 *       value, the write is stored; if it has the old revision, sending it again can't store it
 *       twice, because both name the same revision.
 *   N2  The watch is a consumer of the stream. When it is cut, it continues after the last sequence
 *       number that it has seen; or it begins again when the stream is another one, or the cut was
 *       longer than markers are kept.
 *   N3  A bucket that disappears while it is open (the server has lost its disk) is created again,
 *       with as many replicas as it had. It is empty, and the watch begins again.
 *
 * Threads: any, as in kv.h.
 */
#ifndef FA_KV_NATS_KV_NATS_H
#define FA_KV_NATS_KV_NATS_H

#include "kv/kv.h"

/* Codes as for faina_open. With `must_exist` no bucket is created: UNAVAILABLE. */
FA_MUST_CHECK enum faina_code fa_kv_nats_open(struct fa_kv **out, const char *url, bool must_exist,
                                              struct faina_error *err);

#endif
