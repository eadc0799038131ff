/*
 * workflow.h - the definition of a workflow: its triggers and joins, read from JSON or YAML.
 *
 *     workflow: content-analysis
 *     enabled: true                     # the default
 *     triggers:
 *       - name: mp3
 *         on: object.created            # the type of the event
 *         match: mimeType = 'audio/mpeg'   # match.h; without it every event of the type matches
 *         task: { type: extract.id3, input: { hash: "${hash}" } }    # template.h over a submit
 *     joins:
 *       - name: post-enrichment
 *         taskTypes: [extract.id3, extract.exif]
 *         joinKey: hash                 # a path into each task's input
 *         onFailure: drop               # or fire: what to do when a member ends badly
 *         deadline: 1h                  # how long to wait for the others; without it for ever
 *         task: { type: build.search, input: { hash: "${key}" } }
 *
 *   W1  A definition with a mistake is refused as a whole.
 *   W2  Every mistake is reported, up to FA_WORKFLOW_MISTAKES_MAX, with its JSON path and its
 *       position. A text that is no JSON or YAML has only one.
 *   W3  Names of triggers and joins are unique within the workflow.
 *   W4  A task template is checked like a submit, as far as that is possible without the values.
 *       The rendered task is checked again when it is submitted.
 *
 * Threads: pure functions; a workflow never changes.
 */
#ifndef FA_MODEL_WORKFLOW_H
#define FA_MODEL_WORKFLOW_H

#include "model/match.h"
#include "model/path.h"
#include "model/template.h"

struct fa_workflow_trigger {
    const char *name;
    const char *on;
    const struct fa_match *match;   /* NULL: matches every event */
    const struct fa_template *task; /* over the event's data; renders a submit body */
};

enum fa_join_failure {
    FA_JOIN_DROP, /* a round with a member that ended badly makes no task */
    FA_JOIN_FIRE, /* such a member counts as completed */
};

struct fa_join {
    const char *name;
    const char *const *task_types; /* template paths number them by this order */
    size_t task_type_count;
    const char *key_text; /* "hash" */
    struct fa_path key;   /* into each task's input */
    enum fa_join_failure on_failure;
    int64_t deadline_ms; /* 0: none */
    const struct fa_template *task;
};

/* Appends the key of a task's input, as canonical JSON. False: it has none, or one that is too
 * long; then the task belongs to no round. `input` is checked JSON; the maximum of `out` is
 * FA_JOIN_KEY_SIZE_MAX. */
FA_MUST_CHECK bool fa_join_key(const struct fa_join *join, struct fa_bytes input,
                               struct fa_buf *out);

struct fa_workflow {
    const char *name;
    bool is_enabled;
    const struct fa_workflow_trigger *triggers;
    size_t trigger_count;
    const struct fa_join *joins;
    size_t join_count;
    struct fa_bytes json; /* the definition as JSON, also when the source is YAML */
};

struct fa_mistake {
    const char *path;    /* "triggers[0].task.priority"; "" for the definition */
    int line, column;    /* in the source */
    const char *message; /* a sentence that names the path */
};

struct fa_mistakes {
    struct fa_mistake *items;
    size_t count, size;
};

/* A payload is this much deeper in a definition: triggers, [0], task, input. */
#define FA_WORKFLOW_DEPTH_MAX (FA_JSON_DEPTH_MAX + 4)

enum fa_workflow_format { FA_WORKFLOW_JSON, FA_WORKFLOW_YAML };

/* By the end of a file's name: .yaml and .yml are YAML, .json is JSON; false for others. */
bool fa_workflow_format_of(const char *file, enum fa_workflow_format *out);

/* Where a new definition is to be stored; NULL: not known yet. */
struct fa_workflow_target {
    const char *ns;
    const char *name; /* when the definition has none */
};

/*
 * Reads a definition. The result lives in `arena`, and nothing points into `text`. INVALID_REQUEST:
 * `mistakes` (all zero before) has them all; err has the first, and the number of the others.
 * `target` NULL: the definition is stored already. A part that was accepted then and could never
 * make a task is no mistake now, so that the other parts stay in effect.
 */
FA_MUST_CHECK enum faina_code fa_workflow_read(struct fa_bytes text, enum fa_workflow_format format,
                                               const struct fa_workflow_target *target,
                                               struct fa_arena *arena,
                                               const struct fa_workflow **out,
                                               struct fa_mistakes *mistakes,
                                               struct faina_error *err);

#endif
