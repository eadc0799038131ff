/*
 * curl.h - libcurl, loaded when the first engine behind HTTP is opened.
 *
 * It brings some thirty libraries with it. Loading them takes longer than a whole `faina submit` on
 * a file, and more memory than an idle server, so only a process that needs them loads them.
 */
#ifndef FA_CLIENT_CURL_H
#define FA_CLIENT_CURL_H

#include "base/error.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

/* The functions that we use. */
#define FA_CURL_LIST(X)                                                                            \
    X(global_init)                                                                                 \
    X(version_info)                                                                                \
    X(easy_init)                                                                                   \
    X(easy_cleanup)                                                                                \
    X(easy_perform)                                                                                \
    X(easy_reset)                                                                                  \
    X(easy_setopt)                                                                                 \
    X(easy_getinfo)                                                                                \
    X(easy_strerror)                                                                               \
    X(multi_init)                                                                                  \
    X(multi_cleanup)                                                                               \
    X(multi_setopt)                                                                                \
    X(multi_add_handle)                                                                            \
    X(multi_remove_handle)                                                                         \
    X(multi_perform)                                                                               \
    X(multi_poll)                                                                                  \
    X(multi_wakeup)                                                                                \
    X(multi_info_read)                                                                             \
    X(slist_append)                                                                                \
    X(slist_free_all)

struct fa_curl {
#define FA_CURL_MEMBER(name) __typeof__(&curl_##name) name;
    FA_CURL_LIST(FA_CURL_MEMBER)
#undef FA_CURL_MEMBER
};

/* Never unloaded. NULL: NOT_SUPPORTED, it is not installed. Any thread. */
const struct fa_curl *fa_curl_load(struct faina_error *err);

#endif
