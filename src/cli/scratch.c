/*
 * scratch.c - a copy of a SQLite store in a temporary folder.
 */
#include "cli/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static enum faina_code copy_failed(const char *path, struct faina_error *err)
{
    return fa_error_set(err, FAINA_UNAVAILABLE, "%.200s could not be copied: %s", path,
                        strerror(errno));
}

/* Copies one file. A missing file is not an error. */
static enum faina_code copy_file(const char *from, const char *to, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    ssize_t copied = 1;
    int in, out;

    in = open(from, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return errno == ENOENT ? FAINA_OK : copy_failed(from, err);
    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (out < 0)
        code = copy_failed(from, err);
    while (code == FAINA_OK && copied > 0) {
        char chunk[64 * 1024];

        copied = read(in, chunk, sizeof(chunk));
        if (copied < 0 || (copied > 0 && write(out, chunk, (size_t)copied) != copied))
            code = copy_failed(from, err);
    }
    close(in);
    if (out >= 0)
        close(out);
    return code;
}

enum faina_code fa_scratch_copy(struct fa_scratch *scratch, const char *url,
                                struct faina_error *err)
{
    static const char *const endings[] = {"", "-wal"};
    const char *path = url + strlen("sqlite:"), *temp = getenv("TMPDIR");
    char from[FA_SCRATCH_PATH_SIZE], to[FA_SCRATCH_PATH_SIZE + 32];
    enum faina_code code = FAINA_OK;

    scratch->folder[0] = '\0';
    snprintf(scratch->url, sizeof(scratch->url), "%s", url);
    if (strncmp(url, "sqlite:", strlen("sqlite:")) != 0)
        return FAINA_OK; /* no file to copy; a wrong URL is reported when it is opened */
    snprintf(scratch->folder, sizeof(scratch->folder), "%s/faina-XXXXXX",
             temp && temp[0] ? temp : "/tmp");
    if (!mkdtemp(scratch->folder)) {
        scratch->folder[0] = '\0';
        return copy_failed(path, err);
    }
    snprintf(scratch->url, sizeof(scratch->url), "sqlite:%s/copy.db", scratch->folder);
    for (size_t i = 0; i < FA_COUNT(endings) && code == FAINA_OK; i++) {
        snprintf(from, sizeof(from), "%s%s", path, endings[i]);
        snprintf(to, sizeof(to), "%s/copy.db%s", scratch->folder, endings[i]);
        code = copy_file(from, to, err);
    }
    if (code != FAINA_OK)
        fa_scratch_remove(scratch);
    return code;
}

void fa_scratch_remove(struct fa_scratch *scratch)
{
    struct dirent *entry;
    DIR *folder;

    if (scratch->folder[0] == '\0')
        return;
    folder = opendir(scratch->folder);
    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(scratch->folder);
    scratch->folder[0] = '\0';
}
