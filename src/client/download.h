/*
 * download.h - a backup of the server's store, written to a file as it comes.
 */
#ifndef FA_CLIENT_DOWNLOAD_H
#define FA_CLIENT_DOWNLOAD_H

#include "model/backup.h"
#include "client/connections.h"

/* Writes to `path`, an existing file. Memory is bounded. As the entry `backup` of an engine
 * (service.h); `shown` is the server's name for people. */
FA_MUST_CHECK enum faina_code fa_download_backup(struct fa_connections *conns, const char *shown,
                                                 const char *path,
                                                 const struct fa_backup_watch *watch,
                                                 struct faina_error *err);

#endif
