/*
 * wire_bulk.h - operations on many tasks: what is requested, and how far they are.
 */
#ifndef FA_WIRE_WIRE_BULK_H
#define FA_WIRE_WIRE_BULK_H

#include "model/bulk.h"
#include "wire/shape.h"

/* The bodies of POST /tasks:cancel and the others, by kind; each is of a struct fa_bulk_request. */
extern const struct fa_shape *const fa_body_bulk[FA_BULK_KIND_COUNT];
/* For the routes: the same four. */
extern const struct fa_shape fa_body_bulk_cancel, fa_body_bulk_retry, fa_body_bulk_delete,
    fa_body_bulk_update;

/* Of a struct fa_bulk, and of a struct fa_bulks. */
extern const struct fa_shape fa_shape_bulk, fa_shape_bulks;

/* The request as JSON, and its parts. */
void fa_bulk_put(struct fa_json_writer *w, const struct fa_bulk_request *request);
void fa_bulk_put_filter(struct fa_json_writer *w, const struct fa_bulk_request *request);
/* What fa_bulk_put wrote, from a text that may be damaged. */
FA_MUST_CHECK enum faina_code fa_bulk_read(struct fa_bytes json, enum fa_bulk_kind kind,
                                           struct fa_arena *arena, struct fa_bulk_request *out,
                                           struct faina_error *err);

#endif
