/*
 * share.h - a SQLite file has one owner, which lets others in by a socket beside the file. Who
 * opens the file second finds the address in its lock file (sql/sqlite/owner.h).
 */
#ifndef FA_SHARE_H
#define FA_SHARE_H

#include "cli/cli.h"
#include "server/server.h"

/* Where others would come in ("unix:/path/faina.db.sock"). NULL: the engine is no file of ours, or
 * its name is too long for a socket. */
const char *fa_share_address(struct fa_cli *cli, const struct fa_log *log);
/* Tells others of the address, when the server listens there. NULL is fine. */
void fa_share_tell(struct fa_cli *cli, const struct fa_server *server, const char *address);

#endif
