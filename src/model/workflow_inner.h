/*
 * workflow_inner.h - shared by the files of workflow.h and limits_file.h: a reader that collects
 * mistakes.
 */
#ifndef FA_MODEL_WORKFLOW_INNER_H
#define FA_MODEL_WORKFLOW_INNER_H

#include "json/yaml.h"
#include "model/workflow.h"

struct fa_workflow_reader {
    struct fa_arena *arena;
    const struct fa_workflow_target *target; /* NULL: it is stored already */
    struct fa_bytes json;
    const struct fa_yaml *yaml; /* NULL: the JSON is the source */
    struct fa_mistakes *mistakes;
    size_t unreported; /* beyond the maximum */
};

/* Reads a text, and has `read` read its JSON into the target. `r` has the arena and the list of
 * mistakes. INVALID_REQUEST: there are some; they are in the order of the text, and err has the
 * first and the number of the others. */
FA_MUST_CHECK enum faina_code fa_workflow_read_with(
    struct fa_workflow_reader *r, struct fa_bytes text, enum fa_workflow_format format,
    void (*read)(struct fa_workflow_reader *r, struct fa_json root, void *target), void *target,
    struct faina_error *err);

/* Records a mistake at a byte of the JSON. The sentence is the path and then `format`, which
 * therefore begins with a space or a colon. `name` is a missing member that is added to the path;
 * NULL: none. */
void fa_workflow_mistake(struct fa_workflow_reader *r, const char *at, const char *name,
                         const char *format, ...) FA_PRINTF(4, 5);

/* A member that an object may have. With neither function any value is accepted. */
struct fa_workflow_member {
    const char *name;
    bool is_required;
    /* Reads it into the target. */
    void (*read)(struct fa_workflow_reader *r, struct fa_json value, void *target);
    /* Only reports mistakes. Not called for a value with a ${path} in it, unless `is_deep` is set
     * and the value is not a string. */
    void (*check)(struct fa_workflow_reader *r, const struct fa_workflow_member *member,
                  struct fa_json value);
    bool is_deep;
    const void *data; /* of `check` */
};
#define FA_WORKFLOW_MEMBERS_MAX 32

/* Reads an object member by member into `target`. Members that are null count as missing; unknown
 * ones are mistakes. Returns a bit for each member that is there. */
uint32_t fa_workflow_members(struct fa_workflow_reader *r, struct fa_json object,
                             const struct fa_workflow_member *members, size_t count, void *target);

/* A name of up to `max` bytes; NULL, and a mistake, when it is invalid. */
const char *fa_workflow_name(struct fa_workflow_reader *r, struct fa_json value, size_t max);
/* A duration as text or in seconds; false, and a mistake, when it is invalid. */
bool fa_workflow_duration(struct fa_workflow_reader *r, struct fa_json value, int64_t *out_ms);
/* How many elements there are; 0 when it isn't an array. */
size_t fa_workflow_count(struct fa_json value);
/* Calls `read` for each element; a mistake when it isn't an array, or longer than `max`. */
void fa_workflow_elements(struct fa_workflow_reader *r, struct fa_json value, size_t max,
                          void (*read)(struct fa_workflow_reader *r, struct fa_json item,
                                       void *target),
                          void *target);

/* The template of a task; NULL, and mistakes, when it is invalid. */
const struct fa_template *fa_workflow_task(struct fa_workflow_reader *r, struct fa_json value,
                                           const struct fa_template_join *join);

#endif
