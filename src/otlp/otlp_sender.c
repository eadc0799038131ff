/* otlp_sender.c - see otlp_sender.h. */
#include "otlp/otlp_sender.h"

#include "base/clock.h"
#include "client/curl.h"
#include "otlp/otlp_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define ANSWER_SIZE_MAX ((size_t)64 * 1024) /* the rest is not read */
#define CONNECT_MS_MAX 5000L
#define RETRY_AFTER_MS_MAX 60000

struct fa_otlp_sender {
    const struct fa_curl *curl;
    const struct fa_otlp_settings *settings;
    const atomic_llong *until_us;
    CURL *easy;
    struct fa_buf text; /* of the answer */
    int64_t retry_after_ms;
    char why[CURL_ERROR_SIZE];
};

enum faina_code fa_otlp_sender_create(struct fa_otlp_sender **out,
                                      const struct fa_otlp_settings *settings,
                                      const atomic_llong *until_us, struct faina_error *err)
{
    const struct fa_curl *curl = fa_curl_load(err);
    struct fa_otlp_sender *sender;

    if (!curl)
        return FAINA_NOT_SUPPORTED;
    sender = fa_alloc_zero(1, sizeof(*sender));
    sender->curl = curl;
    sender->settings = settings;
    sender->until_us = until_us;
    sender->easy = curl->easy_init();
    fa_buf_init(&sender->text, ANSWER_SIZE_MAX);
    if (!sender->easy) {
        fa_otlp_sender_destroy(sender);
        return fa_error_set(err, FAINA_UNAVAILABLE, "libcurl can't be used");
    }
    *out = sender;
    return FAINA_OK;
}

void fa_otlp_sender_destroy(struct fa_otlp_sender *sender)
{
    if (!sender)
        return;
    if (sender->easy)
        sender->curl->easy_cleanup(sender->easy);
    fa_buf_finish(&sender->text);
    free(sender);
}

static size_t take_body(char *data, size_t size, size_t count, void *ctx)
{
    struct fa_otlp_sender *sender = ctx;

    fa_buf_add(&sender->text, data, size * count);
    return size * count;
}

/* Seconds; a date is not read. */
static size_t take_header(char *data, size_t size, size_t count, void *ctx)
{
    static const char name[] = "Retry-After:";
    struct fa_otlp_sender *sender = ctx;
    size_t len = size * count, at = sizeof(name) - 1;
    int64_t seconds = 0;

    if (len <= at || strncasecmp(data, name, at) != 0)
        return len;
    while (at < len && data[at] == ' ')
        at++;
    for (; at < len && fa_is_digit(data[at]) && seconds < RETRY_AFTER_MS_MAX; at++)
        seconds = seconds * 10 + (data[at] - '0');
    sender->retry_after_ms =
        seconds * 1000 < RETRY_AFTER_MS_MAX ? seconds * 1000 : RETRY_AFTER_MS_MAX;
    return len;
}

static int check_time(void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                      curl_off_t up)
{
    const struct fa_otlp_sender *sender = ctx;
    long long until_us = atomic_load(sender->until_us);

    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return until_us != 0 && fa_clock_mono_us() > until_us;
}

static struct curl_slist *make_headers(const struct fa_curl *curl,
                                       const struct fa_otlp_signal *signal)
{
    struct curl_slist *list = curl->slist_append(NULL, "Content-Type: application/json");

    list = curl->slist_append(list, "Expect:");
    for (size_t i = 0; i < signal->header_count; i++)
        list = curl->slist_append(list, signal->headers[i]);
    return list;
}

static void set_up(struct fa_otlp_sender *sender, const struct fa_otlp_signal *signal,
                   struct fa_bytes body, struct curl_slist *headers)
{
    const struct fa_curl *curl = sender->curl;
    CURL *easy = sender->easy;
    long timeout_ms = (long)signal->timeout_ms;

    curl->easy_reset(easy); /* connections are kept */
    curl->easy_setopt(easy, CURLOPT_URL, signal->url);
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_USERAGENT, "faina/" FAINA_VERSION);
    curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl->easy_setopt(easy, CURLOPT_POST, 1L);
    curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.len);
    curl->easy_setopt(easy, CURLOPT_POSTFIELDS, body.ptr);
    curl->easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                      timeout_ms < CONNECT_MS_MAX ? timeout_ms : CONNECT_MS_MAX);
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, sender->why);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, sender);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, sender);
    curl->easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
    curl->easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, check_time);
    curl->easy_setopt(easy, CURLOPT_XFERINFODATA, sender);
    if (sender->settings->ca_file)
        curl->easy_setopt(easy, CURLOPT_CAINFO, sender->settings->ca_file);
}

enum fa_otlp_sent fa_otlp_send(struct fa_otlp_sender *sender, const struct fa_otlp_signal *signal,
                               struct fa_bytes body, struct fa_otlp_answer *answer)
{
    const struct fa_curl *curl = sender->curl;
    struct curl_slist *headers = make_headers(curl, signal);
    long status = 0;
    CURLcode code;

    *answer = (struct fa_otlp_answer){0};
    sender->retry_after_ms = 0;
    sender->why[0] = '\0';
    fa_buf_clear(&sender->text);
    sender->text.overflow = false;
    set_up(sender, signal, body, headers);
    code = curl->easy_perform(sender->easy);
    curl->slist_free_all(headers);
    if (code != CURLE_OK) {
        snprintf(answer->why, sizeof(answer->why), "%s",
                 sender->why[0] ? sender->why : curl->easy_strerror(code));
        return FA_OTLP_LATER;
    }
    curl->easy_getinfo(sender->easy, CURLINFO_RESPONSE_CODE, &status);
    answer->retry_after_ms = sender->retry_after_ms;
    if (status >= 200 && status < 300) {
        if (!sender->text.overflow)
            answer->rejected =
                fa_otlp_rejected((struct fa_bytes){sender->text.ptr, sender->text.len});
        return FA_OTLP_SENT;
    }
    snprintf(answer->why, sizeof(answer->why), "HTTP status %ld", status);
    return status == 429 || status == 502 || status == 503 || status == 504 ? FA_OTLP_LATER
                                                                            : FA_OTLP_REFUSED;
}
