/*
 * print-states.c - prints the table of docs/states.md, for pasting after a change of the rules.
 */
#include "states_table.h"

#include <stdio.h>

int main(void)
{
    struct fa_buf out;

    fa_buf_init(&out, 65536);
    states_table_print(&out);
    fputs(out.ptr, stdout);
    fa_buf_finish(&out);
    return 0;
}
