/*
 * vault_model.h - asks a model server that speaks Ollama's HTTP interface: POST /api/generate.
 *
 * The server is not trusted: its answer is limited in size and time, and must be a JSON object with
 * the members that were asked for.
 *
 * Threads: any.
 */
#ifndef VAULT_MODEL_H
#define VAULT_MODEL_H

#include "vault.h"

/* *metadata, {"title":...,"summary":...,"keywords":[...]}, is added to. A server that is away or
 * slow, or whose answer is wrong, is an error that may be retried; a request that it refuses (4xx)
 * is permanent. Stops soon after the attempt was cancelled. */
bool vault_model_ask(struct faina_context *context, const char *prompt, struct vault_text *metadata,
                     struct vault_error *err);

#endif
