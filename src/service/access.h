/*
 * access.h - what a caller may do and see: the one decision for every operation.
 *
 * A caller is described by a grant: the scopes and namespaces of its token. An operation carries
 * the grant of its caller (service.h). Without one the caller is the process that has the store
 * open, which may do everything. The table in access.c has a row for each kind of operation: the
 * scopes that allow it, and how the namespace that it concerns is found. Surfaces such as the HTTP
 * server name the operation and hold no rules of their own.
 *
 *   X1  fa_service_run refuses, before an engine sees it, an operation that no scope of its grant
 *       allows, or whose request names a namespace outside of the grant.
 *   X2  What only the store has (the namespace of a task or a team, the owner of a worker, which
 *       token submitted a task) is decided here too, from what the engine has read in the
 *       operation's own transaction.
 *   X3  What is outside of a grant is answered as if it did not exist.
 *   X4  A kind of operation without a row does not compile.
 *
 * A worker belongs to the namespaces of the token that registered it first. A grant may see it, and
 * act as it, when these lie within its own. So a token that replaces another one with the same
 * namespaces takes its workers over, and a token of other namespaces never sees them.
 *
 * Threads: pure functions.
 */
#ifndef FA_SERVICE_ACCESS_H
#define FA_SERVICE_ACCESS_H

#include "service/service.h"

/* What the caller of an operation may do. */
struct fa_grant {
    bool has_token;
    const char *token_id;       /* for the log; NULL: none */
    const char *name;           /* of the token or user, for the audit; NULL: none */
    unsigned scopes;            /* set of fa_scope */
    struct fa_texts namespaces; /* items NULL: all */
    struct fa_texts redact;     /* paths of values that answers leave out (redaction.h) */
};

/* What may be requested: an operation (enum fa_op_kind), or one of these. */
enum fa_access {
    FA_ACCESS_PUBLIC = FA_OP_COUNT, /* health and descriptions: needs no token */
    FA_ACCESS_STATUS,               /* changes a task by the status that it is to have: one of
                                       several operations, each with a rule of its own */
    FA_ACCESS_RESULT,               /* the output of a task, and nothing else of it */
    FA_ACCESS_STREAM,
    FA_ACCESS_MATCH,  /* evaluates an expression, without the store */
    FA_ACCESS_REPLAY, /* ... on the data of stored events */
    FA_ACCESS_INFO,
    FA_ACCESS_SESSION,  /* what the caller itself may do */
    FA_ACCESS_THOROUGH, /* ... that reads the whole store */
    FA_ACCESS_METRICS,
    FA_ACCESS_BACKUP, /* a copy of the whole store */
    FA_ACCESS_COUNT
};

/* The scopes each of which allows `what` (admin allows everything); 0: no token is needed. */
unsigned fa_access_scopes(unsigned what);
/* Further ones that allow it for tasks that the same token has submitted. */
unsigned fa_access_own_scopes(unsigned what);
/* Whether a grant allows `what` at all, as far as that follows without the request itself.
 * FORBIDDEN. */
FA_MUST_CHECK enum faina_code fa_access_enter(unsigned what, const struct fa_grant *grant,
                                              struct faina_error *err);
/* X1. Whether the caller of an operation may make this request. FORBIDDEN. */
FA_MUST_CHECK enum faina_code fa_access_check(const struct fa_op *op, struct faina_error *err);
/* Takes out of an answer what the caller may not see: what is of other namespaces, payloads
 * (input, output, metadata, spec, the data of events, details of errors) without the scope read,
 * and the values at the paths of the setting `redact`. Workers see all of what they work on, and a
 * submit that of the task that it makes. */
void fa_access_finish(struct fa_op *op);

/* The grant is for some namespaces only. NULL: it is not. */
bool fa_access_is_limited(const struct fa_grant *grant);
bool fa_access_reaches(const struct fa_grant *grant, const char *ns);
/* The namespace of a request that names none: the only one of the grant, else "default". */
const char *fa_access_default_ns(const struct fa_grant *grant);

/* Whether a scope for managing (operate, admin) allows the operation, and it changes something. */
bool fa_access_is_managing(enum fa_op_kind kind);
/* The operation is about one task, op->id, which must be in a namespace of the grant. */
bool fa_access_is_of_task(enum fa_op_kind kind);
/* The caller may do this only to what its token has submitted. */
bool fa_access_needs_own(const struct fa_op *op);
/* What a task keeps of the token that submits it, when that is needed later on; 0: nothing. */
int64_t fa_access_submitter(const struct fa_grant *grant);
/* The worker that an operation claims to come from; NULL: none. */
const char *fa_access_worker(const struct fa_op *op);
/* Whether a worker is the grant's, by the namespaces that it belongs to: a JSON array of names, as
 * in fa_token; NULL: all. */
bool fa_access_owns(const struct fa_grant *grant, const char *namespaces);
/* The namespaces of what the caller registers, in the same form; in the arena. */
const char *fa_access_namespaces(const struct fa_grant *grant, struct fa_arena *arena);

#endif
