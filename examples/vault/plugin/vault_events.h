/*
 * vault_events.h - object.created, the event that the workflow of the vault begins with.
 *
 * Its data: hash, mimeType, size, filename, path (in the container), container, object (the path of
 * the leaf on this machine). Its id is `object:HASH`: a leaf that is in two containers, or is
 * ingested again after a kill, is announced once.
 *
 * Threads: that of the work; events are emitted by some threads at once, so that they share
 * transactions.
 */
#ifndef VAULT_EVENTS_H
#define VAULT_EVENTS_H

#include "vault_manifest.h"
#include "vault_work.h"

struct vault_events;

struct vault_events *vault_events_open(struct vault_work *work);
bool vault_events_created(struct vault_events *events, const char *container,
                          const struct vault_leaf *leaf, struct vault_error *err);
/* Waits until all are stored by the engine. */
bool vault_events_flush(struct vault_events *events, struct vault_error *err);
void vault_events_close(struct vault_events *events);

#endif
