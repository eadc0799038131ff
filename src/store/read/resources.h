/*
 * resources.h - reads resources, with the limits that apply to them.
 *
 * The limits of a resource are its own or else those of the longest name with "*" that applies to
 * it (lanes_rates.c does the same for the writer).
 *
 * Threads: those of the connection.
 */
#ifndef FA_STORE_READ_RESOURCES_H
#define FA_STORE_READ_RESOURCES_H

#include "store/lanes/lanes.h"
#include "store/read/lookup.h"

/* The names with "*" that have limits, longest first. */
struct fa_prefixes {
    struct fa_prefix {
        const char *name;
        struct fa_own_limits limits;
    } * items; /* in `arena` */
    size_t count, size;
    struct fa_arena *arena;
};

FA_MUST_CHECK enum faina_code fa_read_prefixes(struct fa_source *source, struct fa_arena *arena,
                                               struct fa_prefixes *out, struct faina_error *err);
/* The one that applies to a resource without limits of its own; NULL: none. */
const struct fa_prefix *fa_prefix_of(const struct fa_prefixes *prefixes, const char *name);

/* A resource as it is stored. */
struct fa_stored_resource {
    int64_t id; /* 0: it has no row */
    const char *name;
    bool is_set;
    int64_t in_use;
    struct fa_own_limits limits; /* that apply to it */
    const char *limited_by;      /* the name with "*" that they come from; NULL: they are its own */
    struct fa_bucket bucket;
};

/* The resource of this name. Without a row, the limits that will apply to it. */
FA_MUST_CHECK enum faina_code fa_read_resource(struct fa_source *source, const char *name,
                                               struct fa_arena *arena,
                                               struct fa_stored_resource *out,
                                               struct faina_error *err);
/* The ids of tasks that hold a resource. */
FA_MUST_CHECK enum faina_code fa_read_holders(struct fa_source *source, int64_t resource,
                                              int64_t limit, struct fa_arena *arena,
                                              const char *const **out, size_t *count,
                                              struct faina_error *err);
FA_MUST_CHECK enum faina_code fa_read_resources(struct fa_source *source, struct fa_op *op);

#endif
