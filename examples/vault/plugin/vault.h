/*
 * vault.h - what the files of the plugin share: settings, errors, hashes, JSON.
 *
 * A function that can fail returns false and has written *err. Errors are permanent when a retry
 * can't help: the input is wrong, or stored bytes have changed.
 *
 * Threads: any; nothing here has state, except the settings, which are read once.
 */
#ifndef VAULT_H
#define VAULT_H

#include <faina.h>

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <yajl/yajl_tree.h>

#define VAULT_PATH_SIZE 4096
#define VAULT_HASH_SIZE 65 /* SHA-256 in hexadecimal, with its NUL */
#define VAULT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__GNUC__)
#define VAULT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define VAULT_PRINTF(text, first)
#endif

/* From the environment, which vault.json sets; see README.md. */
struct vault_settings {
    const char *store;  /* VAULT_STORE: the folder of all object stores */
    const char *files;  /* VAULT_FILES: containers are read and written only below this folder */
    const char *ollama; /* VAULT_OLLAMA: the URL of the model server */
    const char *model;  /* VAULT_MODEL */
    long model_ms;      /* VAULT_MODEL_TIMEOUT: for one answer, in seconds there */
};

const struct vault_settings *vault_settings(void);

/* ------------------------------------------------------------------------------------------
 * Errors
 */

struct vault_error {
    bool is_permanent;
    const char *kind; /* static */
    char message[512];
};

/* Both return false. The first is for what no retry can help, the second for the rest. */
bool vault_refuse(struct vault_error *err, const char *kind, const char *format, ...)
    VAULT_PRINTF(3, 4);
bool vault_fail(struct vault_error *err, const char *kind, const char *format, ...)
    VAULT_PRINTF(3, 4);
/* The same with errno: "can't <what> <path>: <reason>". A full disk may be retried. */
bool vault_fail_errno(struct vault_error *err, const char *what, const char *path);
/* For a handler: fails the attempt with *err. */
enum faina_outcome vault_give_up(struct faina_context *context, const struct vault_error *err);

/* ------------------------------------------------------------------------------------------
 * Bytes and hashes
 */

struct vault_sha {
    EVP_MD_CTX *state;
};

void vault_sha_begin(struct vault_sha *sha);
void vault_sha_add(struct vault_sha *sha, const void *ptr, size_t len);
void vault_sha_end(struct vault_sha *sha, char out[VAULT_HASH_SIZE]); /* frees it */
bool vault_is_hash(const char *text);

bool vault_write_all(int fd, const void *ptr, size_t len); /* false: errno is set */
/* Reads exactly `len` bytes at `at`; fewer at the end of the file. -1: errno is set. */
ssize_t vault_read_at(int fd, void *ptr, size_t len, uint64_t at);
/* False: it is too long. */
bool vault_path(char out[VAULT_PATH_SIZE], const char *format, ...) VAULT_PRINTF(2, 3);

/* ------------------------------------------------------------------------------------------
 * JSON
 */

/* A text that is being written. Out of memory ends the process, and so only the attempts in it. */
struct vault_text {
    char *ptr; /* NULL: empty; else it ends with a NUL */
    size_t len, size;
};

void vault_text_add(struct vault_text *text, const char *ptr, size_t len);
void vault_text_printf(struct vault_text *text, const char *format, ...) VAULT_PRINTF(2, 3);
/* Adds a JSON string. Bytes that are not UTF-8 become U+FFFD. */
void vault_text_json(struct vault_text *text, const char *value);
void vault_text_json_part(struct vault_text *text, const char *value, size_t len);
void vault_text_free(struct vault_text *text);

/* Reads a JSON object; *out is freed with yajl_tree_free. */
bool vault_json_object(const char *json, const char *what, yajl_val *out, struct vault_error *err);
/* NULL: there is no such member, or it is not a string. */
const char *vault_json_str(yajl_val object, const char *name);
/* -1: there is no such member, or it is not a number from 0 on. */
int64_t vault_json_count(yajl_val object, const char *name);
/* Adds a value that was read, as it is. */
void vault_text_value(struct vault_text *text, yajl_val value);

#endif
