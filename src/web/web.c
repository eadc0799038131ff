/* web.c - see web.h. */
#include "web/web.h"

#include "generated/web_files.h"

#include <string.h>

#define ROW(name, type, etag, size, gzip_size, gzip) {name, type, etag, size, gzip_size, gzip},

/* The last row ends the table, which may have no other. */
static const struct fa_web_file files[] = {FA_WEB_FILES(ROW){.name = NULL}};

const struct fa_web_file *fa_web_find(const char *name)
{
    for (const struct fa_web_file *file = files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return file;
    return NULL;
}
