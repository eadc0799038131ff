/* bulk.c - see bulk.h. */
#include "model/bulk.h"

const char *fa_bulk_kind_word(int kind)
{
    static const char *const words[] = {"cancel", "retry", "delete", "update", NULL};

    return words[kind];
}

const char *fa_bulk_status_word(int status)
{
    static const char *const words[] = {"running", "completed", "cancelled", "failed", NULL};

    return words[status];
}
