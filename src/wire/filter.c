/* filter.c - see filter.h. */
#include "wire/filter.h"

#include "model/limits.h"
#include "model/other_names.h"
#include "model/states.h"
#include "model/times.h"

#include <stdio.h>

#define METADATA "metadata."
#define STATUS_TEXT_MAX 256

enum kind { TEXT, TIME, STATUSES };

struct condition {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct faina_query */
    bool is_scope; /* it selects nothing by itself */
};

#define CONDITION(json_name, type, member, ...)                                                    \
    {                                                                                              \
        .name = (json_name), .kind = (type), .offset = offsetof(struct faina_query, member),       \
        __VA_ARGS__                                                                                \
    }

/* Conditions on metadata have names of their own: metadata.PATH. */
static const struct condition conditions[] = {
    CONDITION("namespace", TEXT, ns, .is_scope = true),
    CONDITION("status", STATUSES, statuses),
    CONDITION("type", TEXT, type),
    CONDITION("name", TEXT, name),
    CONDITION("teamId", TEXT, team_id),
    CONDITION("team_id", TEXT, team_id),
    CONDITION("parentId", TEXT, parent_id),
    CONDITION("createdBy", TEXT, created_by),
    CONDITION("group", TEXT, group),
    CONDITION("idempotencyKey", TEXT, idempotency_key),
    CONDITION("workerId", TEXT, worker_id),
    CONDITION("resource", TEXT, resource),
    CONDITION("errorKind", TEXT, error_kind),
    CONDITION("failureGroup", TEXT, failure_group),
    CONDITION("origin", TEXT, origin),
    CONDITION("schedule", TEXT, schedule),
    CONDITION("createdAfter", TIME, created_after_us),
    CONDITION("createdBefore", TIME, created_before_us),
    CONDITION("updatedAfter", TIME, updated_after_us),
    CONDITION("updatedBefore", TIME, updated_before_us),
    CONDITION("endedAfter", TIME, ended_after_us),
    CONDITION("endedBefore", TIME, ended_before_us),
    CONDITION("dueBefore", TIME, due_before_us),
};

static const struct condition *find(const char *name)
{
    for (size_t i = 0; i < FA_COUNT(conditions); i++)
        if (strcmp(conditions[i].name, name) == 0)
            return &conditions[i];
    return NULL;
}

static bool is_metadata(const char *name)
{
    return strncmp(name, METADATA, strlen(METADATA)) == 0 && name[strlen(METADATA)] != '\0';
}

bool fa_filter_has_name(const char *name)
{
    return find(name) != NULL || is_metadata(name);
}

/* Adding ------------------------------------------------------------------------------------- */

static enum faina_code refuse_status(const char *word, struct faina_error *err)
{
    const char *ours = fa_other_status(word);

    return fa_error_field(err, FAINA_INVALID_REQUEST, "status",
                          "status must be one or more of pending, claimed, running, blocked, "
                          "background, completed, failed, dead_letter and cancelled, separated by "
                          "commas%s%s%s%s",
                          ours ? "; \"" : "", ours ? word : "", ours ? "\" is " : "",
                          ours ? ours : "");
}

static enum faina_code add_statuses(const char *text, unsigned *out, struct fa_arena *arena,
                                    struct faina_error *err)
{
    do {
        size_t len = strcspn(text, ",");
        const char *word = fa_arena_copy(arena, text, len);
        enum faina_status status;

        if (!fa_status_parse(word, &status))
            return refuse_status(fa_arena_printf(arena, "%.40s", word), err);
        *out |= 1u << status;
        text += len + (text[len] == ',');
    } while (*text != '\0');
    return FAINA_OK;
}

static enum faina_code add_metadata(struct faina_query *query, const char *path, const char *value,
                                    struct fa_arena *arena, struct faina_error *err)
{
    struct faina_metadata_is *all;

    if (query->metadata_count == FA_LIST_METADATA_MAX)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "metadata",
                              "a filter has at most %d conditions on metadata",
                              FA_LIST_METADATA_MAX);
    all = fa_arena_take(arena, (query->metadata_count + 1) * sizeof(*all));
    if (query->metadata_count > 0)
        memcpy(all, query->metadata, query->metadata_count * sizeof(*all));
    all[query->metadata_count++] =
        (struct faina_metadata_is){fa_arena_strdup(arena, path), fa_arena_strdup(arena, value)};
    query->metadata = all;
    return FAINA_OK;
}

static enum faina_code refuse_name(const char *name, struct faina_error *err)
{
    struct fa_buf names;
    enum faina_code code;

    fa_buf_init(&names, 4096);
    for (size_t i = 0; i < FA_COUNT(conditions); i++)
        fa_buf_printf(&names, "%s ", conditions[i].name);
    code = fa_error_field(err, FAINA_INVALID_REQUEST, name,
                          "a filter has no \"%.60s\"; there are: %smetadata.PATH", name, names.ptr);
    fa_buf_finish(&names);
    return code;
}

enum faina_code fa_filter_add(struct faina_query *query, const char *name, const char *value,
                              struct fa_arena *arena, struct faina_error *err)
{
    const struct condition *condition = find(name);
    char *at = condition ? (char *)query + condition->offset : NULL;

    if (condition == NULL)
        return is_metadata(name) ? add_metadata(query, name + strlen(METADATA), value, arena, err)
                                 : refuse_name(name, err);
    switch (condition->kind) {
    case TIME:
        return fa_time_parse(value, name, (int64_t *)(void *)at, err);
    case STATUSES:
        return add_statuses(value, (unsigned *)(void *)at, arena, err);
    case TEXT:
        break;
    }
    if (*(const char **)(void *)at != NULL)
        return fa_error_field(err, FAINA_INVALID_REQUEST, name, "%s is given twice%s", name,
                              condition->offset == offsetof(struct faina_query, team_id)
                                  ? ": teamId and team_id are the same"
                                  : "");
    *(const char **)(void *)at = fa_arena_strdup(arena, value);
    return FAINA_OK;
}

/* Listing ------------------------------------------------------------------------------------ */

static const char *statuses_text(unsigned statuses, char out[STATUS_TEXT_MAX])
{
    size_t len = 0;

    out[0] = '\0';
    for (enum faina_status status = 0; status < FAINA_STATUS_COUNT; status++)
        if (statuses & 1u << status)
            len += (size_t)snprintf(out + len, STATUS_TEXT_MAX - len, "%s%s", len > 0 ? "," : "",
                                    faina_status_name(status));
    return statuses != 0 ? out : NULL;
}

static const char *time_text(int64_t us, char out[FA_TIME_SIZE])
{
    if (us == 0)
        return NULL;
    fa_time_format(us, out);
    return out;
}

/* The value of a condition as text; NULL: it isn't there. */
static const char *value_of(const struct faina_query *query, const struct condition *condition,
                            char buffer[STATUS_TEXT_MAX])
{
    const char *at = (const char *)query + condition->offset;

    switch (condition->kind) {
    case TIME:
        return time_text(*(const int64_t *)(const void *)at, buffer);
    case STATUSES:
        return statuses_text(*(const unsigned *)(const void *)at, buffer);
    case TEXT:
        break;
    }
    if (strcmp(condition->name, "team_id") == 0)
        return NULL; /* the same as teamId */
    return *(const char *const *)(const void *)at;
}

void fa_filter_each(const struct faina_query *query, fa_filter_fn *each, void *ctx)
{
    for (size_t i = 0; i < FA_COUNT(conditions); i++) {
        char buffer[STATUS_TEXT_MAX];
        const char *value = value_of(query, &conditions[i], buffer);

        if (value != NULL)
            each(ctx, conditions[i].name, value);
    }
    for (size_t i = 0; i < query->metadata_count; i++) {
        struct fa_arena scratch = {0};

        each(ctx, fa_arena_printf(&scratch, METADATA "%s", query->metadata[i].path),
             query->metadata[i].value);
        fa_arena_finish(&scratch);
    }
}

bool fa_filter_has_condition(const struct faina_query *query)
{
    char buffer[STATUS_TEXT_MAX];

    for (size_t i = 0; i < FA_COUNT(conditions); i++)
        if (!conditions[i].is_scope && value_of(query, &conditions[i], buffer) != NULL)
            return true;
    return query->metadata_count > 0;
}

/* JSON --------------------------------------------------------------------------------------- */

static void put_condition(void *ctx, const char *name, const char *value)
{
    struct fa_json_writer *w = ctx;

    fa_json_key(w, name);
    fa_json_put_str(w, value);
}

void fa_filter_put(struct fa_json_writer *w, const struct fa_filter *filter)
{
    fa_json_begin_object(w);
    if (filter->all)
        fa_json_set_bool(w, "all", true);
    fa_filter_each(&filter->query, put_condition, w);
    fa_json_end_object(w);
}

/* A list of texts becomes one text, with commas between. */
static enum faina_code join_texts(const char *name, struct fa_json array, struct fa_arena *arena,
                                  const char **out, struct faina_error *err)
{
    struct fa_json_iter it = fa_json_iter(array);
    const char *text = NULL;
    struct fa_json item;

    if (strcmp(name, "status") != 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, name, "%.60s must be a text", name);
    while (fa_json_next(&it, NULL, &item)) {
        if (item.type != FA_JSON_STRING)
            return fa_error_field(err, FAINA_INVALID_REQUEST, name,
                                  "%.60s must be a text, or a list of texts", name);
        text = fa_arena_printf(arena, "%s%s%s", text ? text : "", text ? "," : "",
                               fa_json_text(item, arena));
    }
    if (text == NULL)
        return fa_error_field(err, FAINA_INVALID_REQUEST, name, "%.60s is an empty list", name);
    *out = text;
    return FAINA_OK;
}

static enum faina_code read_condition(struct fa_filter *filter, const char *name,
                                      struct fa_json value, struct fa_arena *arena,
                                      struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    const char *text = NULL;

    if (strcmp(name, "all") == 0) {
        if (value.type != FA_JSON_TRUE && value.type != FA_JSON_FALSE)
            return fa_error_field(err, FAINA_INVALID_REQUEST, "all", "all must be true or false");
        filter->all = value.type == FA_JSON_TRUE;
        return FAINA_OK;
    }
    if (!fa_filter_has_name(name))
        return refuse_name(name, err);
    if (value.type == FA_JSON_NULL && !is_metadata(name))
        return FAINA_OK; /* as if it weren't there */
    if (value.type == FA_JSON_STRING)
        text = fa_json_text(value, arena);
    else if (value.type == FA_JSON_ARRAY)
        code = join_texts(name, value, arena, &text, err);
    else if (is_metadata(name) && value.type != FA_JSON_OBJECT)
        text = fa_arena_copy(arena, value.raw.ptr, value.raw.len);
    else
        return fa_error_field(err, FAINA_INVALID_REQUEST, name, "%.60s must be a text", name);
    return code == FAINA_OK ? fa_filter_add(&filter->query, name, text, arena, err) : code;
}

enum faina_code fa_filter_read(struct fa_json object, struct fa_arena *arena, struct fa_filter *out,
                               struct faina_error *err)
{
    struct fa_filter filter = {.all = false};
    enum faina_code code = FAINA_OK;
    struct fa_json_iter it;
    struct fa_bytes name;
    struct fa_json value;

    if (object.type != FA_JSON_OBJECT)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "filter", "filter must be an object");
    for (it = fa_json_iter(object); code == FAINA_OK && fa_json_next(&it, &name, &value);)
        code = read_condition(&filter, fa_arena_copy(arena, name.ptr, name.len), value, arena, err);
    if (code == FAINA_OK)
        *out = filter;
    return code;
}

#define ROW(json_name, text)                                                                       \
    {                                                                                              \
        .name = (json_name), .type = FA_FIELD_TEXT, .doc = (text)                                  \
    }

/* clang-format off */
const struct fa_shape fa_shape_filter = {
    .name = "Filter",
    .is_request = true,
    .doc = "Which tasks: the names and values of `GET /tasks`. At least one besides `namespace`, "
           "or `all`. Also `metadata.PATH`, with a text, number, true, false or null",
    .fields = FA_FIELDS(
        {.name = "all", .type = FA_FIELD_BOOL, .doc = "All tasks of the namespace"},
        ROW("namespace", "Of this namespace; `*` is all"),
        ROW("status", "In one of these statuses, with commas between; also a list"),
        ROW("type", "Of this type"),
        ROW("name", "With this name"),
        ROW("teamId", "Of this team"),
        ROW("team_id", "The same as `teamId`"),
        ROW("parentId", "Subtasks of this task"),
        ROW("createdBy", "Submitted with this `createdBy`"),
        ROW("group", "With this group"),
        ROW("idempotencyKey", "With this key"),
        ROW("workerId", "Held by this worker"),
        ROW("resource", "That use this resource"),
        ROW("errorKind", "Whose last error is of this kind"),
        ROW("failureGroup", "Whose last error is in the group with this id (`/failures`)"),
        ROW("origin", "Created by this workflow"),
        ROW("schedule", "Created by the times of this schedule"),
        ROW("createdAfter", "Created at this time or later"),
        ROW("createdBefore", "Created before this time"),
        ROW("updatedAfter", "Changed at this time or later"),
        ROW("updatedBefore", "Last changed before this time"),
        ROW("endedAfter", "Ended at this time or later"),
        ROW("endedBefore", "Ended before this time"),
        ROW("dueBefore", "Pending, and due before this time")),
};
/* clang-format on */
