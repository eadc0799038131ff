/*
 * lanes_room.c - how many types a namespace may have.
 *
 * A type counts once for every set of resources that it is used with. In a shared store other nodes
 * create lanes, too: there the lanes of a namespace are counted in the store, and an eighth of
 * those that are still allowed may be created before the next count.
 */
#include "store/lanes/lanes_inner.h"

#include "base/clock.h"
#include "model/limits.h"

#include <stdlib.h>

#define FULL_US 1000000 /* the lanes of a full namespace are counted again after this */
#define ROOM_SHARE 8

static enum faina_code refuse_type(const struct fa_lanes *lanes, const char *ns,
                                   struct faina_error *err)
{
    return fa_error_field(err, FAINA_INVALID_TASK, "type",
                          "type would be one more than the %lld types that namespace %.100s may "
                          "have: remove old tasks, or use the input to tell tasks apart",
                          (long long)lanes->types_max, ns);
}

static enum faina_code refuse_resources(const char *type, struct faina_error *err)
{
    return fa_error_field(err, FAINA_INVALID_TASK, "resources",
                          "resources would be one more than the %d sets of resources that type "
                          "%.100s may have",
                          FA_TYPE_SETS_MAX, type);
}

static enum faina_code check_counts(const struct fa_lanes *lanes, const char *ns, const char *type,
                                    int64_t of_ns, int64_t of_type, struct faina_error *err)
{
    if (of_ns >= lanes->types_max)
        return refuse_type(lanes, ns, err);
    return of_type >= FA_TYPE_SETS_MAX ? refuse_resources(type, err) : FAINA_OK;
}

static void sink_counts(void *ctx, size_t row, const struct fa_value *columns)
{
    int64_t *counts = ctx;

    (void)row;
    counts[0] = fa_value_as_int(&columns[0]);
    counts[1] = fa_value_as_int(&columns[1]);
}

static void note_full(struct fa_lanes *lanes, const char *ns)
{
    free(lanes->full_ns);
    lanes->full_ns = fa_name_copy(ns);
    lanes->full_until_us = fa_clock_mono_us() + FULL_US;
}

static enum faina_code check_shared(struct fa_lanes *lanes, struct fa_db *db, const char *ns,
                                    const char *type, struct faina_error *err)
{
    struct fa_namespace *known_ns = fa_types_namespace(&lanes->types, ns);
    struct fa_value params[4] = {fa_value_text(ns), fa_value_text(type),
                                 fa_value_int(lanes->types_max), fa_value_int(FA_TYPE_SETS_MAX)};
    int64_t counts[2] = {0};
    enum faina_code code;

    if (lanes->full_ns != NULL && strcmp(lanes->full_ns, ns) == 0 &&
        fa_clock_mono_us() < lanes->full_until_us)
        return refuse_type(lanes, ns, err);
    if (known_ns != NULL && known_ns->room > 0 && fa_types_get(&lanes->types, ns, type) == NULL) {
        known_ns->room--;
        return FAINA_OK;
    }
    code = fa_db_one(db, FA_SQL_LANE_ROOM, params, 4, sink_counts, counts, err);
    if (code != FAINA_OK)
        return code;
    if (counts[0] >= lanes->types_max)
        note_full(lanes, ns);
    if (known_ns != NULL)
        known_ns->room = (lanes->types_max - counts[0]) / ROOM_SHARE;
    return check_counts(lanes, ns, type, counts[0], counts[1], err);
}

enum faina_code fa_lanes_check_room(struct fa_lanes *lanes, struct fa_db *db, const char *ns,
                                    const char *type, struct faina_error *err)
{
    const struct fa_namespace *known_ns = fa_types_namespace(&lanes->types, ns);
    const struct fa_type *known = fa_types_get(&lanes->types, ns, type);

    if (lanes->types_max == 0)
        return FAINA_OK;
    if (fa_db_has(db, FA_DB_MANY_WRITERS))
        return check_shared(lanes, db, ns, type, err);
    return check_counts(lanes, ns, type, known_ns ? (int64_t)known_ns->lane_count : 0,
                        known ? (int64_t)known->lane_count : 0, err);
}

void fa_lanes_set_types_max(struct fa_lanes *lanes, int64_t types_max)
{
    lanes->types_max = types_max;
}
