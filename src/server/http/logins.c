/*
 * logins.c - see logins.h.
 *
 * The addresses are in sets of WAYS entries; an address belongs to one set, by a hash with a secret
 * seed, so that a client can't choose addresses that displace another. A new address replaces the
 * entry of its set whose failure is oldest.
 */
#include "server/http/logins.h"

#include "base/bytes.h"
#include "base/random.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define WAYS 8
#define SETS (FA_LOGINS_ADDRESSES / WAYS)
#define SECOND_US 1000000

/* A token bucket in microseconds: each failure takes a second, and it is refilled in real time. */
struct bucket {
    int64_t left_us, at_us;
};

struct entry {
    unsigned char bytes[16];
    bool is_used, has_passed; /* a token was valid since the first failure */
    struct bucket bucket;
};

struct fa_logins {
    const struct fa_log *log;
    uint64_t seed;
    atomic_bool has_entries;
    atomic_ullong failures;
    pthread_mutex_t mutex; /* guards the fields below */
    struct entry sets[SETS][WAYS];
    struct bucket lines;
    uint64_t unlogged; /* failures since the last log line */
};

struct fa_logins *fa_logins_create(const struct fa_log *log)
{
    struct fa_logins *logins = fa_alloc_zero(1, sizeof(*logins));
    struct fa_random random;

    fa_random_seed_system(&random);
    logins->seed = fa_random_next(&random);
    logins->log = log;
    logins->lines.left_us = FA_LOGINS_BURST * SECOND_US;
    pthread_mutex_init(&logins->mutex, NULL);
    return logins;
}

void fa_logins_destroy(struct fa_logins *logins)
{
    if (!logins)
        return;
    pthread_mutex_destroy(&logins->mutex);
    free(logins);
}

/* ------------------------------------------------------------------------------------------
 * Addresses
 */

static void from_ipv4(struct in_addr address, struct fa_login_address *out)
{
    uint32_t bits = ntohl(address.s_addr);

    memset(out->bytes + 10, 0xff, 2);
    memcpy(out->bytes + 12, &address, sizeof(address));
    memcpy(out->whole, &address, sizeof(address));
    out->family = AF_INET;
    out->is_local = bits >> 24 == 127;
}

static void from_ipv6(const struct in6_addr *address, struct fa_login_address *out)
{
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        struct in_addr inner;

        memcpy(&inner, address->s6_addr + 12, sizeof(inner));
        from_ipv4(inner, out);
        return;
    }
    memcpy(out->bytes, address->s6_addr, 8);
    out->bytes[15] = 1; /* differs from that of Unix sockets */
    memcpy(out->whole, address->s6_addr, sizeof(out->whole));
    out->family = AF_INET6;
    out->is_local = IN6_IS_ADDR_LOOPBACK(address);
}

void fa_login_address_of(const struct sockaddr *address, struct fa_login_address *out)
{
    *out = (struct fa_login_address){0};
    if (address && address->sa_family == AF_INET) {
        from_ipv4(((const struct sockaddr_in *)(const void *)address)->sin_addr, out);
    } else if (address && address->sa_family == AF_INET6) {
        from_ipv6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, out);
    } else {
        out->family = AF_UNIX;
        out->is_local = true;
    }
}

void fa_login_address_text(const struct fa_login_address *from, char out[FA_LOGIN_TEXT_SIZE])
{
    if (from->family == AF_UNIX || !inet_ntop(from->family, from->whole, out, FA_LOGIN_TEXT_SIZE))
        snprintf(out, FA_LOGIN_TEXT_SIZE, "unix");
}

/* ------------------------------------------------------------------------------------------
 * Buckets
 */

static void fill(struct bucket *bucket, int64_t now_us)
{
    if (now_us <= bucket->at_us)
        return;
    bucket->left_us += now_us - bucket->at_us;
    if (bucket->left_us > FA_LOGINS_BURST * SECOND_US)
        bucket->left_us = FA_LOGINS_BURST * SECOND_US;
    bucket->at_us = now_us;
}

static bool has_some(const struct bucket *bucket)
{
    return bucket->left_us >= SECOND_US;
}

static bool take(struct bucket *bucket, int64_t now_us)
{
    fill(bucket, now_us);
    if (!has_some(bucket))
        return false;
    bucket->left_us -= SECOND_US;
    return true;
}

static struct entry *set_of(struct fa_logins *logins, const struct fa_login_address *from)
{
    uint64_t hash = logins->seed;

    for (size_t i = 0; i < sizeof(from->bytes); i++)
        hash = (hash ^ from->bytes[i]) * 0x100000001b3ULL;
    hash ^= hash >> 29;
    hash *= logins->seed | 1;
    return logins->sets[(hash >> 32) % SETS];
}

/* NULL: no failure of the address is stored. The mutex is held. */
static struct entry *find(struct fa_logins *logins, const struct fa_login_address *from)
{
    struct entry *set = set_of(logins, from);

    for (size_t i = 0; i < WAYS; i++)
        if (set[i].is_used && memcmp(set[i].bytes, from->bytes, sizeof(from->bytes)) == 0)
            return &set[i];
    return NULL;
}

/* N3. */
static struct entry *find_or_add(struct fa_logins *logins, const struct fa_login_address *from,
                                 int64_t now_us)
{
    struct entry *set = set_of(logins, from), *entry = find(logins, from);

    if (entry)
        return entry;
    entry = set;
    for (size_t i = 0; i < WAYS && entry->is_used; i++)
        if (!set[i].is_used || set[i].bucket.at_us < entry->bucket.at_us)
            entry = &set[i];
    *entry = (struct entry){.is_used = true,
                            .bucket = {.left_us = FA_LOGINS_BURST * SECOND_US, .at_us = now_us}};
    memcpy(entry->bytes, from->bytes, sizeof(entry->bytes));
    atomic_store(&logins->has_entries, true);
    return entry;
}

bool fa_logins_may_try(struct fa_logins *logins, const struct fa_login_address *from,
                       int64_t now_us)
{
    const struct entry *entry;
    bool may = true;

    if (from->is_local || !atomic_load(&logins->has_entries))
        return true;
    pthread_mutex_lock(&logins->mutex);
    entry = find(logins, from);
    if (entry && !entry->has_passed) {
        struct bucket bucket = entry->bucket;

        fill(&bucket, now_us);
        may = has_some(&bucket);
    }
    pthread_mutex_unlock(&logins->mutex);
    return may;
}

void fa_logins_pass(struct fa_logins *logins, const struct fa_login_address *from)
{
    struct entry *entry;

    if (!atomic_load(&logins->has_entries))
        return;
    pthread_mutex_lock(&logins->mutex);
    entry = find(logins, from);
    if (entry)
        entry->has_passed = true;
    pthread_mutex_unlock(&logins->mutex);
}

bool fa_logins_fail(struct fa_logins *logins, const struct fa_login_address *from,
                    const char *method, const char *route, const char *reason, int64_t now_us)
{
    char unlogged[32] = "", address[FA_LOGIN_TEXT_SIZE];
    bool is_allowed, is_logged;

    atomic_fetch_add(&logins->failures, 1);
    pthread_mutex_lock(&logins->mutex);
    is_allowed = take(&find_or_add(logins, from, now_us)->bucket, now_us);
    is_logged = take(&logins->lines, now_us);
    if (is_logged && logins->unlogged > 0)
        snprintf(unlogged, sizeof(unlogged), "%llu", (unsigned long long)logins->unlogged);
    logins->unlogged = is_logged ? 0 : logins->unlogged + 1;
    pthread_mutex_unlock(&logins->mutex);
    fa_login_address_text(from, address);
    if (is_logged)
        FA_LOG(logins->log, FA_LOG_WARN, "failed login", {"address", address}, {"method", method},
               {"route", route}, {"reason", reason},
               {"leftOut", unlogged[0] ? unlogged : NULL, true});
    return is_allowed;
}

uint64_t fa_logins_failures(const struct fa_logins *logins)
{
    return atomic_load(&logins->failures);
}
