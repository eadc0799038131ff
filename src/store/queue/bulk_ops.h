/*
 * bulk_ops.h - operations on many tasks as they are stored: table `operation`.
 *
 *     BULK --> counts --> acts --> completed
 *                '---------'-----> cancelled, failed
 *
 * bulk_ops.c starts, cancels and lists them; upkeep/bulk_runner.c runs them.
 *
 *   B1  An operation concerns tasks that were created before it.
 *   B2  `position` is the task that was counted, or then acted on, last: a cursor of a list of the
 *       tasks, newest first. Acting on tasks doesn't change their places in it.
 */
#ifndef FA_STORE_QUEUE_BULK_OPS_H
#define FA_STORE_QUEUE_BULK_OPS_H

#include "model/bulk.h"
#include "store/queue/cancel_tree.h"
#include "store/queue/ops.h"
#include "store/read/list_inner.h"

/* A row of the table. */
struct fa_bulk_row {
    struct fa_bulk bulk;
    bool is_counted;
    const char *request, *position;
};

/* NOT_FOUND: there is none, or its row is damaged. With `locks`, no other node changes it until the
 * transaction ends. */
FA_MUST_CHECK enum faina_code fa_bulk_row_get(struct fa_source *source, const char *id, bool locks,
                                              struct fa_arena *arena, struct fa_bulk_row *out,
                                              struct faina_error *err);
/* Stores its status, numbers and position. */
FA_MUST_CHECK enum faina_code fa_bulk_row_update(struct fa_unit *unit,
                                                 const struct fa_bulk_row *row,
                                                 struct faina_error *err);
/* What was requested, with the bound of B1. */
FA_MUST_CHECK enum faina_code fa_bulk_row_request(const struct fa_bulk_row *row,
                                                  struct fa_arena *arena,
                                                  struct fa_bulk_request *out,
                                                  struct faina_error *err);
/* Reads a part of the tasks that a request concerns, from a position on. The page says what is
 * wanted; its next_cursor is the next position. */
FA_MUST_CHECK enum faina_code fa_bulk_find(struct fa_source *source,
                                           const struct fa_bulk_request *request,
                                           const char *position, struct fa_arena *arena,
                                           struct fa_list_page *page, struct faina_error *err);

/* Starts an operation that cancels the rest of a tree (cancel_tree.h, CT3). Its request has the id
 * of the root, and no filter. */
FA_MUST_CHECK enum faina_code fa_bulk_add_tree(struct fa_unit *unit, const struct fa_row *root,
                                               const struct fa_tree *tree, struct faina_error *err);

enum faina_code fa_read_bulk_count(struct fa_source *source, struct fa_op *op);
enum faina_code fa_read_bulks(struct fa_source *source, struct fa_op *op);

#endif
