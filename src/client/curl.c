/*
 * curl.c - loading libcurl.
 *
 * The one set of variables of this file is written once, under pthread_once, and only read
 * afterwards.
 */
#include "client/curl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define LIBRARY "libcurl.so.4"

static struct fa_curl functions;
static bool is_loaded;
static char why_not[256];

static void load(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } wanted[] = {
#define ROW(name) {"curl_" #name, offsetof(struct fa_curl, name)},
        FA_CURL_LIST(ROW)
#undef ROW
    };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    const char *why = library ? NULL : dlerror();

    for (size_t i = 0; !why && i < FA_COUNT(wanted); i++) {
        void *symbol = dlsym(library, wanted[i].name);

        memcpy((char *)&functions + wanted[i].offset, &symbol, sizeof(symbol));
        if (!symbol)
            why = "it is too old";
    }
    if (!why && functions.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        why = "it does not start";
    is_loaded = why == NULL;
    if (why)
        snprintf(why_not, sizeof(why_not), "%s", why);
}

const struct fa_curl *fa_curl_load(struct faina_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (is_loaded)
        return &functions;
    fa_error_set(err, FAINA_NOT_SUPPORTED,
                 "engines behind HTTP and OpenTelemetry need libcurl, which can't be used here "
                 "(%s); on Debian: "
                 "apt-get install libcurl4",
                 why_not);
    return NULL;
}
