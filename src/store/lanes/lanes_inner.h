/*
 * lanes_inner.h - how lanes.h keeps what it knows; for its own files only.
 */
#ifndef FA_LANES_INNER_H
#define FA_LANES_INNER_H

#include "sql/lanes.h"

#define FA_ID_PAGE 1024

struct fa_lanes {
    struct fa_lane **lanes;
    size_t count, size;
    struct fa_lane **by_name; /* open addressing; a power of two */
    size_t by_name_size;
    struct fa_lane ***by_id;   /* pages of FA_ID_PAGE lanes, by id; NULL: none of these */
    size_t by_id_size;         /* in pages */
    struct fa_lane *forgotten; /* by next_of_type */
    struct fa_resource **resources;
    size_t resource_count, resource_size;
    struct fa_map resource_names;
    struct fa_resource *touched; /* may have to be written; by next_touched */
    struct fa_types types;
    struct fa_heads heads;
    struct fa_lane **ready; /* where the store is shared: those that are listed */
    size_t ready_count, ready_size;
    bool is_many; /* as last asked: too many to be asked for each time */
    int64_t many_until_us;
    int64_t types_max; /* that a namespace may have; 0: no limit */
    char *full_ns;     /* had so many when they were last counted; NULL: none did */
    int64_t full_until_us;
    int64_t last_lane_id, last_resource_id;
    struct fa_lane *dirty;
    bool has_changed;       /* resources, to be written */
    bool has_unknown;       /* resources, that only a lane has named */
    bool names_any;         /* resources: some lane does */
    bool has_limits;        /* they were read by the last refresh */
    struct fa_aside *aside; /* where damaged rows are reported (L6) */
};

/* Where the store is shared: the lane may have tasks in line; none has, as far as is known; and the
 * lane is about to go. */
void fa_lane_mark_ready(struct fa_lane *lane);
void fa_lanes_unmark_ready(struct fa_lanes *lanes);
void fa_lanes_unlist_ready(struct fa_lane *lane);
/* INVALID_TASK: the namespace or the type may not have another lane. */
FA_MUST_CHECK enum faina_code fa_lanes_check_room(struct fa_lanes *lanes, struct fa_db *db,
                                                  const char *ns, const char *type,
                                                  struct faina_error *err);
/* It may have to be written. */
void fa_lanes_touch_resource(struct fa_lanes *lanes, struct fa_resource *resource);

#endif
