/*
 * quota.c - see quota.h. A hash table with chains, which grows with the number of clients.
 */
#include "server/http/quota.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>

#define BUCKETS_MIN 64 /* a power of two, like every size of the table */

struct fa_quota {
    struct fa_quota *next;
    uint64_t hash;
    size_t counts[FA_QUOTA_KIND_COUNT];
    struct fa_quota_key key;
};

struct fa_quotas {
    pthread_mutex_t mutex; /* guards the fields below */
    size_t limits[FA_QUOTA_KIND_COUNT];
    struct fa_quota **buckets;
    size_t bucket_count, count;
};

struct fa_quotas *fa_quotas_create(const size_t limits[FA_QUOTA_KIND_COUNT])
{
    struct fa_quotas *quotas = fa_alloc_zero(1, sizeof(*quotas));

    pthread_mutex_init(&quotas->mutex, NULL);
    memcpy(quotas->limits, limits, sizeof(quotas->limits));
    quotas->bucket_count = BUCKETS_MIN;
    quotas->buckets = fa_alloc_zero(BUCKETS_MIN, sizeof(*quotas->buckets));
    return quotas;
}

void fa_quotas_destroy(struct fa_quotas *quotas)
{
    if (!quotas)
        return;
    assert(quotas->count == 0);
    pthread_mutex_destroy(&quotas->mutex);
    free(quotas->buckets);
    free(quotas);
}

/* ------------------------------------------------------------------------------------------
 * Keys
 */

static struct fa_quota_key make_key(char tag, const void *bytes, size_t len)
{
    struct fa_quota_key key = {.len = len + 1};

    assert(len < sizeof(key.bytes));
    key.bytes[0] = tag;
    memcpy(key.bytes + 1, bytes, len);
    return key;
}

struct fa_quota_key fa_quota_key_of_address(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;

        return make_key('a', &v4->sin_addr, sizeof(v4->sin_addr));
    }
    if (address->sa_family == AF_INET6) {
        const struct in6_addr *v6 =
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

        if (IN6_IS_ADDR_V4MAPPED(v6))
            return make_key('a', v6->s6_addr + 12, 4);
        return make_key('a', v6, 8);
    }
    return (struct fa_quota_key){.len = 0};
}

struct fa_quota_key fa_quota_key_of_token(const char *token_id)
{
    size_t len = token_id ? strlen(token_id) : 0;

    if (len == 0 || len >= FA_QUOTA_KEY_SIZE_MAX)
        return (struct fa_quota_key){.len = 0};
    return make_key('t', token_id, len);
}

bool fa_quota_is_of(const struct fa_quota *quota, const struct fa_quota_key *key)
{
    return quota->key.len == key->len && memcmp(quota->key.bytes, key->bytes, key->len) == 0;
}

/* FNV-1a. A client that chooses colliding addresses only makes the chains of its own connections
 * longer. */
static uint64_t hash_key(const struct fa_quota_key *key)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < key->len; i++)
        hash = (hash ^ (unsigned char)key->bytes[i]) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

/* ------------------------------------------------------------------------------------------
 * Entries. The mutex is held.
 */

static struct fa_quota **bucket_of(const struct fa_quotas *quotas, uint64_t hash)
{
    return &quotas->buckets[hash & (quotas->bucket_count - 1)];
}

static void grow(struct fa_quotas *quotas)
{
    struct fa_quota **buckets = quotas->buckets;
    size_t count = quotas->bucket_count;

    quotas->bucket_count *= 2;
    quotas->buckets = fa_alloc_zero(quotas->bucket_count, sizeof(*quotas->buckets));
    for (size_t i = 0; i < count; i++) {
        for (struct fa_quota *quota = buckets[i], *next; quota; quota = next) {
            struct fa_quota **bucket = bucket_of(quotas, quota->hash);

            next = quota->next;
            quota->next = *bucket;
            *bucket = quota;
        }
    }
    free(buckets);
}

static struct fa_quota *find_or_add(struct fa_quotas *quotas, const struct fa_quota_key *key)
{
    uint64_t hash = hash_key(key);
    struct fa_quota *quota = *bucket_of(quotas, hash);

    while (quota && !fa_quota_is_of(quota, key))
        quota = quota->next;
    if (quota)
        return quota;
    if (quotas->count >= quotas->bucket_count)
        grow(quotas);
    quota = fa_alloc_zero(1, sizeof(*quota));
    quota->hash = hash;
    quota->key = *key;
    quota->next = *bucket_of(quotas, hash);
    *bucket_of(quotas, hash) = quota;
    quotas->count++;
    return quota;
}

/* U2. */
static void drop_if_empty(struct fa_quotas *quotas, struct fa_quota *quota)
{
    struct fa_quota **link = bucket_of(quotas, quota->hash);

    for (int i = 0; i < FA_QUOTA_KIND_COUNT; i++)
        if (quota->counts[i] > 0)
            return;
    while (*link != quota)
        link = &(*link)->next;
    *link = quota->next;
    quotas->count--;
    free(quota);
}

bool fa_quota_take(struct fa_quotas *quotas, const struct fa_quota_key *key,
                   enum fa_quota_kind kind, struct fa_quota **out)
{
    struct fa_quota *quota;
    bool has_room;

    *out = NULL;
    if (key->len == 0 || quotas->limits[kind] == 0)
        return true;
    pthread_mutex_lock(&quotas->mutex);
    quota = find_or_add(quotas, key);
    has_room = quota->counts[kind] < quotas->limits[kind];
    if (has_room) {
        quota->counts[kind]++;
        *out = quota;
    } else {
        drop_if_empty(quotas, quota);
    }
    pthread_mutex_unlock(&quotas->mutex);
    return has_room;
}

void fa_quota_release(struct fa_quotas *quotas, struct fa_quota *quota, enum fa_quota_kind kind)
{
    if (!quota)
        return;
    pthread_mutex_lock(&quotas->mutex);
    assert(quota->counts[kind] > 0);
    quota->counts[kind]--;
    drop_if_empty(quotas, quota);
    pthread_mutex_unlock(&quotas->mutex);
}
