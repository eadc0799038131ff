/*
 * openapi.c - the route table as an OpenAPI document, and as a page for people.
 *
 * Paths come from the table of routes (routes.c), schemas from the tables of the bodies.
 */
#include "server/routes/route.h"

#include "server/routes/answer_shapes.h"
#include "service/token.h"
#include "wire/schema.h"
#include "wire/wire.h"

#include <ctype.h>
#include <stdio.h>

#define MEMBERS_SHOWN_MAX 12 /* beside the route; longer objects are a link */

static void put_content(struct fa_json_writer *w, const char *type, const struct fa_shape *shape)
{
    fa_json_key(w, type);
    fa_json_begin_object(w);
    fa_json_key(w, "schema");
    fa_schema_put_reference(w, shape);
    fa_json_end_object(w);
}

/* ------------------------------------------------------------------------------------------
 * One operation
 */

/* "POST /api/v1/tasks/{id}:claim" is "postTasksIdClaim". */
static void put_operation_id(struct fa_json_writer *w, const struct fa_route *route)
{
    const char *path = route->path;
    bool is_upper = true;
    struct fa_buf id;

    fa_buf_init(&id, 256);
    for (const char *at = route->method; *at; at++)
        fa_buf_add_char(&id, (char)tolower((unsigned char)*at));
    if (strncmp(path, FA_API, strlen(FA_API)) == 0)
        path += strlen(FA_API);
    for (; *path; path++) {
        if (!isalnum((unsigned char)*path)) {
            is_upper = true;
            continue;
        }
        fa_buf_add_char(&id, is_upper ? (char)toupper((unsigned char)*path) : *path);
        is_upper = false;
    }
    fa_json_set_str(w, "operationId", id.ptr);
    fa_buf_finish(&id);
}

static void put_parameter(struct fa_json_writer *w, struct fa_bytes name, const char *where)
{
    fa_json_begin_object(w);
    fa_json_key(w, "name");
    fa_json_put_bytes(w, name);
    fa_json_set_str(w, "in", where);
    if (strcmp(where, "path") == 0) {
        fa_json_key(w, "required");
        fa_json_put_bool(w, true);
    }
    fa_json_key(w, "schema");
    fa_json_put_raw(w, "{\"type\":\"string\"}");
    fa_json_end_object(w);
}

static void put_parameters(struct fa_json_writer *w, const struct fa_route *route)
{
    const char *open = strchr(route->path, '{');

    fa_json_key(w, "parameters");
    fa_json_begin_array(w);
    if (open)
        put_parameter(w, (struct fa_bytes){open + 1, strcspn(open + 1, "}")}, "path");
    for (const char *at = route->query; at && *at; at += *at == ' ') {
        size_t len = strcspn(at, " ");

        put_parameter(w, (struct fa_bytes){at, len}, "query");
        at += len;
    }
    if (fa_request_takes_reason(route))
        put_parameter(w, FA_LIT("reason"), "query");
    fa_json_end_array(w);
}

static void put_request(struct fa_json_writer *w, const struct fa_route *route)
{
    if (!route->request)
        return;
    fa_json_key(w, "requestBody");
    fa_json_begin_object(w);
    fa_json_key(w, "content");
    fa_json_begin_object(w);
    put_content(w, "application/json", route->request);
    if (route->flags & FA_ROUTE_LINES)
        put_content(w, "application/x-ndjson", &fa_reply_text);
    fa_json_end_object(w);
    fa_json_end_object(w);
}

static const char *type_of(const struct fa_shape *shape)
{
    return shape == &fa_reply_text     ? "text/plain"
           : shape == &fa_reply_stream ? "text/event-stream"
           : shape == &fa_reply_backup ? "application/vnd.sqlite3"
                                       : "application/json";
}

static void put_response(struct fa_json_writer *w, const struct fa_route *route, int status)
{
    char code[16];

    snprintf(code, sizeof(code), "%d", status);
    fa_json_key(w, code);
    fa_json_begin_object(w);
    fa_json_set_str(w, "description", route->title);
    if (route->response) {
        fa_json_key(w, "content");
        fa_json_begin_object(w);
        put_content(w, type_of(route->response), route->response);
        if (route->handle == fa_handle_root)
            put_content(w, "text/html", route->response);
        fa_json_end_object(w);
    }
    fa_json_end_object(w);
}

static void put_responses(struct fa_json_writer *w, const struct fa_route *route)
{
    fa_json_key(w, "responses");
    fa_json_begin_object(w);
    put_response(w, route, route->status);
    if (route->handle == fa_handle_submit)
        put_response(w, route, 200);
    fa_json_key(w, "default");
    fa_json_put_raw(w, "{\"description\":\"A problem\",\"content\":{\"application/problem+json\":"
                       "{\"schema\":{\"$ref\":\"#/components/schemas/Problem\"}}}}");
    fa_json_end_object(w);
}

/* One requirement for each scope that is enough by itself, if only for some tasks. */
static void put_security(struct fa_json_writer *w, const struct fa_route *route)
{
    unsigned scopes = fa_access_scopes(route->what) | fa_access_own_scopes(route->what);

    fa_json_key(w, "security");
    fa_json_begin_array(w);
    if (scopes != FA_SCOPE_NONE)
        fa_json_put_raw(w, "{}"); /* a server without tokens needs none */
    for (size_t i = 0; fa_scope_name(i); i++) {
        if (!(scopes & 1u << i))
            continue;
        fa_json_begin_object(w);
        fa_json_key(w, "token");
        fa_json_begin_array(w);
        fa_json_put_str(w, fa_scope_name(i));
        fa_json_end_array(w);
        fa_json_end_object(w);
    }
    fa_json_end_array(w);
}

/* " Scope `read` or `view`." */
static void put_scopes(struct fa_buf *out, const struct fa_route *route)
{
    unsigned scopes = fa_access_scopes(route->what), own = fa_access_own_scopes(route->what);
    const char *before = " Scope `";

    for (size_t i = 0; fa_scope_name(i); i++) {
        if (!((scopes | own) & 1u << i))
            continue;
        fa_buf_printf(out, "%s%s`%s", before, fa_scope_name(i),
                      own & 1u << i ? " (for cancelling what the token has submitted)" : "");
        before = " or `";
    }
    if (scopes != FA_SCOPE_NONE)
        fa_buf_add_str(out, ".");
}

static void put_operation(struct fa_json_writer *w, const struct fa_route *route)
{
    char method[16] = "";

    for (size_t i = 0; route->method[i] && i < sizeof(method) - 1; i++)
        method[i] = (char)tolower((unsigned char)route->method[i]);
    fa_json_key(w, method);
    fa_json_begin_object(w);
    put_operation_id(w, route);
    fa_json_set_str(w, "summary", route->title);
    if (route->details)
        fa_json_set_str(w, "description", route->details);
    put_parameters(w, route);
    put_request(w, route);
    put_responses(w, route);
    put_security(w, route);
    fa_json_end_object(w);
}

/* ------------------------------------------------------------------------------------------
 * The document
 */

static bool is_first(size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(fa_routes[i].path, fa_routes[index].path) == 0)
            return false;
    return true;
}

static void put_paths(struct fa_json_writer *w)
{
    fa_json_key(w, "paths");
    fa_json_begin_object(w);
    for (size_t i = 0; i < fa_route_count; i++) {
        if (!is_first(i))
            continue;
        fa_json_key(w, fa_routes[i].path);
        fa_json_begin_object(w);
        for (size_t k = i; k < fa_route_count; k++)
            if (strcmp(fa_routes[k].path, fa_routes[i].path) == 0)
                put_operation(w, &fa_routes[k]);
        fa_json_end_object(w);
    }
    fa_json_end_object(w);
}

static void collect_schemas(struct fa_schemas *schemas)
{
    for (size_t i = 0; i < fa_route_count; i++) {
        fa_schemas_add(schemas, fa_routes[i].request);
        fa_schemas_add(schemas, fa_routes[i].response);
    }
    fa_schemas_add(schemas, &fa_shape_problem);
}

static void put_schemas(struct fa_json_writer *w)
{
    struct fa_schemas schemas = {.count = 0};

    collect_schemas(&schemas);
    fa_json_key(w, "schemas");
    fa_json_begin_object(w);
    for (size_t i = 0; i < schemas.count; i++) {
        fa_json_key(w, schemas.items[i]->name);
        fa_schema_put(w, schemas.items[i]);
    }
    fa_json_end_object(w);
}

void fa_openapi_write(struct fa_buf *out)
{
    struct fa_json_writer w;

    fa_json_writer_init(&w, out, 0);
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "openapi", "3.1.0");
    fa_json_key(&w, "info");
    fa_json_begin_object(&w);
    fa_json_set_str(&w, "title", "Faina");
    fa_json_set_str(&w, "version", FAINA_VERSION);
    fa_json_set_str(&w, "description", "A durable task engine.");
    fa_json_key(&w, "license");
    fa_json_put_raw(&w, "{\"name\":\"MIT\",\"identifier\":\"MIT\"}");
    fa_json_end_object(&w);
    fa_json_key(&w, "servers");
    fa_json_put_raw(&w, "[{\"url\":\"/\"}]");
    put_paths(&w);
    fa_json_key(&w, "components");
    fa_json_begin_object(&w);
    fa_json_key(&w, "securitySchemes");
    fa_json_put_raw(&w, "{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}");
    put_schemas(&w);
    fa_json_end_object(&w);
    fa_json_end_object(&w);
}

/* ------------------------------------------------------------------------------------------
 * The page
 */

static const char page_head[] =
    "# The HTTP interface\n"
    "\n"
    "This page is printed from the server's table of routes (`faina serve --print-api`); a test "
    "runs every\n"
    "example. `/openapi.json` is the same for programs.\n"
    "\n"
    "    faina serve                                   # 127.0.0.1:7070, sqlite:faina.db\n"
    "    URL=http://localhost:7070\n"
    "\n"
    "Bodies are JSON in camelCase, with `Content-Type: application/json`. Times are RFC 3339 in "
    "UTC,\n"
    "durations are `\"50ms\"`, `\"90s\"`, `\"5m\"`, `\"1h\"` or seconds. Unknown fields and "
    "unknown\n"
    "parameters are refused by name. A change is answered after it is on disk.\n"
    "\n"
    "- **Errors** are `application/problem+json`: `{type, title, status, detail, code}`, and\n"
    "  `errors: [{field, message}]` when a field is to blame. [errors.md](errors.md) lists the "
    "codes.\n"
    "  With 429 and 503 comes `Retry-After`.\n"
    "- **Versions.** The `ETag` of a task, a schedule, a workflow or the policies of a type is "
    "its\n  version; that of a disabled\n"
    "  workflow ends so: `\"3-disabled\"`. `If-Match` on a change, or on a removal, refuses "
    "with 412\n"
    "  when it has changed since. A renewed lease is no change, and neither is the end of a task's "
    "team.\n"
    "  Teams and resources have no version, and refuse `If-Match`.\n"
    "- **Lists** are `{items, nextCursor}`. Large answers are compressed when the client accepts "
    "gzip.\n"
    "- **Tokens** go into `Authorization: Bearer ...`. Each route needs one of the scopes that it "
    "names;\n"
    "  `admin` includes the others. Without any token stored, none is needed on\n"
    "  this machine, and requests from other machines are refused.\n"
    "\n"
    "  | scope | allows |\n"
    "  |---|---|\n"
    "  | `read` | every GET and the stream |\n"
    "  | `view` | the same without payloads: `input`, `output`, `metadata`, `spec`, the `data` of "
    "events, details of errors and events, and definitions of workflows are `null`, with "
    "`redacted: true`; "
    "no `/result` |\n"
    "  | `submit` | to submit and to emit, and to cancel what this token submitted |\n"
    "  | `work` | claims, outcomes, heartbeats, registering workers |\n"
    "  | `operate` | to cancel, retry, delete and purge tasks, to pause types and to run a "
    "schedule |\n"
    "  | `admin` | everything; alone: teams, schedules, workflows, policies of types, and, for all "
    "namespaces, "
    "resources and tokens |\n"
    "\n"
    "  A bad token is refused with 401; an address with more than ten of them, then more than one\n"
    "  per second, with 429.\n"
    "- **Namespaces.** A request that names none is about `default`, or about the only one of its\n"
    "  token. Tasks of namespaces that a token doesn't reach are not found.\n"
    "- **Hosts.** A request must be for `localhost`, an address in digits, or a name that "
    "`--host`\n"
    "  has added. A change that a page of another origin sends is refused.\n"
    "- **Limits** on everything that is sent are in [limits.md](limits.md).\n"
    "- Every answer has an `X-Request-Id`. The server's log has it for administrative acts, and "
    "with\n"
    "  `FAINA_LOG=debug` for every request.\n";

static const char objects_head[] =
    "\n## Objects\n"
    "\n"
    "The members of the bodies and answers above. A request has those that it needs; an answer has "
    "all of\n"
    "them, but those with `?` (in the outlines above), which are there only when they are set.\n";

/* "[Task](#task)" */
static void put_link(struct fa_buf *out, const struct fa_shape *shape)
{
    fa_buf_printf(out, "[%s](#", shape->name);
    for (const char *at = shape->name; *at; at++)
        fa_buf_add_char(out, (char)tolower((unsigned char)*at));
    fa_buf_add_str(out, ")");
}

/* "Answer: 200, [TaskList](#tasklist) `{items: [Task], nextCursor: string or null}`." */
static void put_answer(struct fa_buf *out, const struct fa_route *route)
{
    const struct fa_shape *shape = route->response;

    fa_buf_printf(out, "\n\nAnswer: %d", route->status);
    if (!shape) {
        fa_buf_add_str(out, " without a body.");
        return;
    }
    fa_buf_add_str(out, ", ");
    if (!shape->fields) {
        fa_buf_add_str(out, shape->doc ? shape->doc : type_of(shape));
    } else {
        put_link(out, shape);
        if (fa_schema_member_count(shape) <= MEMBERS_SHOWN_MAX) {
            fa_buf_add_str(out, " `");
            fa_schema_add_outline(out, shape);
            fa_buf_add_str(out, "`");
        }
    }
    if (out->ptr[out->len - 1] != '.')
        fa_buf_add_str(out, ".");
}

/* Each object with a name, once. */
static void put_objects(struct fa_buf *out)
{
    struct fa_schemas schemas = {.count = 0};

    collect_schemas(&schemas);
    fa_buf_add_str(out, objects_head);
    for (size_t i = 0; i < schemas.count; i++) {
        const struct fa_shape *shape = schemas.items[i];

        if (!shape->fields)
            continue;
        fa_buf_printf(out, "\n### %s\n\n", shape->name);
        if (shape->doc)
            fa_buf_printf(out, "%s.\n\n", shape->doc);
        fa_schema_add_table(out, shape);
    }
}

void fa_api_page_write(struct fa_buf *out)
{
    fa_buf_add_str(out, page_head);
    for (size_t i = 0; i < fa_route_count; i++) {
        const struct fa_route *route = &fa_routes[i];

        fa_buf_printf(out, "\n## %s %s\n\n%s.", route->method, route->path, route->title);
        if (route->details)
            fa_buf_printf(out, " %s", route->details);
        put_scopes(out, route);
        if (route->query || fa_request_takes_reason(route)) {
            fa_buf_add_str(out, "\n\nParameters: `");
            for (const char *at = route->query; at && *at; at++)
                fa_buf_add_str(out, *at == ' ' ? "`, `" : (char[]){*at, '\0'});
            if (fa_request_takes_reason(route))
                fa_buf_add_str(out, route->query ? "`, `reason" : "reason");
            fa_buf_add_str(out, "`.");
        }
        if (route->request) {
            fa_buf_add_str(out, "\n\nBody: ");
            put_link(out, route->request);
            fa_buf_add_str(out, " with ");
            fa_schema_add_names(out, route->request);
            fa_buf_add_str(out, ".");
        }
        put_answer(out, route);
        fa_buf_printf(out, "\n\n```sh\n%s\n```\n", route->example);
    }
    put_objects(out);
}

/* ------------------------------------------------------------------------------------------
 * The page at /
 */

static const char html_head[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Faina</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "td{padding:.1em 1em .1em 0;vertical-align:top}code{font-size:14px}</style></head>\n"
    "<body><h1>Faina " FAINA_VERSION "</h1>\n"
    "<p>This program was built without the dashboard, because node and npm were missing. These "
    "are the routes of its interface. "
    "<a href=\"openapi.json\">openapi.json</a> is the same for programs.</p>\n<table>\n";

/* A page that a browser can show, and that ends. */
static bool is_link(const struct fa_route *route)
{
    return strcmp(route->method, "GET") == 0 && !strchr(route->path, '{') &&
           route->response != &fa_reply_stream;
}

void fa_html_page_write(struct fa_buf *out)
{
    fa_buf_add_str(out, html_head);
    for (size_t i = 0; i < fa_route_count; i++) {
        const struct fa_route *route = &fa_routes[i];

        fa_buf_printf(out, "<tr><td><code>%s</code><td><code>", route->method);
        if (is_link(route))
            fa_buf_printf(out, "<a href=\"%s\">%s</a>", route->path, route->path);
        else
            fa_buf_add_str(out, route->path);
        fa_buf_printf(out, "</code><td>%s\n", route->title);
    }
    fa_buf_add_str(out, "</table></body></html>\n");
}
