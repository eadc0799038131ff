/*
 * template.h - JSON with `${path}` in its strings, filled in from other JSON.
 *
 *     {"type": "extract.id3", "input": {"hash": "${hash}", "title": "track ${n} of ${album.size}"}}
 *
 * A string that consists of one `${path}` becomes the value with its type; `${}` is all data of an
 * event. Inside a longer string a text, number, true, false or null is inserted as text; an array
 * or object is refused. Paths are those of path.h.
 *
 * Dollars: `${` begins a path. Right before `{`, two dollars mean one: `$${x}` is the text "${x}",
 * and `$$${x}` is a dollar and the value of x. All other dollars are plain text. Keys of objects
 * can't contain a path.
 *
 * In a join a path is `key`, or `tasks.` and one of its task types, including its dots, and then a
 * path into that task: `tasks.extract.id3.output.title`. If several types fit, the longest is used.
 * `tasks['extract.id3'].output.title` is the same.
 *
 *   T1  A compiled template never changes, and keeps no pointer to its source.
 *   T2  fa_json_check accepts the rendered JSON if it accepts the source and the values. It may be
 *       nested deeper than either, so a caller with a depth limit checks it again.
 *   T3  A missing path is an error that names it: a template is never rendered in part.
 *
 * Threads: a compiled template may be rendered by many threads at once.
 */
#ifndef FA_MODEL_TEMPLATE_H
#define FA_MODEL_TEMPLATE_H

#include "json/json.h"
#include "model/path.h"

#define FA_TEMPLATE_DATA (-2) /* a path into the data */
#define FA_TEMPLATE_KEY (-1)  /* the key of a join */

struct fa_template_path {
    struct fa_bytes text; /* as written between the braces */
    int root;             /* DATA, KEY, or which of the join's task types */
    struct fa_path path;  /* from the root */
};

/* The task types of a join. */
struct fa_template_join {
    const char *const *types;
    size_t type_count;
};

struct fa_template;

/* Called for every mistake, with its offset in the source and a sentence. */
typedef void fa_template_report(void *context, size_t offset, const char *message);

/*
 * Compiles checked JSON into `arena`. `join` is NULL except in a join. INVALID_REQUEST: err has the
 * first mistake, with line and column in the source; `report` (may be NULL) is called for each.
 */
FA_MUST_CHECK enum faina_code fa_template_compile(struct fa_bytes json,
                                                  const struct fa_template_join *join,
                                                  struct fa_arena *arena,
                                                  const struct fa_template **out,
                                                  fa_template_report *report, void *context,
                                                  struct faina_error *err);

/* Whether a string of this value has a `${path}`: then it is known only when rendered. */
bool fa_template_is_needed(struct fa_json value);

size_t fa_template_path_count(const struct fa_template *compiled);
const struct fa_template_path *fa_template_path(const struct fa_template *compiled, size_t index);

/* The value at a path, which is checked JSON; false when there is none. */
typedef bool fa_template_lookup(void *context, const struct fa_template_path *path,
                                struct fa_json *out);

/* The context is a `const struct fa_json *`: the data of an event. */
bool fa_template_lookup_data(void *context, const struct fa_template_path *path,
                             struct fa_json *out);
/* The context is a `const struct fa_template_members *`: the tasks of a join. */
struct fa_template_members {
    struct fa_json key;
    const struct fa_json *tasks; /* for each task type an object; with raw.len 0 it is missing */
    int64_t *budget;             /* of steps (path.h); NULL: no limit */
};
bool fa_template_lookup_members(void *context, const struct fa_template_path *path,
                                struct fa_json *out);

/* Appends to `out`, whose maximum limits the result. INVALID_REQUEST: a path is missing, or an
 * object or array is inside a string. PAYLOAD_TOO_LARGE: it doesn't fit. After an error the content
 * of `out` is undefined. */
FA_MUST_CHECK enum faina_code fa_template_render(const struct fa_template *compiled,
                                                 fa_template_lookup *lookup, void *context,
                                                 struct fa_buf *out, struct faina_error *err);

#endif
