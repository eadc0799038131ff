/*
 * merge.h - JSON merge patches (RFC 7396).
 *
 * A patch that is an object changes the members that it names, and removes those for which it has
 * null; objects in it are patches of the objects in their places. Any other patch is the new value.
 */
#ifndef FA_JSON_MERGE_H
#define FA_JSON_MERGE_H

#include "json/json.h"

/* The patched target, in `arena`. Both texts have passed fa_json_check; a target of NULL is {}. The
 * cost is that of sorting the members. */
const char *fa_json_merge(const char *target, const char *patch, struct fa_arena *arena);

/* One patch for two, the second after the first: as fa_json_merge, but a null stays, since it
 * removes a member of the target. Where the second has an object and the first has another value
 * than an object, members of the target's object remain that the first would have removed. */
const char *fa_json_merge_patches(const char *first, const char *second, struct fa_arena *arena);

#endif
