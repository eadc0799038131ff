/*
 * web.h - the files of the dashboard, which are built from web/ and embedded in the program.
 *
 * Each file is kept gzipped, as it is sent. The names of scripts and style sheets contain a hash of
 * their contents, so that a client may keep them for ever.
 *
 *   W1  The table is constant. It is empty when the dashboard was not built (tools/build-web).
 *   W2  The page needs no other host: its policy is FA_WEB_POLICY, and a test opens each view.
 *
 * Threads: any.
 */
#ifndef FA_WEB_WEB_H
#define FA_WEB_WEB_H

#include <stddef.h>

#define FA_WEB_PAGE "index.html"
#define FA_WEB_POLICY                                                                              \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "              \
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

struct fa_web_file {
    const char *name; /* below /assets/, but for the page */
    const char *type; /* its media type */
    const char *etag; /* with its quotes */
    size_t size;      /* before compression */
    size_t gzip_size;
    const unsigned char *gzip;
};

/* A file by its name; NULL: there is none. */
const struct fa_web_file *fa_web_find(const char *name);

#endif
