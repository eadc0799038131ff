/*
 * sessions.c - see sessions.h.
 *
 * A session's secret begins with its place in the table, so one hash is compared for each request.
 * The number of a session contains its place too.
 */
#include "server/sessions.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/secret.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACE_DIGITS 4

static_assert(FA_SESSIONS_MAX <= 0x10000, "a place has 4 hexadecimal digits");

struct slot {
    struct fa_session session; /* number 0: free */
    uint8_t hash[FA_SHA256_SIZE];
};

struct fa_sessions {
    pthread_mutex_t mutex; /* guards the fields below */
    uint64_t opened;       /* so far */
    struct slot slots[FA_SESSIONS_MAX];
};

struct fa_sessions *fa_sessions_create(void)
{
    struct fa_sessions *sessions = fa_alloc_zero(1, sizeof(*sessions));

    pthread_mutex_init(&sessions->mutex, NULL);
    return sessions;
}

void fa_sessions_destroy(struct fa_sessions *sessions)
{
    if (!sessions)
        return;
    pthread_mutex_destroy(&sessions->mutex);
    free(sessions);
}

static bool is_open(const struct slot *slot, int64_t now_us)
{
    return slot->session.number != 0 && slot->session.expires_us > now_us;
}

/* L3. The mutex is held. Numbers grow, so the smallest is the oldest. */
static size_t find_place(const struct fa_sessions *sessions, const char *token_id, int64_t now_us)
{
    size_t oldest = 0, own = 0, own_count = 0, unused = FA_SESSIONS_MAX;

    for (size_t i = 0; i < FA_SESSIONS_MAX; i++) {
        const struct slot *slot = &sessions->slots[i];

        if (!is_open(slot, now_us)) {
            if (unused == FA_SESSIONS_MAX)
                unused = i;
            continue;
        }
        if (slot->session.number < sessions->slots[oldest].session.number)
            oldest = i;
        if (strcmp(slot->session.token_id, token_id) != 0)
            continue;
        if (own_count == 0 || slot->session.number < sessions->slots[own].session.number)
            own = i;
        own_count++;
    }
    if (own_count >= FA_SESSIONS_TOKEN_MAX)
        return own;
    return unused < FA_SESSIONS_MAX ? unused : oldest;
}

enum faina_code fa_sessions_open(struct fa_sessions *sessions, const char *token_id,
                                 int64_t token_expires_us, int64_t now_us,
                                 char secret[FA_SESSION_SECRET_SIZE], struct fa_session *out,
                                 struct faina_error *err)
{
    uint8_t bytes[32];
    char hex[2 * sizeof(bytes) + 1];
    struct slot *slot;
    size_t place;

    if (!fa_secret_random(bytes, sizeof(bytes)))
        return fa_error_set(err, FAINA_UNAVAILABLE, "the system has no randomness for a session");
    fa_hex(bytes, sizeof(bytes), hex);
    *out = (struct fa_session){.expires_us = now_us + (int64_t)FA_SESSION_SECONDS * 1000000};
    if (token_expires_us != 0 && token_expires_us < out->expires_us)
        out->expires_us = token_expires_us;
    snprintf(out->token_id, sizeof(out->token_id), "%s", token_id);

    pthread_mutex_lock(&sessions->mutex);
    place = find_place(sessions, token_id, now_us);
    slot = &sessions->slots[place];
    out->number = ++sessions->opened * FA_SESSIONS_MAX + place;
    snprintf(secret, FA_SESSION_SECRET_SIZE, "%04zx%s", place & 0xffff, hex);
    slot->session = *out;
    fa_sha256(fa_str(secret), slot->hash);
    pthread_mutex_unlock(&sessions->mutex);
    return FAINA_OK;
}

/* NULL: there is none. The mutex is held. */
static struct slot *find(struct fa_sessions *sessions, const char *secret)
{
    uint8_t hash[FA_SHA256_SIZE];
    struct slot *slot;
    char digits[PLACE_DIGITS + 1];
    unsigned long place;

    if (strlen(secret) != FA_SESSION_SECRET_SIZE - 1 ||
        strspn(secret, "0123456789abcdef") != FA_SESSION_SECRET_SIZE - 1)
        return NULL;
    snprintf(digits, sizeof(digits), "%s", secret);
    place = strtoul(digits, NULL, 16);
    if (place >= FA_SESSIONS_MAX)
        return NULL;
    slot = &sessions->slots[place];
    fa_sha256(fa_str(secret), hash);
    return slot->session.number != 0 && fa_secret_equal(hash, slot->hash, sizeof(hash)) ? slot
                                                                                        : NULL;
}

bool fa_sessions_find(struct fa_sessions *sessions, const char *secret, int64_t now_us,
                      struct fa_session *out)
{
    const struct slot *slot;
    bool is_found;

    pthread_mutex_lock(&sessions->mutex);
    slot = find(sessions, secret);
    is_found = slot && is_open(slot, now_us);
    if (is_found)
        *out = slot->session;
    pthread_mutex_unlock(&sessions->mutex);
    return is_found;
}

bool fa_sessions_is_open(struct fa_sessions *sessions, uint64_t number, int64_t now_us)
{
    const struct slot *slot = &sessions->slots[number % FA_SESSIONS_MAX];
    bool is_found;

    pthread_mutex_lock(&sessions->mutex);
    is_found = slot->session.number == number && is_open(slot, now_us);
    pthread_mutex_unlock(&sessions->mutex);
    return is_found;
}

void fa_sessions_end(struct fa_sessions *sessions, const char *secret)
{
    struct slot *slot;

    pthread_mutex_lock(&sessions->mutex);
    slot = find(sessions, secret);
    if (slot)
        slot->session.number = 0;
    pthread_mutex_unlock(&sessions->mutex);
}
