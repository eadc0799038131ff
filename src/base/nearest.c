/*
 * nearest.c - see nearest.h.
 */
#include "base/nearest.h"

#include <ctype.h>
#include <stddef.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* How many letters must be changed, added, dropped or swapped with their neighbour to make `a` into
 * `b`; case doesn't count, nor does a dash against an underscore. (Optimal string alignment.) */
static size_t edit_distance(const char *a, const char *b)
{
    size_t rows[3][FA_NEAREST_SIZE_MAX + 1]; /* the last two rows and the present one, in turn */
    size_t na = strlen(a), nb = strlen(b);

    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            bool is_same = ca == cb || (ca == '_' && cb == '-') || (ca == '-' && cb == '_');
            size_t best = above[j - 1] + (is_same ? 0 : 1);

            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[na % 3][nb];
}

/* An abbreviation is near, too: "prio" means "priority". */
static bool is_beginning(const char *word, const char *name)
{
    size_t len = strlen(word);

    return len >= 3 && strncasecmp(word, name, len) == 0;
}

const char *fa_nearest(const char *word, const char *const *names)
{
    const char *nearest = NULL, *begun = NULL;
    size_t len = strlen(word);
    size_t best = (len >= 6 ? len / 3 : 1) + 1; /* up to a third of the letters may be wrong */

    if (len > FA_NEAREST_SIZE_MAX)
        return NULL;
    for (; *names; names++) {
        size_t distance;

        if (strlen(*names) > FA_NEAREST_SIZE_MAX)
            continue;
        if (!begun && is_beginning(word, *names))
            begun = *names;
        distance = edit_distance(word, *names);
        if (distance < best && distance < len) {
            best = distance;
            nearest = *names;
        }
    }
    return begun && best > 1 ? begun : nearest; /* one wrong letter is likelier than a short form */
}
