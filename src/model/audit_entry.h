/*
 * audit_entry.h - the log of administrative acts and of what people do to tasks.
 *
 * Each entry has the hash of its content and of the entry before it, so that an entry that was
 * changed, removed or inserted later doesn't fit. The number of entries and the last hash are also
 * stored outside of the chain: they show that entries at its end are missing.
 *
 *   AE1  The hash of an entry is the SHA-256, in hex, of the JSON object with the members id, at,
 *        who, act, target, reason, requestId and previousHash in this order, without spaces: the
 *        entry as `faina audit export` prints it, without its member hash.
 *   AE2  Ids are 1, 2, 3, ... without gaps.
 *
 * Threads: pure functions.
 */
#ifndef FA_MODEL_AUDIT_ENTRY_H
#define FA_MODEL_AUDIT_ENTRY_H

#include "base/hash.h"
#include <stdbool.h>

struct fa_audit_entry {
    int64_t id, at_us;
    const char *who;           /* the name of the token, or of the user; NULL: there was none */
    const char *act, *target;  /* target NULL: the act has none */
    const char *reason;        /* NULL: none was given */
    const char *request_id;    /* NULL: it was no request */
    const char *previous_hash; /* NULL: it is the first entry */
    const char *hash;
};

struct fa_audit_query {
    const char *who, *act, *target; /* NULL: any */
    int64_t from_us, to_us;         /* 0: no bound; to_us itself is not included */
    bool ascending;
    int limit; /* 0: 100 */
    const char *cursor;
};

struct fa_audit_list {
    size_t count;
    struct fa_audit_entry *items;
    const char *next_cursor; /* NULL: this was the last page */
    int64_t total;           /* entries, as counted outside of the chain; -1: the count is gone */
    const char *last_hash;   /* as stored outside of the chain; NULL: there are no entries */
};

/* AE1. */
void fa_audit_hash(const struct fa_audit_entry *entry, char out[FA_SHA256_HEX_SIZE]);

/* Checks a chain, entry by entry in the order of ids. */
struct fa_audit_check {
    void (*found)(void *ctx, const char *sentence); /* called for each thing that is wrong */
    void *ctx;
    int64_t count; /* entries so far ... */
    int64_t last_id;
    char last_hash[FA_SHA256_HEX_SIZE]; /* ... and the hash that the last one has */
    int64_t finding_count;
};
void fa_audit_check_entry(struct fa_audit_check *check, const struct fa_audit_entry *entry);
/* After the last entry: compares the chain with what is stored outside of it. */
void fa_audit_check_end(struct fa_audit_check *check, int64_t total, const char *last_hash);

#endif
