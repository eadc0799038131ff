/*
 * cnats.c - loading the NATS client library.
 *
 * The one set of variables of this file is written once, under pthread_once, and only read
 * afterwards.
 */
#include "kv/nats/cnats.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct fa_cnats functions;
static bool is_loaded;
static char why_not[256];

static void load(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } wanted[] = {
#define ROW(name) {#name, offsetof(struct fa_cnats, name)},
        FA_CNATS_LIST(ROW)
#undef ROW
    };
    /* Debian names the library by its minor version. */
    static const char *const names[] = {"libnats.so.3.4", "libnats.so.3", "libnats.so.3.8",
                                        "libnats.so"};
    void *library = NULL;
    const char *why;

    for (size_t i = 0; library == NULL && i < FA_COUNT(names); i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    why = library != NULL ? NULL : dlerror();
    for (size_t i = 0; why == NULL && i < FA_COUNT(wanted); i++) {
        void *symbol = dlsym(library, wanted[i].name);

        memcpy((char *)&functions + wanted[i].offset, &symbol, sizeof(symbol));
        if (symbol == NULL)
            why = "it is too old";
    }
    is_loaded = why == NULL;
    if (why != NULL)
        snprintf(why_not, sizeof(why_not), "%s", why);
}

const struct fa_cnats *fa_cnats_load(struct faina_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    if (is_loaded)
        return &functions;
    fa_error_set(err, FAINA_NOT_SUPPORTED,
                 "engines on NATS need its client library, which can't be used here (%s); on "
                 "Debian: apt-get install libnats3.4",
                 why_not);
    return NULL;
}
