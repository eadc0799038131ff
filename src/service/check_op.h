/*
 * check_op.h - what an operation must be before an engine sees it.
 *
 * Looks at the request alone: what only the store knows, the engine checks.
 *
 * Threads: any; an operation belongs to its caller.
 */
#ifndef FA_CHECK_OP_H
#define FA_CHECK_OP_H

#include "service/service.h"

/* input_max: the most bytes of an input, an output or an event's data. home_ns: the namespace of
 * who names none; NULL: that is somebody else's to say. Reads definitions of
 * workflows on the way, into the operation's arena. */
FA_MUST_CHECK enum faina_code fa_op_check(struct fa_op *op, size_t input_max, const char *home_ns,
                                          struct faina_error *err);

#endif
