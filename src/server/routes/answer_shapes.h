/*
 * answer_shapes.h - descriptions of the answers that handlers write member by member, for
 * /openapi.json and docs/api.md. The others are described by the tables that write them
 * (wire/wire.h); a test compares the answers of every route with their descriptions.
 */
#ifndef FA_SERVER_ROUTES_ANSWER_SHAPES_H
#define FA_SERVER_ROUTES_ANSWER_SHAPES_H

#include "model/field.h"

/* No objects: any JSON, text/plain, text/event-stream, a SQLite file. */
extern const struct fa_shape fa_reply_json, fa_reply_text, fa_reply_stream, fa_reply_backup;

extern const struct fa_shape fa_reply_preview, fa_reply_batch, fa_reply_many, fa_reply_purge,
    fa_reply_bulk, fa_reply_lane, fa_reply_stats, fa_reply_info, fa_reply_health;

/* {items, nextCursor} */
extern const struct fa_shape fa_reply_events, fa_reply_workers, fa_reply_resources, fa_reply_teams,
    fa_reply_types, fa_reply_bulks, fa_reply_crons, fa_reply_lanes, fa_reply_workflows,
    fa_reply_tokens, fa_reply_namespaces;

extern const struct fa_shape fa_reply_session, fa_reply_times, fa_reply_why, fa_reply_backtest;

#endif
