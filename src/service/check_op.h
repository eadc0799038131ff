/*
 * check_op.h - what an operation must be before an engine sees it.
 *
 * Checks the request alone. Rules that depend on the store's content are the engine's.
 *
 * Threads: any; an operation belongs to its caller.
 */
#ifndef FA_SERVICE_CHECK_OP_H
#define FA_SERVICE_CHECK_OP_H

#include "service/service.h"

/* input_max: the most bytes of an input, an output or an event's data. default_ns: the namespace of
 * an operation that names none; NULL: the server that gets the operation decides. Definitions of
 * workflows are read into the operation's arena. */
FA_MUST_CHECK enum faina_code fa_op_check(struct fa_op *op, size_t input_max,
                                          const char *default_ns, struct faina_error *err);

#endif
