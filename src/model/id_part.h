/*
 * id_part.h - the beginning or the end of an id, as people type it.
 *
 * Dashes don't count, and neither does the case of letters.
 *
 *   J1  An id matches a part if and only if it begins (ends) with its digits.
 *   J2  The keys of all ids that match a beginning are between `low` and `high`, so they are a
 *       range of an index on keys.
 */
#ifndef FA_MODEL_ID_PART_H
#define FA_MODEL_ID_PART_H

#include "model/id.h"

#define FA_ID_DIGITS 32
#define FA_ID_SUFFIX_MIN 6 /* digits: shorter ends are not searched for */

struct fa_id_part {
    struct fa_id mask, value; /* an id matches if its bits under the mask are those of the value */
    int64_t low, high;        /* of the keys, both included */
};

/* Whether the text has only hexadecimal digits and dashes, and at least one digit and no more than
 * an id has: it may be a part of an id. */
bool fa_id_part_is_text(const char *text);
/* False: no id begins with it. The text passed fa_id_part_is_text. */
bool fa_id_part_begin(const char *text, struct fa_id_part *out);
/* False: no id ends with it, or it is too short. */
bool fa_id_part_end(const char *text, struct fa_id_part *out);
bool fa_id_part_matches(const struct fa_id_part *part, struct fa_id id);

#endif
