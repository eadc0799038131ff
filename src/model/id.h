/*
 * id.h - task ids: UUIDv7, of which the first half is also the task's key in the store.
 *
 * Layout (RFC 9562, with the 12 bits after the version as a finer clock):
 *
 *      48 bits                4     12 bits            2     62 bits
 *     | milliseconds 1970.. | 7 | 1/4096 of a ms ..  | 2 | random                       |
 *     '----------- key: 60 bits ------------'
 *
 *   I1  Keys of one generator only increase, even when the clock steps back.
 *   I2  The time in a key is never earlier than the time at which it was made.
 *   I3  Time order of ids is key order, so inserts append to an index on them.
 *   I4  Generators with different slots, or with the same slot and ranges that don't overlap, never
 *       make the same key.
 *
 * Threads: a generator belongs to one thread at a time.
 */
#ifndef FA_MODEL_ID_H
#define FA_MODEL_ID_H

#include "base/bytes.h"
#include "base/random.h"

#include <faina.h>

struct fa_id {
    int64_t key;  /* milliseconds << 12 | fraction; > 0 in every valid id */
    int64_t tail; /* the 62 random bits; >= 0 */
};

struct fa_id_source {
    int64_t last_key; /* start with the greatest key in the store */
    struct fa_random random;
    /* For several generators of one store: every key ends with the bits of the slot, so that no two
     * generators make the same key. */
    int slot_bits;
    int64_t slot;
    int64_t end_key; /* keys are below this one; 0: no limit */
};

/* Whether there is a key below end_key that is not before this time. */
bool fa_id_has_next(const struct fa_id_source *source, int64_t now_us);
/* Only after fa_id_has_next. */
struct fa_id fa_id_next(struct fa_id_source *source, int64_t now_us);
/* For objects other than tasks: time and random bits, without using a key. */
struct fa_id fa_id_free(struct fa_id_source *source, int64_t now_us);
void fa_id_format(struct fa_id id, char out[FAINA_ID_SIZE]); /* lower case, with dashes */
/*
 * The id of an event of a task: a UUIDv8 of its time, the key of the task, and 4 bits of the length
 * of its name, so that two events of a task at one time have two ids. The views compute the same.
 */
void fa_event_id_format(int64_t task, int64_t at_us, const char *what, char out[FAINA_ID_SIZE]);
/* Accepts upper case too. False: not a UUIDv7, so no task has it. */
bool fa_id_parse(const char *text, struct fa_id *out);
/* A UUID of any version, as teams have them: writes it in lower case. False: it is none. */
bool fa_uuid_parse(const char *text, char out[FAINA_ID_SIZE]);
/* Whether both parts are in range; an id that was read from a store may not be. */
bool fa_id_is_valid(struct fa_id id);
bool fa_id_equal(struct fa_id a, struct fa_id b);
/* The smallest key whose time is not before `us`. */
int64_t fa_id_key_at(int64_t us);
/* The time in a key, rounded down to microseconds. */
int64_t fa_id_key_us(int64_t key);

#endif
