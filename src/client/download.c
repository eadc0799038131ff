/* download.c - see download.h. */
#include "client/download.h"

#include "client/encode.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_EVERY (16 << 20)
#define BACKUP_MS_MAX (24 * 3600 * 1000LL)

/* The server's file on its way to ours. */
struct download {
    int fd;
    int64_t done, flushed;
    const struct fa_backup_watch *watch;
    int error;       /* of our disk */
    bool is_stopped; /* by the watch */
};

static bool take_piece(void *ctx, const char *data, size_t size)
{
    struct download *to = ctx;

    if (data == NULL) {
        to->done = to->flushed = 0;
        return ftruncate(to->fd, 0) == 0 && lseek(to->fd, 0, SEEK_SET) == 0;
    }
    while (size > 0) {
        ssize_t written = write(to->fd, data, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            to->error = errno;
            return false;
        }
        data += written;
        size -= (size_t)written;
        to->done += written;
    }
    /* Flushing all of it at the end would hold up a server that writes to the same disk. */
    if (to->done - to->flushed >= FLUSH_EVERY) {
        to->flushed = to->done;
        to->error = fdatasync(to->fd) == 0 ? 0 : errno;
    }
    to->is_stopped = to->watch && !to->watch->moved(to->watch->ctx, FA_BACKUP_COPYING, to->done, 0);
    return to->error == 0 && !to->is_stopped;
}

/* Why there is no file. */
static enum faina_code refuse(struct fa_call *call, const struct download *to, const char *shown,
                              const char *path, struct faina_error *err)
{
    struct fa_arena scratch = {0};
    struct fa_json json;
    enum faina_code code;

    if (to->is_stopped)
        return fa_error_set(err, FAINA_TIMEOUT, "the copy was stopped");
    if (to->error != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "%.200s can't be written: %s", path,
                            strerror(to->error));
    code = fa_decode_json(call, &scratch, shown, &json);
    if (code == FAINA_OK)
        code = fa_error_set(err, FAINA_UNAVAILABLE, "%.200s answers, but not with a backup", shown);
    else if (err)
        *err = call->error;
    fa_arena_finish(&scratch);
    return code;
}

enum faina_code fa_download_backup(struct fa_connections *conns, const char *shown,
                                   const char *path, const struct fa_backup_watch *watch,
                                   struct faina_error *err)
{
    struct download to = {.fd = open(path, O_WRONLY | O_CLOEXEC), .watch = watch};
    enum faina_code code = FAINA_OK;
    struct fa_call call;

    if (to.fd < 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "%.200s can't be written: %s", path,
                            strerror(errno));
    fa_call_init(&call, "POST");
    fa_buf_add_str(&call.path, FA_CLIENT_API "/backup");
    call.is_read = true;
    call.wait_ms = BACKUP_MS_MAX;
    call.take = take_piece;
    call.take_ctx = &to;
    fa_connections_run(conns, &call, 1);
    close(to.fd);
    if (call.code != FAINA_OK || call.status != 200)
        code = refuse(&call, &to, shown, path, err);
    fa_call_finish(&call);
    return code;
}
