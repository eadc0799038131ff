/*
 * wire_flow.h - workflows, events and joins as JSON, in the names of the contract.
 *
 * Beside wire.h, for the command line, the HTTP server and the remote engine. Writing never fails.
 */
#ifndef FA_WIRE_FLOW_H
#define FA_WIRE_FLOW_H

#include "base/json.h"
#include "model/match.h"
#include "service/service.h"
#include "service/shape.h"

/* What servers answer; of fa_stored_workflow(s), faina_emitted, fa_happening, fa_happened and
 * fa_join_states. */
extern const struct fa_shape fa_shape_workflow, fa_shape_workflows, fa_shape_emitted,
    fa_shape_happening, fa_shape_happened, fa_shape_joins;

#define FA_TAG_DISABLED "-disabled" /* behind the version in the ETag of a workflow */

/* {name, namespace, version, enabled, updatedAt, definition} */
void fa_wire_put_workflow(struct fa_json_writer *w, const struct fa_stored_workflow *workflow);
/* {id, tasks, failures}; `existing` only when true. */
void fa_wire_put_emitted(struct fa_json_writer *w, const struct faina_emitted *emitted);
/* {id, namespace, type, data, createdAt, tasks, failures} */
void fa_wire_put_happening(struct fa_json_writer *w, const struct fa_happening *event);
/* {workflow, join, namespace, key, round, members, updatedAt, deadline, last} */
void fa_wire_put_join(struct fa_json_writer *w, const struct fa_join_state *state);
/* A problem whose `errors` are all mistakes of a definition, with line and column. */
void fa_wire_put_mistakes(struct fa_json_writer *w, const struct faina_error *error,
                          const struct fa_mistakes *mistakes);
/* {matched, decidedBy} */
void fa_wire_put_verdict(struct fa_json_writer *w, const struct fa_match *match,
                         const struct fa_match_verdict *verdict);

#endif
