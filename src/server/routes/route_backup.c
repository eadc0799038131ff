/*
 * route_backup.c - POST /backup: a copy of a SQLite store while it is in use.
 *
 * The copy is made and checked in a thread of its own, because its time grows with the store, and
 * all requests share post's threads. Then the connection sends the file, which is already unlinked,
 * and closes it after the response.
 *
 * There is one backup at a time, from the start of the copy to the end of the response: each needs
 * the store's size on its disk.
 */
#include "server/routes/route.h"

#include "server/server_inner.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

struct backup {
    enum faina_code code;
    struct faina_error error;
    struct fa_backup_report report;
};

/* Whether to continue. The request is suspended, so its connection still exists. */
static bool check_client(void *ctx, enum fa_backup_phase phase, int64_t done, int64_t total)
{
    const struct fa_request *req = ctx;
    struct pollfd poller = {.fd = fa_http_socket(req), .events = POLLRDHUP};

    (void)phase;
    (void)done;
    (void)total;
    if (atomic_load(&req->server->is_cut))
        return false;
    return poller.fd < 0 || poll(&poller, 1, 0) <= 0 ||
           !(poller.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static void *make_backup(void *ctx)
{
    struct fa_request *req = ctx;
    struct backup *backup = req->data;
    const struct fa_backup_watch watch = {req, check_client};

    fa_error_clear(&backup->error);
    backup->code = fa_service_backup_open(req->server->service, &watch, &req->file_fd,
                                          &backup->report, &backup->error);
    req->has_file = backup->code == FAINA_OK;
    fa_http_loop_add_done(&req->listener->loop, req);
    return NULL;
}

enum faina_code fa_backup_start(struct fa_request *req)
{
    pthread_attr_t attr;
    pthread_t thread;
    int rc;

    pthread_attr_init(&attr);
    /* It is never joined: the request ends after the thread. */
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    rc = pthread_create(&thread, &attr, make_backup, req);
    pthread_attr_destroy(&attr);
    return rc == 0 ? FAINA_OK : FAINA_OVERLOADED;
}

static void send_backup(struct fa_request *req)
{
    const struct backup *backup = req->data;
    char name[64], *value;
    time_t now = time(NULL);
    struct tm utc;

    if (fa_request_refused(req))
        return;
    strftime(name, sizeof(name), "faina-%Y%m%dT%H%M%SZ.db", gmtime_r(&now, &utc));
    value = fa_arena_printf(&req->arena, "attachment; filename=\"%s\"", name);
    fa_response_header(req, "Content-Disposition", value);
    fa_respond_file(req, backup->report.size_bytes);
}

static void after_backup(struct fa_request *req)
{
    const struct backup *backup = req->data;

    if (backup->code != FAINA_OK) {
        fa_respond_problem(req, &backup->error);
        return;
    }
    fa_request_op(req, FA_OP_AUDIT_ADD)->audit_add.act = "backup";
    fa_request_run(req, send_backup);
}

void fa_handle_backup(struct fa_request *req)
{
    if (atomic_exchange(&req->server->is_backing_up, true)) {
        fa_respond_refusal(req, 429, FAINA_OVERLOADED,
                           "another backup is being made or sent, and only one can run at a time; "
                           "try again later");
        return;
    }
    req->has_backup = true; /* until it is destroyed */
    req->data = fa_arena_zero(&req->arena, 1, sizeof(struct backup));
    fa_request_run_backup(req, after_backup);
}
