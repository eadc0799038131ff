/*
 * other_names.h - names that the specification documents and other programs have for ours
 * (docs/documents.md). They are refused, and the error names ours.
 *
 * A name that works, such as `payload`, is a row of its table with FA_FIELD_ALIAS instead.
 */
#ifndef FA_MODEL_OTHER_NAMES_H
#define FA_MODEL_OTHER_NAMES_H

#include <stddef.h>

/* Our statuses for a word such as "IN_PROGRESS": "claimed or running"; NULL: none. */
const char *fa_other_status(const char *word);
/* The `index`th of our names for a member such as "claimed_by": "workerId"; NULL: no more. */
const char *fa_other_member(const char *word, size_t index);

#endif
