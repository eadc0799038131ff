/*
 * vault_tar.h - finds the files in a tar archive, by libarchive.
 *
 * libarchive only tells where things are; the bytes are read from the archive by their position. So
 * an archive of whatever dialect (ustar, GNU, pax, old ones) is cut into ranges that are files and
 * the rest: headers, padding, end marks, and what follows those.
 *
 *   T1  Ranges are in order, don't overlap, and lie within the file.
 *   T2  Nothing is ever extracted: names in an archive are only text. `../`, absolute paths, links
 *       and devices mean nothing here.
 *   T3  A sparse entry's range holds its stored bytes. Its holes exist only in its header, so 4 GiB
 *       of them cost nothing.
 *
 * Threads: any, each with its own archive.
 */
#ifndef VAULT_TAR_H
#define VAULT_TAR_H

#include "vault.h"

struct vault_tar_entry {
    const char *path;  /* as in the archive, not to be trusted; maybe not UTF-8 */
    uint64_t at, size; /* its range in the archive */
    bool is_sparse;
};

/* False: stop, with *err. */
typedef bool vault_tar_fn(void *ctx, const struct vault_tar_entry *entry, struct vault_error *err);

/* Calls `each` for every entry that is a file. An archive that is truncated, damaged or something
 * else is refused; entries before the damage have been passed to `each` by then. */
bool vault_tar_each(int fd, uint64_t size, vault_tar_fn *each, void *ctx, struct vault_error *err);

#endif
