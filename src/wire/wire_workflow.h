/*
 * wire_workflow.h - workflows, events and joins as JSON, in the names of the contract.
 *
 * As wire.h, for the command line, the HTTP server and the HTTP client. Writing never fails.
 */
#ifndef FA_WIRE_WIRE_WORKFLOW_H
#define FA_WIRE_WIRE_WORKFLOW_H

#include "json/json.h"
#include "model/match.h"
#include "model/operation.h"
#include "wire/shape.h"

/* Answers; of fa_stored_workflow(s), faina_emitted, fa_emitted_event, fa_emitted_events and
 * fa_join_states. */
extern const struct fa_shape fa_shape_workflow, fa_shape_workflows, fa_shape_emitted,
    fa_shape_emitted_event, fa_shape_emitted_events, fa_shape_joins;
/* For the description only. */
extern const struct fa_shape fa_body_definition, fa_shape_verdict;

#define FA_TAG_DISABLED "-disabled" /* behind the version in the ETag of a workflow */

/* {name, namespace, version, enabled, updatedAt, definition} */
void fa_wire_put_workflow(struct fa_json_writer *w, const struct fa_stored_workflow *workflow);
/* A problem whose `errors` are all mistakes of a definition, with line and column. */
void fa_wire_put_mistakes(struct fa_json_writer *w, const struct faina_error *error,
                          const struct fa_mistakes *mistakes);
/* {matched, decidedBy} */
void fa_wire_put_verdict(struct fa_json_writer *w, const struct fa_match *match,
                         const struct fa_match_verdict *verdict);

#endif
