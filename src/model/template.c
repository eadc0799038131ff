/*
 * template.c - compiles JSON with `${path}` in it, and renders it.
 *
 * A compiled template is a list of parts: bytes to copy, values that replace a whole string, and
 * text inside a string. The source is checked JSON, so compiling needs no tree: what is in quotes
 * is a string, and a string before a colon is a key.
 */
#include "model/template.h"

#include "json/json_compare.h"
#include "base/source_position.h"
#include "base/utf8.h"
#include "model/limits.h"
#include "model/match.h"

#include <assert.h>

#define DOLLAR_ESCAPE "\\u0024"
#define TASKS "tasks"
#define WHERE_SIZE_MAX 200 /* bytes of a path in a message */

enum part_kind { BYTES, VALUE, TEXT };

struct part {
    enum part_kind kind;
    struct fa_bytes bytes; /* BYTES */
    size_t path;           /* VALUE, TEXT */
};

struct fa_template {
    struct part *parts;
    size_t count, size;
    struct fa_template_path *paths;
    size_t path_count, path_size;
};

struct compiler {
    struct fa_bytes source;
    const struct fa_template_join *join;
    struct fa_arena *arena;
    struct fa_template *out;
    struct fa_buf pending; /* bytes for the next part */

    size_t string_at;     /* the string being read: its first byte in the source */
    bool has_escapes;     /* so positions inside it are not known */
    struct fa_bytes text; /* of the string, escapes resolved */

    fa_template_report *report;
    void *context;
    struct faina_error *err;
    bool is_refused;
    bool is_full; /* has more paths than allowed, which was reported */
};

/* ------------------------------------------------------------------------------------------
 * Compiling
 */

/* `at` is an offset in the text of the string being read. */
static void refuse(struct compiler *c, size_t at, const char *message)
{
    size_t offset = c->has_escapes ? c->string_at : c->string_at + at;

    if (c->report)
        c->report(c->context, offset, message);
    if (!c->is_refused && c->err) {
        struct fa_source_position position = fa_source_position_find(c->source, offset);

        fa_error_set(c->err, FAINA_INVALID_REQUEST, "%s at line %d, column %d", message,
                     position.line, position.column);
        fa_error_position(c->err, position.line, position.column);
    }
    c->is_refused = true;
}

static void add_part(struct compiler *c, struct part part)
{
    struct fa_template *t = c->out;

    t->parts = fa_arena_grow(c->arena, t->parts, t->count, &t->size, sizeof(*t->parts));
    t->parts[t->count++] = part;
}

/* Makes a part of the pending bytes. */
static void flush(struct compiler *c)
{
    if (c->pending.len == 0)
        return;
    add_part(c,
             (struct part){
                 .kind = BYTES,
                 .bytes = {fa_arena_copy(c->arena, c->pending.ptr, c->pending.len), c->pending.len},
             });
    fa_buf_clear(&c->pending);
}

/* Text inside a string: as the writer quotes it, without the quotes. */
static void add_text(struct compiler *c, struct fa_bytes text)
{
    struct fa_buf quoted;
    struct fa_json_writer w;

    if (text.len == 0)
        return;
    fa_buf_init(&quoted, SIZE_MAX);
    fa_json_writer_init(&w, &quoted, 0);
    fa_json_put_bytes(&w, text);
    fa_buf_add(&c->pending, quoted.ptr + 1, quoted.len - 2);
    fa_buf_finish(&quoted);
}

/* The longest task type at `at` that is followed by the end of a name; -1: none. */
static int find_type(const struct compiler *c, size_t at)
{
    const char *rest = c->text.ptr + at;
    size_t left = c->text.len - at, best_len = 0;
    int best = -1;

    for (size_t i = 0; i < c->join->type_count; i++) {
        size_t len = strlen(c->join->types[i]);

        if (len > best_len && left > len && fa_name_has_prefix(rest, c->join->types[i], len) &&
            strchr(".[}", rest[len])) {
            best = (int)i;
            best_len = len;
        }
    }
    return best;
}

static bool refuse_path(struct compiler *c, const struct fa_path_mistake *mistake)
{
    refuse(c, mistake->offset,
           fa_arena_printf(c->arena, "expected %s in ${...}", mistake->expected));
    return false;
}

static bool refuse_type(struct compiler *c, size_t at)
{
    struct fa_bytes rest = {c->text.ptr + at, c->text.len - at};
    char shown[FA_SNIPPET_SIZE];

    rest.len = strcspn(rest.ptr, "}[");
    refuse(c, at,
           fa_arena_printf(c->arena, "\"%s\" does not begin with one of the join's taskTypes",
                           fa_snippet(rest, shown)));
    return false;
}

/* tasks['extract.id3'].output: the type is the second step. */
static bool read_quoted_type(struct compiler *c, size_t *at, struct fa_template_path *out)
{
    struct fa_path_mistake mistake;
    struct fa_path path;
    size_t from = *at;

    if (!fa_path_read(c->text, at, c->arena, &path, &mistake))
        return refuse_path(c, &mistake);
    assert(path.count >= 2);
    for (size_t i = 0; i < c->join->type_count; i++) {
        if (!path.steps[1].is_index && path.steps[1].name.len == strlen(c->join->types[i]) &&
            fa_name_has_prefix(path.steps[1].name.ptr, c->join->types[i], path.steps[1].name.len)) {
            out->root = (int)i;
            out->path = (struct fa_path){path.steps + 2, path.count - 2};
            return true;
        }
    }
    return refuse_type(c, from + strlen(TASKS));
}

/* A path of a join: `key`, or `tasks.` and so on. */
static bool read_join_path(struct compiler *c, size_t *at, struct fa_template_path *out)
{
    struct fa_path_mistake mistake;
    const char *rest = c->text.ptr + *at; /* ends with a NUL */

    if (strncmp(rest, "key}", 4) == 0) {
        out->root = FA_TEMPLATE_KEY;
        *at += strlen("key");
        return true;
    }
    if (strncmp(rest, TASKS "[", strlen(TASKS) + 1) == 0)
        return read_quoted_type(c, at, out);
    if (strncmp(rest, TASKS ".", strlen(TASKS) + 1) != 0) {
        refuse(c, *at, "expected key or tasks.TYPE in ${...} of a join");
        return false;
    }
    *at += strlen(TASKS) + 1;
    out->root = find_type(c, *at);
    if (out->root < 0)
        return refuse_type(c, *at);
    *at += strlen(c->join->types[out->root]);
    return fa_path_read_rest(c->text, at, c->arena, &out->path, &mistake) ||
           refuse_path(c, &mistake);
}

static bool read_path(struct compiler *c, size_t *at, struct fa_template_path *out)
{
    struct fa_path_mistake mistake;
    size_t from = *at;

    *out = (struct fa_template_path){.root = FA_TEMPLATE_DATA};
    if (c->join) {
        if (!read_join_path(c, at, out))
            return false;
    } else if (!fa_bytes_equal(c->text, FA_LIT("${}")) && /* all data of the event */
               !fa_path_read(c->text, at, c->arena, &out->path, &mistake)) {
        return refuse_path(c, &mistake);
    }
    if (*at == c->text.len || c->text.ptr[*at] != '}') {
        refuse(c, *at, "expected } at the end of ${...}");
        return false;
    }
    out->text = (struct fa_bytes){c->text.ptr + from, *at - from};
    ++*at;
    if (out->text.len <= FA_TEMPLATE_PATH_SIZE_MAX)
        return true;
    refuse(c, from,
           fa_arena_printf(c->arena, "a path of %zu bytes; the limit is %d", out->text.len,
                           FA_TEMPLATE_PATH_SIZE_MAX));
    return false;
}

static void add_path(struct compiler *c, size_t at, struct fa_template_path path, bool is_whole)
{
    struct fa_template *t = c->out;

    if (t->path_count == FA_TEMPLATE_PATHS_MAX && !c->is_full)
        refuse(
            c, at,
            fa_arena_printf(c->arena, "more than %d paths in one template", FA_TEMPLATE_PATHS_MAX));
    if (t->path_count == FA_TEMPLATE_PATHS_MAX) {
        c->is_full = true;
        return;
    }
    flush(c);
    t->paths = fa_arena_grow(c->arena, t->paths, t->path_count, &t->path_size, sizeof(*t->paths));
    t->paths[t->path_count] = path;
    add_part(c, (struct part){.kind = is_whole ? VALUE : TEXT, .path = t->path_count++});
}

/* Counts the dollars at `at`; *is_path: the last of them begins a path. Returns how many of them
 * are plain text. */
static size_t count_dollars(struct fa_bytes text, size_t at, size_t *count, bool *is_path)
{
    size_t n = 0;

    while (at + n < text.len && text.ptr[at + n] == '$')
        n++;
    *count = n;
    *is_path = false;
    if (at + n == text.len || text.ptr[at + n] != '{')
        return n;
    *is_path = n % 2 == 1;
    return n / 2;
}

/* The path after the `${` before `at`. After a mistake it continues, to find the next one. */
static void compile_path(struct compiler *c, size_t *at, bool is_key, bool is_first)
{
    struct fa_template_path path;
    size_t from = *at - 2;

    if (is_key) {
        refuse(c, from, "a key can't hold ${...}; write $${ for the characters themselves");
    } else if (read_path(c, at, &path)) {
        bool is_whole = is_first && *at == c->text.len;

        if (is_first && !is_whole)
            fa_buf_add_char(&c->pending, '"');
        add_path(c, from, path, is_whole);
    }
}

/* The pieces of a string, with its quotes; no quotes when it is one path alone. */
static void compile_pieces(struct compiler *c, bool is_key)
{
    bool is_first = c->text.len > 2 && memcmp(c->text.ptr, "${", 2) == 0;
    size_t at = 0;

    if (is_first) {
        at = 2;
        compile_path(c, &at, is_key, true);
        if (at == c->text.len)
            return;
    } else {
        fa_buf_add_char(&c->pending, '"');
    }
    while (at < c->text.len) {
        const char *dollar = memchr(c->text.ptr + at, '$', c->text.len - at);
        size_t plain = dollar ? (size_t)(dollar - c->text.ptr) - at : c->text.len - at;
        size_t count, kept;
        bool is_path;

        add_text(c, (struct fa_bytes){c->text.ptr + at, plain});
        at += plain;
        if (!dollar)
            break;
        kept = count_dollars(c->text, at, &count, &is_path);
        add_text(c, (struct fa_bytes){c->text.ptr + at, kept});
        at += count;
        if (is_path) {
            at++;
            compile_path(c, &at, is_key, false);
        }
    }
    fa_buf_add_char(&c->pending, '"');
}

static bool has_dollar(struct fa_bytes raw)
{
    return raw.len > 0 && (memchr(raw.ptr, '$', raw.len) ||
                           memmem(raw.ptr, raw.len, DOLLAR_ESCAPE, strlen(DOLLAR_ESCAPE)));
}

/* A string of the source, from its quote at `at` to behind the closing one. */
static void compile_string(struct compiler *c, size_t at, size_t end)
{
    struct fa_bytes raw = {c->source.ptr + at + 1, end - at - 2};
    const char *text;
    size_t next = end;
    bool is_key;

    if (!has_dollar(raw)) {
        fa_buf_add(&c->pending, c->source.ptr + at, end - at);
        return;
    }
    text = fa_json_unescape(raw, c->arena);
    c->text = fa_str(text);
    c->string_at = at + 1;
    c->has_escapes = memchr(raw.ptr, '\\', raw.len) != NULL;
    while (next < c->source.len && strchr(" \t\r\n", c->source.ptr[next]))
        next++;
    is_key = next < c->source.len && c->source.ptr[next] == ':';
    compile_pieces(c, is_key);
}

static size_t string_end(struct fa_bytes source, size_t at)
{
    for (at++; at < source.len && source.ptr[at] != '"'; at++)
        if (source.ptr[at] == '\\')
            at++;
    return at + 1;
}

enum faina_code fa_template_compile(struct fa_bytes json, const struct fa_template_join *join,
                                    struct fa_arena *arena, const struct fa_template **out,
                                    fa_template_report *report, void *context,
                                    struct faina_error *err)
{
    struct compiler c = {.source = json, .join = join, .arena = arena, .report = report};
    size_t at = 0;

    c.context = context;
    c.err = err;
    c.out = fa_arena_zero(arena, 1, sizeof(*c.out));
    fa_buf_init(&c.pending, SIZE_MAX);
    while (at < json.len) {
        const char *quote = memchr(json.ptr + at, '"', json.len - at);
        size_t plain = quote ? (size_t)(quote - json.ptr) - at : json.len - at, end;

        fa_buf_add(&c.pending, json.ptr + at, plain);
        at += plain;
        if (!quote)
            break;
        end = string_end(json, at);
        assert(end <= json.len);
        compile_string(&c, at, end);
        at = end;
    }
    flush(&c);
    fa_buf_finish(&c.pending);
    if (c.is_refused)
        return FAINA_INVALID_REQUEST;
    *out = c.out;
    return FAINA_OK;
}

static bool begins_path(struct fa_bytes text)
{
    for (size_t at = 0, count = 0; at < text.len; at += count ? count : 1) {
        bool is_path = false;

        count_dollars(text, at, &count, &is_path);
        if (is_path)
            return true;
    }
    return false;
}

bool fa_template_is_needed(struct fa_json value)
{
    struct fa_arena scratch = {0};
    bool is_needed = false;
    size_t end;

    for (size_t at = 0; at < value.raw.len && !is_needed; at = end) {
        const char *quote = memchr(value.raw.ptr + at, '"', value.raw.len - at);
        struct fa_bytes raw;

        if (!quote)
            break;
        at = (size_t)(quote - value.raw.ptr);
        end = string_end(value.raw, at);
        raw = (struct fa_bytes){quote + 1, end - at - 2};
        is_needed = has_dollar(raw) && begins_path(fa_str(fa_json_unescape(raw, &scratch)));
    }
    fa_arena_finish(&scratch);
    return is_needed;
}

size_t fa_template_path_count(const struct fa_template *compiled)
{
    return compiled->path_count;
}

const struct fa_template_path *fa_template_path(const struct fa_template *compiled, size_t index)
{
    assert(index < compiled->path_count);
    return &compiled->paths[index];
}

/* ------------------------------------------------------------------------------------------
 * Lookup
 */

bool fa_template_lookup_data(void *context, const struct fa_template_path *path,
                             struct fa_json *out)
{
    const struct fa_json *data = context;

    assert(path->root == FA_TEMPLATE_DATA);
    return fa_path_find(&path->path, *data, NULL, out);
}

bool fa_template_lookup_members(void *context, const struct fa_template_path *path,
                                struct fa_json *out)
{
    const struct fa_template_members *members = context;

    assert(path->root >= FA_TEMPLATE_KEY);
    if (path->root == FA_TEMPLATE_KEY) {
        *out = members->key;
        return true;
    }
    return members->tasks[path->root].raw.len > 0 &&
           fa_path_find(&path->path, members->tasks[path->root], members->budget, out);
}

/* ------------------------------------------------------------------------------------------
 * Rendering
 */

static enum faina_code refuse_render(const struct fa_template_path *path, const char *why,
                                     struct faina_error *err)
{
    size_t shown = fa_utf8_clip(path->text, WHERE_SIZE_MAX);

    return fa_error_set(err, FAINA_INVALID_REQUEST, "${%.*s%s} %s", (int)shown, path->text.ptr,
                        shown < path->text.len ? "..." : "", why);
}

static enum faina_code render_path(const struct fa_template_path *path, bool is_text,
                                   struct fa_json value, struct fa_buf *out,
                                   struct faina_error *err)
{
    if (is_text && (value.type == FA_JSON_OBJECT || value.type == FA_JSON_ARRAY))
        return refuse_render(path,
                             value.type == FA_JSON_OBJECT
                                 ? "is an object, so it must be the whole string"
                                 : "is an array, so it must be the whole string",
                             err);
    if (is_text && value.type == FA_JSON_STRING)
        fa_buf_add(out, value.raw.ptr + 1, value.raw.len - 2);
    else
        fa_buf_add(out, value.raw.ptr, value.raw.len);
    return FAINA_OK;
}

enum faina_code fa_template_render(const struct fa_template *compiled, fa_template_lookup *lookup,
                                   void *context, struct fa_buf *out, struct faina_error *err)
{
    for (size_t i = 0; i < compiled->count; i++) {
        const struct part *part = &compiled->parts[i];
        enum faina_code code = FAINA_OK;
        struct fa_json value;

        if (part->kind == BYTES) {
            fa_buf_add(out, part->bytes.ptr, part->bytes.len);
        } else {
            const struct fa_template_path *path = &compiled->paths[part->path];

            if (!lookup(context, path, &value))
                return refuse_render(path, "is missing", err);
            code = render_path(path, part->kind == TEXT, value, out, err);
        }
        if (code != FAINA_OK)
            return code;
        if (out->overflow)
            return fa_error_set(err, FAINA_PAYLOAD_TOO_LARGE,
                                "what the template makes is larger than %zu bytes", out->max);
    }
    return FAINA_OK;
}
