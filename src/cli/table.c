/*
 * table.c - tables that fit the terminal.
 */
#include "cli/table.h"

#include "cli/text.h"
#include "wire/shape.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#define GAP 2          /* spaces between columns */
#define FLEXIBLE_MIN 8 /* a narrower column can't be read */
#define FIRST_MIN 24   /* names that are cut shorter look the same */
#define COLUMN_COUNT_MAX 16
#define RECORD_LABEL_WIDTH 12

void fa_table_init(struct fa_table *table, const struct fa_column *columns, size_t count)
{
    assert(count > 0 && count <= COLUMN_COUNT_MAX);
    *table = (struct fa_table){.columns = columns, .column_count = count};
}

void fa_table_add(struct fa_table *table, enum fa_style style, const char *text)
{
    table->cells =
        fa_grow(table->cells, table->cell_count, &table->cell_size, sizeof(*table->cells));
    table->cells[table->cell_count++] =
        (struct fa_cell){fa_text_clean(&table->arena, text ? text : "-"), style};
}

void fa_table_addf(struct fa_table *table, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fa_table_add(table, FA_PLAIN, text);
}

static int total_width(const int *widths, size_t count)
{
    int total = 0;

    for (size_t i = 0; i < count; i++)
        total += widths[i] + (i > 0 ? GAP : 0);
    return total;
}

/* How much of a column may be cut off. */
static int spare(const struct fa_table *table, const int *widths, size_t column)
{
    int min = table->columns[column].min;

    if (min == 0)
        min = column == 0 ? FIRST_MIN : FLEXIBLE_MIN;
    return (table->columns[column].flags & FA_COLUMN_FLEXIBLE) && widths[column] > min
               ? widths[column] - min
               : 0;
}

/* The column that is cut next: the widest one that may be, and the first one last. */
static size_t widest(const struct fa_table *table, const int *widths, size_t count)
{
    size_t found = 0;

    for (size_t c = 1; c < count; c++)
        if (spare(table, widths, c) > 0 && (found == 0 || widths[c] >= widths[found]))
            found = c;
    return found;
}

/* Fits the columns into `room` (T2). Returns how many are left. */
static size_t fit(const struct fa_table *table, int *widths, int room)
{
    size_t count = table->column_count;

    for (; count > 1; count--) {
        int excess = total_width(widths, count) - room, spares = 0;

        for (size_t c = 0; c < count; c++)
            spares += spare(table, widths, c);
        if (excess > spares)
            continue;
        for (; excess > 0; excess--)
            widths[widest(table, widths, count)]--;
        break;
    }
    return count;
}

static void print_cell(struct fa_cli *cli, struct fa_arena *arena, const struct fa_column *column,
                       struct fa_cell cell, int width, bool is_last)
{
    const char *text = fa_text_clip(arena, cell.text, width);
    int pad = width - fa_text_width(text);
    const char *on = fa_style_on(cli, cell.style), *off = fa_style_off(cli, cell.style);

    if (pad < 0)
        pad = 0;
    if (column->flags & FA_COLUMN_RIGHT)
        fa_outf(cli, "%*s%s%s%s", pad, "", on, text, off);
    else
        fa_outf(cli, "%s%s%s%*s", on, text, off, is_last ? 0 : pad, "");
    if (!is_last)
        fa_outf(cli, "%*s", GAP, "");
}

/* Prints a row up to its last cell that isn't empty, so no line ends with spaces. */
static void print_row(struct fa_cli *cli, struct fa_table *table, const struct fa_cell *cells,
                      const int *widths, size_t count)
{
    while (count > 0 && cells[count - 1].text[0] == '\0')
        count--;
    for (size_t c = 0; c < count; c++)
        print_cell(cli, &table->arena, &table->columns[c], cells[c], widths[c], c + 1 == count);
    fa_outf(cli, "\n");
}

/* T3. Several pages of a list may leave out the same column. */
static void remember_hidden(struct fa_cli *cli, const char *title)
{
    for (size_t i = 0; i < cli->hidden_count; i++)
        if (strcmp(cli->hidden[i], title) == 0)
            return;
    if (cli->hidden_count < FA_COUNT(cli->hidden))
        cli->hidden[cli->hidden_count++] = fa_arena_strdup(&cli->arena, title);
}

void fa_table_note_hidden(struct fa_cli *cli)
{
    const char *titles = "";

    for (size_t i = 0; i < cli->hidden_count; i++)
        titles = fa_arena_printf(&cli->arena, "%s%s%s", titles, i > 0 ? ", " : "", cli->hidden[i]);
    if (titles[0])
        fa_cli_note(cli, "No room for %s; -o json shows all.", titles);
}

void fa_table_print(struct fa_table *table, struct fa_cli *cli, size_t row_max)
{
    size_t count = table->column_count, rows = table->cell_count / count, shown;
    struct fa_cell titles[COLUMN_COUNT_MAX] = {{0}};
    int widths[COLUMN_COUNT_MAX] = {0};

    assert(table->cell_count % count == 0);
    if (row_max > 0 && rows > row_max)
        rows = row_max;
    for (size_t c = 0; c < count; c++) {
        widths[c] = fa_text_width(table->columns[c].title);
        for (size_t r = 0; r < rows; r++) {
            int width = fa_text_width(table->cells[r * count + c].text);
            if (width > widths[c])
                widths[c] = width;
        }
    }
    shown = fit(table, widths, cli->table_width);
    for (size_t c = 0; c < count; c++)
        titles[c] = (struct fa_cell){table->columns[c].title, FA_BOLD};
    print_row(cli, table, titles, widths, shown);
    for (size_t r = 0; r < rows; r++)
        print_row(cli, table, &table->cells[r * count], widths, shown);
    for (size_t c = shown; c < count && row_max == 0; c++)
        remember_hidden(cli, table->columns[c].title);
}

void fa_table_finish(struct fa_table *table)
{
    free(table->cells);
    fa_arena_finish(&table->arena);
    *table = (struct fa_table){0};
}

void fa_print_list(struct fa_cli *cli, const struct fa_list_view *view, const void *list,
                   bool is_one)
{
    struct fa_shape_items items = fa_shape_items(view->shape, list);
    bool is_table = cli->format == FA_CLI_TABLE;
    struct fa_out_list out;
    struct fa_table table;
    size_t columns = 0;

    if (is_table && items.count == 0) {
        fa_cli_note(cli, "%s", view->none);
        return;
    }
    while (columns < FA_COUNT(view->columns) && view->columns[columns].title)
        columns++;
    if (is_table)
        fa_table_init(&table, view->columns, columns);
    else
        fa_out_list_begin(cli, &out, is_one ? NULL : "items");
    for (size_t i = 0; i < items.count; i++, items.at += items.size)
        if (is_table)
            view->add_row(&table, items.at);
        else
            fa_shape_put(fa_out_list_item(&out), items.shape, items.at);
    if (is_table) {
        fa_table_print(&table, cli, 0);
        fa_table_finish(&table);
    } else {
        fa_out_list_end(&out);
    }
}

int fa_list_items(struct fa_cli *cli, struct fa_op *op, const struct fa_list_view *view,
                  bool is_one)
{
    int code = fa_cli_run(cli, op);

    if (code == FA_EXIT_OK)
        fa_print_list(cli, view, op->answer, is_one);
    return code;
}

void fa_record_line(struct fa_cli *cli, const char *label, enum fa_style style, const char *text)
{
    if (!text)
        return;
    fa_outf(cli, "%s%-*s%s  %s%s%s\n", fa_style_on(cli, FA_BOLD), RECORD_LABEL_WIDTH, label,
            fa_style_off(cli, FA_BOLD), fa_style_on(cli, style), fa_text_clean(&cli->arena, text),
            fa_style_off(cli, style));
}
