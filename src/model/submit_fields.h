/*
 * submit_fields.h - the members of a submit: the one table of them.
 *
 * A new field of a submit is a member of struct faina_submit, a row here, and what stores it: a
 * column, flush.c and the statements of each database.
 */
#ifndef FA_MODEL_SUBMIT_FIELDS_H
#define FA_MODEL_SUBMIT_FIELDS_H

#include "model/field.h"

/* Of a struct faina_submit. */
extern const struct fa_field fa_submit_fields[];
/* Of a struct faina_retry_policy. */
extern const struct fa_shape fa_shape_retry;

#endif
