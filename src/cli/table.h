/*
 * table.h - tables that fit the terminal.
 *
 *   T1  The first column holds the id or the name that the user copies. It is cut only if it is
 *       flexible, which is for tables whose other columns are more important.
 *   T2  When the rows are too wide, the widest flexible columns are cut, the first column
 *       last, and none below its minimum. When that is not enough, the last column is left out, and
 *       the rest is fitted again.
 *   T3  The columns that were left out are listed once, at the end.
 *   T4  Output to a pipe or a file is not cut, unless COLUMNS is set.
 */
#ifndef FA_CLI_TABLE_H
#define FA_CLI_TABLE_H

#include "cli/cli.h"

enum { FA_COLUMN_RIGHT = 1, FA_COLUMN_FLEXIBLE = 2 };

struct fa_column {
    const char *title;
    unsigned flags;
    int min; /* the least width of a flexible column; 0: the standard */
};

struct fa_cell {
    const char *text;
    enum fa_style style;
};

struct fa_table {
    const struct fa_column *columns;
    size_t column_count;
    struct fa_cell *cells; /* row after row */
    size_t cell_count, cell_size;
    struct fa_arena arena;
};

void fa_table_init(struct fa_table *table, const struct fa_column *columns, size_t count);
/* The next cell, from left to right, row after row. NULL is shown as "-". */
void fa_table_add(struct fa_table *table, enum fa_style style, const char *text);
void fa_table_addf(struct fa_table *table, const char *format, ...) FA_PRINTF(2, 3);
/* Prints the title line and the rows; at most row_max rows if that isn't 0. */
void fa_table_print(struct fa_table *table, struct fa_cli *cli, size_t row_max);
/* T3, after the output. Columns of a table that is redrawn (row_max > 0) are not listed. */
void fa_table_note_hidden(struct fa_cli *cli);
void fa_table_finish(struct fa_table *table);

/* How a verb prints a list. */
struct fa_list_view {
    const struct fa_shape *shape; /* of the list, for JSON */
    const char *none;             /* instead of an empty table */
    struct fa_column columns[10]; /* up to the first without a title */
    void (*add_row)(struct fa_table *table, const void *item);
};
/* With is_one, it has one item, and JSON is that item alone. */
void fa_print_list(struct fa_cli *cli, const struct fa_list_view *view, const void *list,
                   bool is_one);
/* Runs the operation and prints the list that it answers. Returns the exit code. */
FA_MUST_CHECK int fa_list_items(struct fa_cli *cli, struct fa_op *op,
                                const struct fa_list_view *view, bool is_one);

/* Prints one line of a record: a label and its text. Nothing when the text is NULL. */
void fa_record_line(struct fa_cli *cli, const char *label, enum fa_style style, const char *text);

#endif
