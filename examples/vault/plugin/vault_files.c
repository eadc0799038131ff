/* vault_files.c - paths that tasks name; see vault_tasks.h. */
#include "vault_tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The part of an absolute path that is below the folder `root`; NULL: it is elsewhere. */
static const char *below(const char *root, const char *path)
{
    size_t len = strlen(root);

    if (strcmp(root, "/") == 0)
        return path + strspn(path, "/");
    if (strncmp(path, root, len) != 0 || path[len] != '/')
        return NULL;
    return path + len + strspn(path + len, "/");
}

int vault_open_file(const char *path, int flags, struct vault_error *err)
{
    struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        .mode = flags & O_CREAT ? 0600 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    char *root = realpath(vault_settings()->files, NULL);
    const char *rest = path;
    int folder, fd = -1;

    if (!root) {
        vault_fail_errno(err, "find", vault_settings()->files);
        return -1;
    }
    if (path[0] == '/')
        rest = below(root, path);
    folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    errno = EXDEV;
    if (rest && folder >= 0)
        fd = (int)syscall(SYS_openat2, folder, rest[0] ? rest : ".", &how, sizeof(how));
    if (fd < 0 && errno == EXDEV)
        vault_refuse(err, "invalid_input", "%.200s is not below the folder %.200s (VAULT_FILES)",
                     path, root);
    else if (fd < 0)
        vault_refuse(err, "invalid_input", "can't open %.300s: %s", path, strerror(errno));
    if (folder >= 0)
        close(folder);
    free(root);
    return fd;
}
