/*
 * type_body.h - the policies of a type in requests and answers.
 */
#ifndef FA_WIRE_TYPE_BODY_H
#define FA_WIRE_TYPE_BODY_H

#include "wire/shape.h"

/* PUT /types/{type} */
struct fa_type_body {
    struct faina_type_policy policy; /* first member */
    const char *reason;
};

/* Of a struct fa_type_body, and of a struct faina_type_policy: PUT /types/{type}, and what is
 * stored; and {items} of many. */
extern const struct fa_shape fa_body_type, fa_shape_type, fa_shape_types;

#endif
