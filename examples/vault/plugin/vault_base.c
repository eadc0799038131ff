/* vault_base.c - see vault.h. */
#include "vault.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODEL_TIMEOUT_S 60
#define MODEL_TIMEOUT_S_MAX 3600
#define JSON_DEPTH_MAX 64

static struct vault_settings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;

static const char *variable(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value && value[0] ? value : otherwise;
}

static void read_settings(void)
{
    long seconds = strtol(variable("VAULT_MODEL_TIMEOUT", "0"), NULL, 10);

    if (seconds < 1 || seconds > MODEL_TIMEOUT_S_MAX)
        seconds = MODEL_TIMEOUT_S;
    settings = (struct vault_settings){
        .store = variable("VAULT_STORE", "vault-store"),
        .files = variable("VAULT_FILES", "."),
        .ollama = variable("VAULT_OLLAMA", "http://127.0.0.1:11434"),
        .model = variable("VAULT_MODEL", "llama3.2"),
        .model_ms = seconds * 1000,
    };
}

const struct vault_settings *vault_settings(void)
{
    pthread_once(&settings_once, read_settings);
    return &settings;
}

/* ------------------------------------------------------------------------------------------
 * Errors
 */

static void set_error(struct vault_error *err, bool is_permanent, const char *kind,
                      const char *format, va_list args)
{
    err->is_permanent = is_permanent;
    err->kind = kind;
    vsnprintf(err->message, sizeof(err->message), format, args);
}

bool vault_refuse(struct vault_error *err, const char *kind, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_error(err, true, kind, format, args);
    va_end(args);
    return false;
}

bool vault_fail(struct vault_error *err, const char *kind, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    set_error(err, false, kind, format, args);
    va_end(args);
    return false;
}

bool vault_fail_errno(struct vault_error *err, const char *what, const char *path)
{
    int why = errno;

    return vault_fail(err, "io", "can't %s %.300s: %s", what, path, strerror(why));
}

enum faina_outcome vault_give_up(struct faina_context *context, const struct vault_error *err)
{
    /* The message may have been cut inside a character, and names may not be UTF-8 at all. */
    struct vault_text text = {0};
    struct faina_failure failure = {.kind = err->kind, .permanent = err->is_permanent};
    yajl_val value;

    vault_text_json(&text, err->message);
    value = yajl_tree_parse(text.ptr, NULL, 0);
    failure.message = YAJL_IS_STRING(value) ? YAJL_GET_STRING(value) : "the error can't be shown";
    faina_context_error(context, &failure, NULL);
    yajl_tree_free(value);
    vault_text_free(&text);
    return FAINA_OUTCOME_FAILED;
}

/* ------------------------------------------------------------------------------------------
 * Bytes and hashes
 */

void vault_sha_begin(struct vault_sha *sha)
{
    sha->state = EVP_MD_CTX_new();
    if (!sha->state || EVP_DigestInit_ex(sha->state, EVP_sha256(), NULL) != 1)
        abort();
}

void vault_sha_add(struct vault_sha *sha, const void *ptr, size_t len)
{
    if (EVP_DigestUpdate(sha->state, ptr, len) != 1)
        abort();
}

void vault_sha_end(struct vault_sha *sha, char out[VAULT_HASH_SIZE])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    if (EVP_DigestFinal_ex(sha->state, bytes, &len) != 1 || len * 2 + 1 != VAULT_HASH_SIZE)
        abort();
    EVP_MD_CTX_free(sha->state);
    sha->state = NULL;
    for (unsigned i = 0; i < len; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

bool vault_is_hash(const char *text)
{
    return text && strlen(text) == VAULT_HASH_SIZE - 1 &&
           strspn(text, "0123456789abcdef") == VAULT_HASH_SIZE - 1;
}

bool vault_write_all(int fd, const void *ptr, size_t len)
{
    const char *at = ptr;

    while (len > 0) {
        ssize_t done = write(fd, at, len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        at += done;
        len -= (size_t)done;
    }
    return true;
}

ssize_t vault_read_at(int fd, void *ptr, size_t len, uint64_t at)
{
    size_t got = 0;

    while (got < len) {
        ssize_t done = pread(fd, (char *)ptr + got, len - got, (off_t)(at + got));

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        if (done == 0)
            break;
        got += (size_t)done;
    }
    return (ssize_t)got;
}

bool vault_path(char out[VAULT_PATH_SIZE], const char *format, ...)
{
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(out, VAULT_PATH_SIZE, format, args);
    va_end(args);
    return len >= 0 && len < VAULT_PATH_SIZE;
}

/* ------------------------------------------------------------------------------------------
 * JSON
 */

void vault_text_add(struct vault_text *text, const char *ptr, size_t len)
{
    if (text->len + len + 1 > text->size) {
        text->size = (text->len + len + 1) * 2;
        text->ptr = realloc(text->ptr, text->size);
        if (!text->ptr)
            abort();
    }
    if (len > 0)
        memcpy(text->ptr + text->len, ptr, len);
    text->len += len;
    text->ptr[text->len] = '\0';
}

void vault_text_printf(struct vault_text *text, const char *format, ...)
{
    char line[1024];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof(line))
        abort(); /* texts of any length are added by vault_text_json */
    vault_text_add(text, line, (size_t)len);
}

/* The length of the UTF-8 character at `at`, of up to `len` bytes; 0: it is none. */
static size_t character(const unsigned char *at, size_t len)
{
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if (size == 0 || size > len || at[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return size;
}

void vault_text_json_part(struct vault_text *text, const char *value, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)value;
    size_t size;

    vault_text_add(text, "\"", 1);
    for (size_t i = 0; i < len; i += size) {
        size = character(bytes + i, len - i);
        if (size == 0) {
            vault_text_add(text, "\xef\xbf\xbd", 3);
            size = 1;
        } else if (bytes[i] == '"' || bytes[i] == '\\') {
            vault_text_printf(text, "\\%c", bytes[i]);
        } else if (bytes[i] == 0) {
            vault_text_add(text, "\xef\xbf\xbd", 3); /* PostgreSQL can't store U+0000 */
        } else if (bytes[i] < 0x20) {
            vault_text_printf(text, "\\u%04x", bytes[i]);
        } else {
            vault_text_add(text, value + i, size);
        }
    }
    vault_text_add(text, "\"", 1);
}

void vault_text_json(struct vault_text *text, const char *value)
{
    vault_text_json_part(text, value, strlen(value));
}

void vault_text_free(struct vault_text *text)
{
    free(text->ptr);
    *text = (struct vault_text){0};
}

/* yajl frees a tree recursively, so a text of a million brackets would overflow the stack. */
static bool is_too_deep(const char *json)
{
    bool is_in_string = false;
    int depth = 0;

    for (const char *at = json; *at; at++) {
        if (is_in_string && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            is_in_string = !is_in_string;
        else if (!is_in_string && (*at == '[' || *at == '{') && ++depth > JSON_DEPTH_MAX)
            return true;
        else if (!is_in_string && (*at == ']' || *at == '}'))
            depth--;
    }
    return false;
}

bool vault_json_object(const char *json, const char *what, yajl_val *out, struct vault_error *err)
{
    char why[200] = "";
    yajl_val value = json && !is_too_deep(json) ? yajl_tree_parse(json, why, sizeof(why)) : NULL;

    if (YAJL_IS_OBJECT(value)) {
        *out = value;
        return true;
    }
    yajl_tree_free(value);
    return vault_refuse(err, "invalid_input", "%s is not a JSON object", what);
}

static yajl_val member(yajl_val object, const char *name, yajl_type type)
{
    const char *path[] = {name, NULL};

    return yajl_tree_get(object, path, type);
}

const char *vault_json_str(yajl_val object, const char *name)
{
    yajl_val value = member(object, name, yajl_t_string);

    return value ? YAJL_GET_STRING(value) : NULL;
}

int64_t vault_json_count(yajl_val object, const char *name)
{
    yajl_val value = member(object, name, yajl_t_number);

    return value && YAJL_IS_INTEGER(value) && YAJL_GET_INTEGER(value) >= 0 ? YAJL_GET_INTEGER(value)
                                                                           : -1;
}

void vault_text_value(struct vault_text *text, yajl_val value)
{
    switch (value->type) {
    case yajl_t_string:
        vault_text_json(text, value->u.string);
        return;
    case yajl_t_number:
        vault_text_add(text, value->u.number.r, strlen(value->u.number.r));
        return;
    case yajl_t_object:
        vault_text_add(text, "{", 1);
        for (size_t i = 0; i < value->u.object.len; i++) {
            if (i > 0)
                vault_text_add(text, ",", 1);
            vault_text_json(text, value->u.object.keys[i]);
            vault_text_add(text, ":", 1);
            vault_text_value(text, value->u.object.values[i]);
        }
        vault_text_add(text, "}", 1);
        return;
    case yajl_t_array:
        vault_text_add(text, "[", 1);
        for (size_t i = 0; i < value->u.array.len; i++) {
            if (i > 0)
                vault_text_add(text, ",", 1);
            vault_text_value(text, value->u.array.values[i]);
        }
        vault_text_add(text, "]", 1);
        return;
    case yajl_t_true:
        vault_text_add(text, "true", 4);
        return;
    case yajl_t_false:
        vault_text_add(text, "false", 5);
        return;
    case yajl_t_null:
    case yajl_t_any:
        vault_text_add(text, "null", 4);
        return;
    }
}
