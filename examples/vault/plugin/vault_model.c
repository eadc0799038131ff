/* vault_model.c - see vault_model.h. */
#include "vault_model.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_SIZE_MAX ((size_t)1024 * 1024)
#define CONNECT_MS 5000L
#define TEXT_SIZE_MAX 4096 /* of a title or summary */
#define KEYWORDS_MAX 50

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct answer {
    struct faina_context *context;
    struct vault_text text;
    bool is_too_large;
};

static size_t take_answer(char *ptr, size_t size, size_t count, void *ctx)
{
    struct answer *answer = ctx;

    answer->is_too_large = answer->text.len + size * count > ANSWER_SIZE_MAX;
    if (answer->is_too_large)
        return 0;
    vault_text_add(&answer->text, ptr, size * count);
    return size * count;
}

static int is_cancelled(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return faina_context_cancelled(((struct answer *)ctx)->context);
}

static bool explain(const struct answer *answer, CURLcode code, const char *url,
                    struct vault_error *err)
{
    if (answer->is_too_large)
        return vault_fail(err, "model_answer", "the answer of %.200s is larger than %zu bytes", url,
                          ANSWER_SIZE_MAX);
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return vault_fail(err, "cancelled", "the attempt was stopped");
    if (code == CURLE_OPERATION_TIMEDOUT)
        return vault_fail(err, "model_slow", "%.200s did not answer within %ld s", url,
                          vault_settings()->model_ms / 1000);
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        return vault_fail(err, "model_away", "%.200s can't be reached: %s", url,
                          curl_easy_strerror(code));
    if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL)
        return vault_refuse(err, "settings", "VAULT_OLLAMA is not a URL: %.200s", url);
    return vault_fail(err, "model_answer", "%.200s: %s", url, curl_easy_strerror(code));
}

static bool send_request(CURL *curl, const char *body, struct answer *answer,
                         struct vault_error *err)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    char url[1024];
    long status = 0;
    CURLcode code;

    snprintf(url, sizeof(url), "%s/api/generate", vault_settings()->ollama);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, vault_settings()->model_ms);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_cancelled);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, answer);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    code = curl_easy_perform(curl);
    curl_slist_free_all(headers);
    if (code != CURLE_OK)
        return explain(answer, code, url, err);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 400 && status < 500 && status != 408 && status != 429)
        return vault_refuse(err, "model_refused", "%.200s answered with status %ld: %.200s", url,
                            status, answer->text.ptr ? answer->text.ptr : "");
    return status == 200 ||
           vault_fail(err, "model_answer", "%.200s answered with status %ld", url, status);
}

static bool rubbish(const char *what, struct vault_error *err)
{
    return vault_fail(err, "model_answer", "the model's answer is not usable: %s", what);
}

static bool take_text(struct vault_text *out, yajl_val object, const char *name,
                      struct vault_error *err)
{
    const char *text = vault_json_str(object, name);

    if (!text || !text[0] || strlen(text) > TEXT_SIZE_MAX)
        return rubbish("it has no title or summary, or one that is too long", err);
    vault_text_printf(out, "\"%s\":", name);
    vault_text_json(out, text);
    return true;
}

/* Copies what was asked for and nothing else. */
static bool take_metadata(yajl_val object, struct vault_text *out, struct vault_error *err)
{
    const char *path[] = {"keywords", NULL};
    yajl_val keywords = yajl_tree_get(object, path, yajl_t_array);

    if (!keywords || keywords->u.array.len > KEYWORDS_MAX)
        return rubbish("it has no array keywords, or too many of them", err);
    vault_text_printf(out, "{");
    if (!take_text(out, object, "title", err))
        return false;
    vault_text_printf(out, ",");
    if (!take_text(out, object, "summary", err))
        return false;
    vault_text_printf(out, ",\"keywords\":[");
    for (size_t i = 0; i < keywords->u.array.len; i++) {
        yajl_val word = keywords->u.array.values[i];

        if (!YAJL_IS_STRING(word) || strlen(word->u.string) > TEXT_SIZE_MAX)
            return rubbish("a keyword is not a text, or too long", err);
        if (i > 0)
            vault_text_printf(out, ",");
        vault_text_json(out, word->u.string);
    }
    vault_text_printf(out, "]}");
    return true;
}

static bool read_answer(struct answer *answer, struct vault_text *out, struct vault_error *err)
{
    struct vault_error why;
    yajl_val whole, object;
    const char *response;
    bool is_ok;

    if (!answer->text.ptr || strlen(answer->text.ptr) != answer->text.len ||
        !vault_json_object(answer->text.ptr, "it", &whole, &why))
        return rubbish("it is not a JSON object", err);
    response = vault_json_str(whole, "response");
    if (!response || !vault_json_object(response, "it", &object, &why)) {
        yajl_tree_free(whole);
        return rubbish("its response is not a JSON object", err);
    }
    is_ok = take_metadata(object, out, err);
    yajl_tree_free(object);
    yajl_tree_free(whole);
    return is_ok;
}

bool vault_model_ask(struct faina_context *context, const char *prompt, struct vault_text *metadata,
                     struct vault_error *err)
{
    struct answer answer = {.context = context};
    struct vault_text body = {0};
    bool is_ok;
    CURL *curl;

    pthread_once(&once, start_curl);
    curl = curl_easy_init();
    if (!curl)
        return vault_fail(err, "memory", "out of memory");
    vault_text_printf(&body, "{\"model\":");
    vault_text_json(&body, vault_settings()->model);
    vault_text_printf(&body, ",\"stream\":false,\"format\":\"json\",\"prompt\":");
    vault_text_json(&body, prompt);
    vault_text_printf(&body, "}");
    is_ok = send_request(curl, body.ptr, &answer, err) && read_answer(&answer, metadata, err);
    curl_easy_cleanup(curl);
    vault_text_free(&body);
    vault_text_free(&answer.text);
    return is_ok;
}
