/*
 * lanes_inner.h - the cache's struct and internal functions; for the files of lanes.h only.
 */
#ifndef FA_STORE_LANES_LANES_INNER_H
#define FA_STORE_LANES_LANES_INNER_H

#include "model/limits.h"
#include "store/lanes/lanes.h"

#define FA_ID_PAGE 1024

struct fa_lanes {
    struct fa_lane **lanes;
    size_t count, size;
    struct fa_lane **by_name; /* open addressing; a power of two */
    size_t by_name_size;
    struct fa_lane ***by_id;   /* pages of FA_ID_PAGE lanes, by id; NULL: an empty page */
    size_t by_id_size;         /* in pages */
    struct fa_lane *forgotten; /* removed, to be freed; by next_of_type */
    struct fa_resource **resources;
    size_t resource_count, resource_size;
    struct fa_map resource_names;
    struct fa_resource *touched; /* may have to be written; by next_touched */
    size_t prefix_count[FA_RESOURCE_NAME_SIZE_MAX + 1]; /* names with "*", by their length */
    struct fa_resource *spent;                          /* buckets to be written; by next_spent */
    struct fa_heap due; /* resources whose parked buckets wait for a token, by its time */
    int64_t now_us;     /* of the operation being run */
    int64_t locked_us;  /* shared store: when a resource with a rate was last locked */
    struct {            /* lanes that claims await and that are not parked */
        int64_t us;     /* the first token; INT64_MAX: none */
        uint64_t types;
    } awaited;
    struct fa_types types;
    struct fa_lane_index index;
    struct fa_lane **ready; /* shared store: lanes that may have ready tasks */
    size_t ready_count, ready_size;
    bool is_many; /* as last read: more than FA_LANES_MANY lanes have ready tasks */
    int64_t many_until_us;
    int64_t types_max; /* of a namespace; 0: no limit */
    char *full_ns;     /* had types_max types at the last count; NULL: none */
    int64_t full_until_us;
    int64_t last_lane_id, last_resource_id;
    struct fa_lane *dirty;
    bool has_changed_resources;  /* limits to be written */
    bool has_unstored_resources; /* named by a lane only */
    bool has_resources;          /* some lane names one */
    bool has_limits;             /* the last refresh has read them */
    struct fa_aside *aside;      /* where damaged rows are reported (L6) */
};

/* Shared store: marks a lane that may have ready tasks; unmarks all; unlists one to be removed. */
void fa_lane_mark_ready(struct fa_lane *lane);
void fa_lanes_unmark_ready(struct fa_lanes *lanes);
void fa_lanes_unlist_ready(struct fa_lane *lane);
/* INVALID_TASK: the namespace or the type can't have another lane. */
FA_MUST_CHECK enum faina_code fa_lanes_check_room(struct fa_lanes *lanes, struct fa_db *db,
                                                  const char *ns, const char *type,
                                                  struct faina_error *err);
/* Sets a resource's own limits, and those of the resources that it applies to. */
void fa_lanes_set_own(struct fa_lanes *lanes, struct fa_resource *resource,
                      const struct fa_own_limits *limits, bool is_set);
/* Sets the limits that apply to a resource. */
void fa_lanes_resolve(struct fa_lanes *lanes, struct fa_resource *resource);
/* A bucket of lanes is parked until its resource has a token. */
void fa_lanes_park_until_token(struct fa_lanes *lanes, struct fa_resource *resource);
/* The resource may have to be written. */
void fa_lanes_touch_resource(struct fa_lanes *lanes, struct fa_resource *resource);

#endif
