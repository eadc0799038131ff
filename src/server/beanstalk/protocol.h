/*
 * protocol.h - a command line of the beanstalkd protocol, and jobs as tasks. No I/O.
 *
 *     put PRI DELAY TTR BYTES      a word, then arguments that are separated by spaces
 *
 * A job is a task: its tube is the type, its id the task's key (model/id.h), its TTR is kept in the
 * input or in the metadata. docs/beanstalk.md describes the mapping for users.
 *
 *   J1  Two tubes have the same type only if they have the same name, also where types differ in
 *       case alone. Every name of a tube is the name of one type.
 *   J2  A body that was written into a task is read from it byte for byte.
 *   J3  Of two jobs the one with the lower PRI has the higher priority; only 4294967294 and
 *       4294967295 have the same.
 *   J4  An id is positive and below 2^53, and belongs to one task for 59 years.
 *
 * Threads: any.
 */
#ifndef FA_SERVER_BEANSTALK_PROTOCOL_H
#define FA_SERVER_BEANSTALK_PROTOCOL_H

#include "base/bytes.h"

#include <faina.h>

#define FA_BEANSTALK_LINE_MAX 224 /* bytes, with the end of the line */
#define FA_BEANSTALK_TUBE_MAX 200
#define FA_BEANSTALK_TUBE_SIZE (FA_BEANSTALK_TUBE_MAX + 1)
#define FA_BEANSTALK_TTR_DEFAULT 60 /* seconds, of tasks that no beanstalkd client has put */
#define FA_BEANSTALK_URGENT 1024    /* jobs with a lower PRI are counted as urgent */

/* X(NAME, word, arguments): p a PRI, s seconds, b a number of bytes, i an id, n a number, t a
 * tube. */
#define FA_BEANSTALK_COMMANDS(X)                                                                   \
    X(PUT, "put", "pssb")                                                                          \
    X(PEEK, "peek", "i")                                                                           \
    X(PEEK_READY, "peek-ready", "")                                                                \
    X(PEEK_DELAYED, "peek-delayed", "")                                                            \
    X(PEEK_BURIED, "peek-buried", "")                                                              \
    X(RESERVE, "reserve", "")                                                                      \
    X(RESERVE_WITH_TIMEOUT, "reserve-with-timeout", "s")                                           \
    X(RESERVE_JOB, "reserve-job", "i")                                                             \
    X(DELETE, "delete", "i")                                                                       \
    X(RELEASE, "release", "ips")                                                                   \
    X(USE, "use", "t")                                                                             \
    X(WATCH, "watch", "t")                                                                         \
    X(IGNORE, "ignore", "t")                                                                       \
    X(BURY, "bury", "ip")                                                                          \
    X(KICK, "kick", "n")                                                                           \
    X(KICK_JOB, "kick-job", "i")                                                                   \
    X(TOUCH, "touch", "i")                                                                         \
    X(STATS, "stats", "")                                                                          \
    X(STATS_JOB, "stats-job", "i")                                                                 \
    X(STATS_TUBE, "stats-tube", "t")                                                               \
    X(LIST_TUBES, "list-tubes", "")                                                                \
    X(LIST_TUBE_USED, "list-tube-used", "")                                                        \
    X(LIST_TUBES_WATCHED, "list-tubes-watched", "")                                                \
    X(PAUSE_TUBE, "pause-tube", "ts")                                                              \
    X(QUIT, "quit", "")

enum fa_beanstalk_kind {
#define FA_BEANSTALK_ENUM(name, word, arguments) FA_BEANSTALK_##name,
    FA_BEANSTALK_COMMANDS(FA_BEANSTALK_ENUM)
#undef FA_BEANSTALK_ENUM
        FA_BEANSTALK_KIND_COUNT
};

struct fa_beanstalk_command {
    enum fa_beanstalk_kind kind;
    uint64_t number; /* the id; of KICK how many */
    uint32_t pri;
    uint32_t seconds[2]; /* in their order: of PUT the delay and the TTR */
    uint64_t size;       /* of the body of PUT */
    char tube[FA_BEANSTALK_TUBE_SIZE];
};

enum fa_beanstalk_parsed { FA_BEANSTALK_OK, FA_BEANSTALK_BAD_FORMAT, FA_BEANSTALK_UNKNOWN };

/* Reads a line without its end. */
enum fa_beanstalk_parsed fa_beanstalk_parse(struct fa_bytes line, struct fa_beanstalk_command *out);
const char *fa_beanstalk_word(enum fa_beanstalk_kind kind);

/* J1. `type` has room for FA_TYPE_SIZE_MAX and a NUL. */
void fa_beanstalk_type(const char *tube, char *type);
/* The tube of a type; false: none has this type, and no client can name it. */
bool fa_beanstalk_tube(const char *type, char out[FA_BEANSTALK_TUBE_SIZE]);

int fa_beanstalk_priority(uint32_t pri); /* J3 */
uint32_t fa_beanstalk_pri(int priority);

uint64_t fa_beanstalk_id(int64_t key); /* J4 */
/* The key of a job; of several that are possible, the last one up to ten years from now. 0: none.
 */
int64_t fa_beanstalk_key(uint64_t id, int64_t now_us);

/* What the task of a job needs besides its type and priority: its input, metadata and name. Their
 * texts are in `arena`. */
void fa_beanstalk_write(struct fa_bytes body, uint32_t ttr, const char *tube, const char *type,
                        struct fa_arena *arena, struct faina_submit *out);
/* How many bytes a body may have, so that its input is within `input_max`. */
size_t fa_beanstalk_body_max(size_t input_max);
/* The body of a task and its TTR in seconds. J2. */
struct fa_bytes fa_beanstalk_read(const struct faina_task *task, struct fa_arena *arena,
                                  uint32_t *ttr);

#endif
