/*
 * beanstalk_inner.h - shared by the files of the beanstalkd listener.
 *
 * Threads: the listener's, except where it says otherwise.
 */
#ifndef FA_SERVER_BEANSTALK_BEANSTALK_INNER_H
#define FA_SERVER_BEANSTALK_BEANSTALK_INNER_H

#include "base/map.h"
#include "model/limits.h"
#include "server/beanstalk/beanstalk.h"
#include "server/beanstalk/protocol.h"
#include "server/server_inner.h"

#define FA_BEANSTALK_SOON_US 1000000 /* DEADLINE_SOON: this long before the TTR is over */

/* A tube that a connection uses or watches, or that is paused. */
struct fa_beanstalk_tube {
    char name[FA_BEANSTALK_TUBE_SIZE];
    char type[FA_TYPE_SIZE_MAX + 1];
    struct fa_beanstalk_tube *next, **link;
    size_t using, watching, waiting;
    int64_t pause_us, pause_until_us; /* monotonic; 0: not paused */
    unsigned long long deletes, pauses;
};

/* A reserved job (B2): in the table by id, in the list of its connection, in the heap by its
 * deadline. */
struct fa_beanstalk_job {
    struct fa_beanstalk_job *next_in_bucket;
    struct fa_ring_link link;
    struct fa_beanstalk_session *session;
    uint64_t id;
    char task_id[FAINA_ID_SIZE];
    char type[FA_TYPE_SIZE_MAX + 1];
    int64_t fence, ttr_us, until_us, renewed_us; /* monotonic */
    uint32_t pri;
    size_t heap_index; /* 0: not in the heap, while a command changes it */
};

enum fa_beanstalk_state {
    FA_BEANSTALK_LINE,
    FA_BEANSTALK_LONG_LINE, /* skips a line that is too long */
    FA_BEANSTALK_BODY,
    FA_BEANSTALK_SKIPS, /* a body that is refused */
    FA_BEANSTALK_RUNS,
    FA_BEANSTALK_WAITS, /* for a reservation, while all its tubes are paused */
    FA_BEANSTALK_OVER   /* closed; freed at the end of the turn */
};

/* One connection. */
struct fa_beanstalk_session {
    struct fa_beanstalk *listener;
    struct fa_beanstalk_session *next, **link, *next_ready, *next_closed;
    int fd;
    enum fa_beanstalk_state state;
    bool can_read, can_write, is_hung_up, is_ready, is_closing;
    struct fa_buf in, out, body;
    size_t in_used, out_sent;
    uint64_t left;       /* of the body, with its end */
    const char *refusal; /* SKIPS: the answer */
    int64_t slow_us;     /* closed then; INT64_MAX: no limit */
    struct fa_beanstalk_command command;
    struct fa_beanstalk_tube *used, **watched;
    size_t watched_count, watched_size;
    struct fa_ring_link jobs;
    struct fa_beanstalk_call *call; /* RUNS */
    int64_t reserve_until_us;       /* of the reserve command that runs; INT64_MAX: no time-out */
    int64_t wake_us;                /* WAITS */
    bool is_producer, is_worker, is_waiting;
};

/* A command, or the return of jobs, that the engine or a thread of post.h runs. */
struct fa_beanstalk_call {
    struct fa_posted posted; /* first member */
    struct fa_beanstalk *listener;
    struct fa_beanstalk_call *done_next;
    struct fa_beanstalk_session *session; /* NULL: closed meanwhile, or of none */
    atomic_bool is_gone;
    bool is_claim_wait, is_ended;                  /* a claim that waits; its wait was ended */
    void (*after)(struct fa_beanstalk_call *call); /* in the listener's thread */
    void (*work)(struct fa_beanstalk_call *call);  /* in another thread */
    struct fa_beanstalk_command command;
    char type[FA_TYPE_SIZE_MAX + 1]; /* of the tube that the session uses */
    struct fa_beanstalk_job *job;    /* that the command changes; NULL: none */
    struct fa_op ops[2];
    struct faina_claim claim;
    struct faina_submit submit;
    struct faina_failure failure;
    struct fa_requeue requeue;
    struct fa_arena arena;
    int64_t delayed, urgent, total; /* what `work` has counted */
};

struct fa_beanstalk {
    struct fa_server *server;
    const char *ns;
    struct fa_listener_socket *socket; /* its address; its loop is not used */
    char worker_id[64];
    size_t body_max;
    int epoll_fd, call_fd;
    pthread_t thread;
    bool has_thread;
    _Atomic(struct fa_beanstalk_call *) done;
    atomic_bool is_asleep, is_called, is_draining, is_over;
    atomic_size_t call_count, job_count;
    atomic_int callers; /* inside `done` of a call: the listener outlives them */

    struct fa_beanstalk_session *sessions, *ready, *closed;
    size_t session_count, session_max;
    int64_t bytes; /* of bodies and answers in memory */
    bool is_listening;
    int64_t turn_us, sweep_us, renew_us, logged_us, start_us;
    struct fa_map tubes;
    struct fa_beanstalk_tube *tube_list, *default_tube;
    struct fa_beanstalk_job **buckets, **heap; /* the heap counts from 1 */
    size_t bucket_count, heap_count, heap_size;
    unsigned long long commands[FA_BEANSTALK_KIND_COUNT], timeouts, connections;
    char *scratch;
};

/* ---- beanstalk.c ---- */

/* Runs ops, or `work`; `after` follows. FAINA_OK: the call belongs to the listener again then. */
FA_MUST_CHECK enum faina_code fa_beanstalk_post(struct fa_beanstalk_call *call, size_t ops);
struct fa_beanstalk_call *fa_beanstalk_call_create(struct fa_beanstalk *listener,
                                                   struct fa_beanstalk_session *session);
void fa_beanstalk_call_destroy(struct fa_beanstalk_call *call);

/* ---- session.c: bytes in, commands, answers, bytes out ---- */

void fa_beanstalk_session_open(struct fa_beanstalk *listener, int fd);
void fa_beanstalk_session_close(struct fa_beanstalk_session *session);
/* Frees those that were closed in this turn. */
void fa_beanstalk_sessions_free(struct fa_beanstalk *listener);
/* Goes on as far as possible; may close the session. */
void fa_beanstalk_session_go_on(struct fa_beanstalk_session *session);
void fa_beanstalk_reply(struct fa_beanstalk_session *session, const char *format, ...)
    FA_PRINTF(2, 3);
void fa_beanstalk_reply_bytes(struct fa_beanstalk_session *session, const char *data, size_t len);
/* The command has its answer. */
void fa_beanstalk_session_end_command(struct fa_beanstalk_session *session);

/* ---- tubes.c ---- */

/* NULL: there are too many. */
struct fa_beanstalk_tube *fa_beanstalk_tube_get(struct fa_beanstalk *listener, const char *name);
struct fa_beanstalk_tube *fa_beanstalk_tube_find(struct fa_beanstalk *listener, const char *name);
/* Frees it when nothing refers to it. */
void fa_beanstalk_tube_drop(struct fa_beanstalk *listener, struct fa_beanstalk_tube *tube);
/* A job of this type was deleted. */
void fa_beanstalk_count_delete(struct fa_beanstalk *listener, const char *type);
void fa_beanstalk_tubes_finish(struct fa_beanstalk *listener);

/* ---- jobs.c: reservations ---- */

/* The job of a task that was just claimed. */
void fa_beanstalk_job_add(struct fa_beanstalk_session *session, const struct faina_task *task,
                          uint32_t ttr);
/* The job that this session has reserved, or NULL. Of any session with NULL. */
struct fa_beanstalk_job *fa_beanstalk_job_find(struct fa_beanstalk *listener,
                                               const struct fa_beanstalk_session *session,
                                               uint64_t id);
/* While a command changes the job, its TTR doesn't end. */
void fa_beanstalk_job_suspend(struct fa_beanstalk_job *job);
void fa_beanstalk_job_resume(struct fa_beanstalk_job *job);
void fa_beanstalk_job_remove(struct fa_beanstalk_job *job);
/* When the first TTR of the session's jobs ends; INT64_MAX: it has none. */
int64_t fa_beanstalk_jobs_next(const struct fa_beanstalk_session *session);
/* Ends the reservations whose TTR is over, and renews leases (B3). */
void fa_beanstalk_jobs_expire(struct fa_beanstalk *listener);
void fa_beanstalk_jobs_renew(struct fa_beanstalk *listener);
/* Returns all jobs of a session that closes. */
void fa_beanstalk_jobs_return(struct fa_beanstalk_session *session);
void fa_beanstalk_jobs_finish(struct fa_beanstalk *listener);

/* ---- commands.c ---- */

/* Runs session->command, whose body is complete. */
void fa_beanstalk_run(struct fa_beanstalk_session *session);
/* Of a session that waits for a reservation: its tubes have changed, or its time has come. */
void fa_beanstalk_reserve_again(struct fa_beanstalk_session *session);

/* ---- inspect.c: commands that read, and changes of jobs that the session has not reserved ---- */

/* In another thread: what the command of the call asks the engine. */
void fa_beanstalk_inspect(struct fa_beanstalk_call *call);
/* In the listener's thread: the answer. */
void fa_beanstalk_after_inspect(struct fa_beanstalk_call *call);
/* In any thread: reads the job of the call's command; op->tasks has it, if the code is OK. */
void fa_beanstalk_find_job(struct fa_beanstalk_call *call, struct fa_op *op);
bool fa_beanstalk_is_buried(enum faina_status status);

#endif
