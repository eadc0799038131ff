/*
 * shim.h - a SQLite file layer that fails on demand.
 *
 * It sits in front of the system's own layer as SQLite's default, counts the calls of each kind,
 * and lets one of them fail: the nth, or all from the nth on. A torn write puts the first half of
 * its bytes in place before it fails.
 *
 * Threads: calls may come from any; arm and disarm while no engine is at work.
 */
#ifndef FA_TEST_SHIM_H
#define FA_TEST_SHIM_H

#include <stdbool.h>

enum fa_shim_call {
    FA_SHIM_OPEN,
    FA_SHIM_READ,
    FA_SHIM_WRITE,
    FA_SHIM_SYNC,
    FA_SHIM_TRUNCATE,
    FA_SHIM_DELETE,
    FA_SHIM_SHM,       /* mapping the shared memory of the log */
    FA_SHIM_SYNC_MAIN, /* flushing the database itself; counts as FA_SHIM_SYNC too */
    FA_SHIM_CALL_COUNT
};

struct fa_shim_fault {
    enum fa_shim_call call;
    long nth;     /* from 1 */
    bool goes_on; /* this one and all after it */
    int code;     /* what SQLite is told: SQLITE_IOERR_WRITE, SQLITE_FULL, ... */
    bool is_torn; /* a write: half of it happens */
};

void fa_shim_install(void);                          /* before the first engine */
void fa_shim_arm(const struct fa_shim_fault *fault); /* counts start at 0 again */
void fa_shim_disarm(void);
bool fa_shim_has_failed(void);              /* since it was armed */
long fa_shim_count(enum fa_shim_call call); /* since it was armed or disarmed */

#endif
