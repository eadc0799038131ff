/*
 * route.h - the one table of routes. Dispatch, 404 and 405, scopes, /openapi.json, docs/api.md and
 * the page at / all come from it.
 *
 * A new route is a row in routes.c and its handler. Bodies and answers are described by their
 * tables (wire/body.h, wire/wire.h, answer_shapes.h).
 */
#ifndef FA_SERVER_ROUTES_ROUTE_H
#define FA_SERVER_ROUTES_ROUTE_H

#include "model/bulk.h"
#include "server/http/request.h"

#define FA_API "/api/v1"

enum fa_route_flag {
    FA_ROUTE_LARGE = 1 << 1, /* the body may be as large as a batch */
    FA_ROUTE_LINES = 1 << 2, /* ... and may be NDJSON */
    FA_ROUTE_AUDIT = 1 << 3, /* an administrative act: a line in the log */
    FA_ROUTE_YAML = 1 << 4,  /* the body may be YAML */
};

struct fa_route {
    const char *method, *path;
    unsigned what; /* the operation, or another row of access.h */
    fa_handler *handle;
    unsigned flags;
    const void *data;  /* the handler's own */
    const char *query; /* the names of its parameters, with spaces between; NULL: none */
    const struct fa_shape *request;  /* the body; NULL: none */
    const struct fa_shape *response; /* the answer; NULL: no body */
    int status;                      /* of a good answer */
    const char *title;               /* one line */
    const char *details;             /* sentences; NULL: none */
    const char *example;             /* what comes after `curl`, on any number of lines */
};

extern const struct fa_route fa_routes[];
extern const size_t fa_route_count;

/* The route of a request. NULL: none; then `allow` lists the methods that the path has ("" when it
 * has none). HEAD is GET's. */
const struct fa_route *fa_route_find(const char *method, const char *path,
                                     struct fa_bytes parts[FA_URL_PARTS_MAX], struct fa_buf *allow);

/* ---- route_tasks.c ---- */
fa_handler fa_handle_submit, fa_handle_check, fa_handle_batch, fa_handle_list, fa_handle_get,
    fa_handle_events, fa_handle_result, fa_handle_children, fa_handle_explain, fa_handle_find,
    fa_handle_graph, fa_handle_wait, fa_handle_stream, fa_handle_delete, fa_handle_purge;
/* ---- route_claims.c ---- */
fa_handler fa_handle_act, fa_handle_status, fa_handle_update, fa_handle_claims, fa_handle_outcomes,
    fa_handle_heartbeats, fa_handle_acts;
/* What fa_handle_act does: the route's data. */
struct fa_act_kind {
    const struct fa_shape *body;
    enum fa_op_kind kind;
};
extern const struct fa_act_kind fa_act_claim, fa_act_start, fa_act_complete, fa_act_fail,
    fa_act_progress, fa_act_heartbeat, fa_act_subtask, fa_act_block, fa_act_background,
    fa_act_release, fa_act_snooze, fa_act_note, fa_act_amend, fa_act_cancel, fa_act_retry;
/* ---- route_admin.c ---- */
fa_handler fa_handle_broker, fa_handle_broker_put;
fa_handler fa_handle_settings, fa_handle_settings_put;
fa_handler fa_handle_types, fa_handle_type, fa_handle_type_put, fa_handle_type_delete;
fa_handler fa_handle_resources, fa_handle_resource, fa_handle_resource_put,
    fa_handle_resource_delete, fa_handle_teams, fa_handle_team, fa_handle_team_post,
    fa_handle_team_put, fa_handle_team_delete, fa_handle_stats, fa_handle_lanes,
    fa_handle_lane_pause, fa_handle_lane_resume;
/* ---- route_schedules.c ---- */
fa_handler fa_handle_crons, fa_handle_cron, fa_handle_cron_put, fa_handle_cron_delete,
    fa_handle_cron_run, fa_handle_cron_next;
/* ---- route_workers.c: workers and tokens ---- */
fa_handler fa_handle_workers, fa_handle_worker, fa_handle_worker_put, fa_handle_worker_delete,
    fa_handle_tokens, fa_handle_token_post, fa_handle_token_delete;
/* ---- route_workflows.c ---- */
fa_handler fa_handle_emit, fa_handle_emitted_events, fa_handle_emitted_event, fa_handle_workflows,
    fa_handle_workflow, fa_handle_workflow_put, fa_handle_workflow_delete,
    fa_handle_workflow_enable, fa_handle_workflow_disable, fa_handle_workflow_test, fa_handle_joins;
/* ---- route_replay.c: definitions and stored events, without side effects ---- */
fa_handler fa_handle_event_why, fa_handle_backtest;
/* ---- route_system.c ---- */
fa_handler fa_handle_log, fa_handle_healthz, fa_handle_readyz, fa_handle_metrics, fa_handle_openapi,
    fa_handle_info;

/* ---- route_log.c ---- */
fa_handler fa_handle_log_post, fa_handle_log_get;

/* ---- route_session.c ---- */
fa_handler fa_handle_session_post, fa_handle_session_get, fa_handle_session_delete,
    fa_handle_namespaces;
/* ---- route_bulk.c: operations on many tasks ---- */
fa_handler fa_handle_bulk, fa_handle_bulks, fa_handle_bulk_get, fa_handle_bulk_cancel;
/* Which operation: the route's data. */
extern const enum fa_bulk_kind fa_bulk_kinds[FA_BULK_KIND_COUNT];
/* ---- route_reports.c ---- */
fa_handler fa_handle_history, fa_handle_failures, fa_handle_audit;

/* ---- route_page.c ---- */
fa_handler fa_handle_root, fa_handle_asset;

/* ---- route_backup.c ---- */
fa_handler fa_handle_backup;

/* ---- openapi.c ---- */

/* The OpenAPI document, the page docs/api.md and the one at / of a program without the dashboard,
 * all from the table. */
void fa_openapi_write(struct fa_buf *out);
void fa_api_page_write(struct fa_buf *out);
void fa_html_page_write(struct fa_buf *out);

#endif
