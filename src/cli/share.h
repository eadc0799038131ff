/*
 * share.h - a SQLite file has one owner process. It serves other processes on a socket beside the
 * file, and they find its address in the lock file (store/db/sqlite/owner.h).
 */
#ifndef FA_CLI_SHARE_H
#define FA_CLI_SHARE_H

#include "cli/cli.h"
#include "server/server.h"

/* The address of the socket ("unix:/path/faina.db.sock"). NULL: this process owns no file, or its
 * path is too long for a socket. */
const char *fa_share_address(struct fa_cli *cli, const struct fa_log *log);
/* The URL at which plugins open the engine of this process, given the result of fa_share_address.
 * NULL: they can't, because it is in memory. */
const char *fa_share_plugin_url(struct fa_cli *cli, const char *address);
/* Writes the address to the lock file if the server listens on it. NULL is fine. */
void fa_share_advertise(struct fa_cli *cli, const struct fa_server *server, const char *address);

#endif
