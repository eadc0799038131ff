/*
 * zone.h - time zones of the system's tz database.
 *
 * Zones are read from the TZif files of /usr/share/zoneinfo (RFC 9636), so the process-wide TZ is
 * neither read nor set. "UTC" is always there, without a file.
 *
 *   Z1  A zone never changes after it was opened. An update of the database affects zones opened
 *       later.
 *   Z2  Spans cover all time without gaps: a span's `until` is the next one's `from`. Neighbours
 *       may have the same offset. After the last change in the file the rule in its footer holds
 *       for ever.
 *   Z3  A name can't lead out of the folder: it is parts of letters, digits, `_`, `-` and `+`,
 *       joined by single slashes.
 *   Z4  The content of a file is checked before it is used: a damaged one is refused with a
 *       sentence.
 *
 * Threads: an open zone may be used by many threads at once.
 */
#ifndef FA_BASE_ZONE_H
#define FA_BASE_ZONE_H

#include "base/error.h"

#define FA_ZONE_FOLDER "/usr/share/zoneinfo"
#define FA_ZONE_NAME_SIZE_MAX 255
#define FA_ZONE_OFFSET_MAX (26 * 3600) /* seconds; offsets beyond are refused */

struct fa_zone;

/* `folder` NULL: the system's. INVALID_REQUEST: there is no such zone, or the name is invalid; the
 * error names `field`. */
FA_MUST_CHECK enum faina_code fa_zone_open(struct fa_zone **out, const char *folder,
                                           const char *name, const char *field,
                                           struct faina_error *err);
void fa_zone_close(struct fa_zone *zone); /* NULL is fine */
const char *fa_zone_name(const struct fa_zone *zone);

/* Reads the contents of a TZif file, for fa_zone_open and tests. */
FA_MUST_CHECK enum faina_code fa_zone_parse(struct fa_zone **out, struct fa_bytes file,
                                            const char *name, const char *field,
                                            struct faina_error *err);

/* A period with one offset. Times are seconds since 1970 UTC. */
struct fa_zone_span {
    int64_t from, until; /* `until` is excluded; INT64_MIN and INT64_MAX: without end */
    int offset;          /* local time is UTC + offset seconds */
};

/* The span that `time` is in. */
struct fa_zone_span fa_zone_span_at(const struct fa_zone *zone, int64_t time);

/* Local time as a count of seconds, as if the zone were UTC. */
int64_t fa_zone_to_local(const struct fa_zone *zone, int64_t time);
/* The first time at which it is `local`; for a local time that is skipped, the time of the skip.
 * Monotonic: a later local time never gives an earlier time. */
int64_t fa_zone_from_local(const struct fa_zone *zone, int64_t local);

#endif
