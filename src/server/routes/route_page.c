/*
 * route_page.c - the dashboard: the page at / and its files (web/web.h).
 *
 * Its URLs are relative, so it also works below a path of a proxy. Files whose name has a hash of
 * their contents may be kept for ever.
 */
#include "server/routes/route.h"

#include "server/server_inner.h"
#include "web/web.h"

#include <string.h>

#define TYPE_HTML "text/html; charset=utf-8"
#define ROUTES_POLICY                                                                              \
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "         \
    "frame-ancestors 'none'"

static bool has_ui(struct fa_request *req)
{
    if (req->server->options.has_ui)
        return true;
    fa_respond_refusal(req, 404, FAINA_NOT_FOUND, "this server has no dashboard (--no-ui)");
    return false;
}

/* "main-0A1B2C3D.js": the part before the last dot ends in 8 characters after a dash. */
static bool has_hash(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && dot - name > 9 && dot[-9] == '-' && strcspn(dot - 8, "-.") == 8;
}

static void respond_file(struct fa_request *req, const struct fa_web_file *file)
{
    const char *known = fa_request_header(req, "If-None-Match");

    fa_response_header(req, "Content-Security-Policy", FA_WEB_POLICY);
    fa_response_header(req, "Referrer-Policy", "no-referrer");
    fa_response_header(req, "Cache-Control",
                       has_hash(file->name) ? "public, max-age=31536000, immutable" : "no-cache");
    fa_response_header(req, "ETag", file->etag);
    if (known && strstr(known, file->etag))
        fa_respond_empty(req, 304);
    else
        fa_respond_gzipped(req, file->type,
                           (struct fa_bytes){(const char *)file->gzip, file->gzip_size},
                           file->size);
}

/* A program without the dashboard shows its routes. */
static void respond_routes(struct fa_request *req)
{
    struct fa_buf page;

    fa_buf_init(&page, (size_t)1024 * 1024);
    fa_html_page_write(&page);
    fa_response_header(req, "Content-Security-Policy", ROUTES_POLICY);
    fa_respond_text(req, 200, TYPE_HTML, page.ptr);
    fa_buf_finish(&page);
}

/* A browser gets the dashboard, a terminal gets text. */
void fa_handle_root(struct fa_request *req)
{
    const char *accepted = fa_request_header(req, "Accept");
    const struct fa_web_file *page = fa_web_find(FA_WEB_PAGE);

    if (!has_ui(req))
        return;
    fa_response_header(req, "Vary", "Accept");
    if (!accepted || !strstr(accepted, "text/html"))
        fa_respond_text(req, 200, "text/plain; charset=utf-8",
                        "Faina " FAINA_VERSION "\n\n"
                        "  " FA_API "/tasks   tasks\n"
                        "  /openapi.json   all routes\n"
                        "  /metrics        metrics\n");
    else if (page)
        respond_file(req, page);
    else
        respond_routes(req);
}

void fa_handle_asset(struct fa_request *req)
{
    const struct fa_web_file *file = fa_web_find(req->part);

    if (!has_ui(req))
        return;
    if (file && strcmp(file->name, FA_WEB_PAGE) != 0)
        respond_file(req, file);
    else
        fa_respond_refusal(req, 404, FAINA_NOT_FOUND, "the dashboard has no file %.100s",
                           req->part);
}
