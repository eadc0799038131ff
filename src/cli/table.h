/*
 * table.h - rows and columns that fit the terminal.
 *
 *   T1  The first column holds the id or the name that the user wants to copy. It is cut only if it
 *       is flexible, which is for tables whose other columns are what they are read for.
 *   T2  When the rows are too wide, the last flexible column is cut, to no less than says
 *       something, and then a flexible first one; when that is not enough, the last column is left
 *       out, and so on.
 *   T3  What was left out is told, once, at the end.
 *   T4  A pipe or a file has room for everything, unless COLUMNS says otherwise.
 */
#ifndef FA_TABLE_H
#define FA_TABLE_H

#include "cli/cli.h"

enum { FA_COLUMN_RIGHT = 1, FA_COLUMN_FLEXIBLE = 2 };

struct fa_column {
    const char *title;
    unsigned flags;
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
/* Prints the title line and the rows; and with row_max > 0 no more than so many. */
void fa_table_print(struct fa_table *table, struct fa_cli *cli, size_t row_max);
/* T3, after the output. Of a table that is drawn again and again (row_max > 0) nothing is told. */
void fa_table_tell_hidden(struct fa_cli *cli);
void fa_table_finish(struct fa_table *table);

/* One line of a record: a label and its text. Nothing when the text is NULL. */
void fa_record_line(struct fa_cli *cli, const char *label, enum fa_style style, const char *text);

#endif
