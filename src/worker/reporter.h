/*
 * tell.h - where the runtime tells what it does: a function of the owner's.
 *
 * One line is one sentence without a newline. Nothing here is needed for correctness.
 */
#ifndef FA_TELL_H
#define FA_TELL_H

#include "base/log.h"

struct fa_teller {
    /* Called from any of the runtime's threads; NULL: nobody listens. */
    void (*write)(void *ctx, enum fa_log_level level, const char *text);
    void *ctx;
};

void fa_tell(const struct fa_teller *teller, enum fa_log_level level, const char *format, ...)
    FA_PRINTF(3, 4);
/* One that writes lines of a log, which must outlive it. */
struct fa_teller fa_teller_of_log(const struct fa_log *log);

#endif
