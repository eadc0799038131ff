/*
 * backup.h - what a backup and a restore report, on their way and at their end.
 */
#ifndef FA_BACKUP_H
#define FA_BACKUP_H

#include <faina.h>

/* What the name of a store's copy ends in while a server makes it. */
#define FA_BACKUP_SUFFIX ".backup"

enum fa_backup_phase { FA_BACKUP_COPYING, FA_BACKUP_CHECKING };

/* Called now and then while a backup is made or restored. `done` and `total` are bytes; total is 0
 * where it is not known. False: stop; the backup ends with FAINA_TIMEOUT. */
struct fa_backup_watch {
    void *ctx;
    bool (*moved)(void *ctx, enum fa_backup_phase phase, int64_t done, int64_t total);
};

/* What the copy holds. */
struct fa_backup_report {
    int64_t size_bytes;
    int schema_version;
    int64_t task_count;
    int64_t by_status[FAINA_STATUS_COUNT];
};

#endif
