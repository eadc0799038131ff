/*
 * backup.h - the progress and the result of a backup or restore.
 */
#ifndef FA_MODEL_BACKUP_H
#define FA_MODEL_BACKUP_H

#include <faina.h>

/* The suffix of a store's copy while a server makes it. */
#define FA_BACKUP_SUFFIX ".backup"

enum fa_backup_phase { FA_BACKUP_COPYING, FA_BACKUP_CHECKING };

/* Called at intervals during a backup or restore. `done` and `total` are bytes; total is 0 when it
 * is not known. False: stop; the backup ends with FAINA_TIMEOUT. */
struct fa_backup_watch {
    void *ctx;
    bool (*moved)(void *ctx, enum fa_backup_phase phase, int64_t done, int64_t total);
};

/* The content of the copy. */
struct fa_backup_report {
    int64_t size_bytes;
    int schema_version;
    int64_t task_count;
    int64_t by_status[FAINA_STATUS_COUNT];
};

#endif
