/* audit_entry.c - see audit_entry.h. */
#include "model/audit_entry.h"

#include "json/json.h"
#include "model/times.h"

#include <stdarg.h>
#include <stdio.h>

void fa_audit_hash(const struct fa_audit_entry *entry, char out[FA_SHA256_HEX_SIZE])
{
    uint8_t digest[FA_SHA256_SIZE];
    struct fa_json_writer w;
    char at[FA_TIME_SIZE];
    struct fa_buf buf;

    fa_time_format(entry->at_us, at);
    fa_buf_init(&buf, SIZE_MAX / 2);
    fa_json_writer_init(&w, &buf, 0);
    fa_json_begin_object(&w);
    fa_json_set_int(&w, "id", entry->id);
    fa_json_set_str(&w, "at", at);
    fa_json_set_str(&w, "who", entry->who);
    fa_json_set_str(&w, "act", entry->act);
    fa_json_set_str(&w, "target", entry->target);
    fa_json_set_str(&w, "reason", entry->reason);
    fa_json_set_str(&w, "requestId", entry->request_id);
    fa_json_set_str(&w, "previousHash", entry->previous_hash);
    fa_json_end_object(&w);
    fa_sha256((struct fa_bytes){buf.ptr, buf.len}, digest);
    fa_hex(digest, sizeof(digest), out);
    fa_buf_finish(&buf);
}

FA_PRINTF(2, 3) static void report(struct fa_audit_check *check, const char *format, ...)
{
    char sentence[300];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    check->finding_count++;
    check->found(check->ctx, sentence);
}

/* The entries from `first` to `last` are not there. */
static void report_missing(struct fa_audit_check *check, int64_t first, int64_t last)
{
    if (first == last)
        report(check, "entry %lld was removed", (long long)first);
    else
        report(check, "entries %lld to %lld were removed", (long long)first, (long long)last);
}

void fa_audit_check_entry(struct fa_audit_check *check, const struct fa_audit_entry *entry)
{
    const char *previous = entry->previous_hash ? entry->previous_hash : "";
    char hash[FA_SHA256_HEX_SIZE];
    bool has_gap = entry->id > check->last_id + 1;

    fa_audit_hash(entry, hash);
    if (entry->id <= check->last_id || entry->id < 1) {
        report(check, "entry %lld was inserted: no entry has this number", (long long)entry->id);
        return;
    }
    if (has_gap)
        report_missing(check, check->last_id + 1, entry->id - 1);
    if (entry->hash == NULL || strcmp(hash, entry->hash) != 0)
        report(check, "entry %lld was changed: its content doesn't have its hash",
               (long long)entry->id);
    else if (!has_gap && strcmp(previous, check->last_hash) != 0 && check->last_id == 0)
        report(check, "entry %lld was replaced: it is the first one, and names one before it",
               (long long)entry->id);
    else if (!has_gap && strcmp(previous, check->last_hash) != 0)
        report(check,
               "entry %lld was replaced, or entry %lld inserted: the one doesn't have the hash "
               "that the other names",
               (long long)check->last_id, (long long)entry->id);
    check->count++;
    check->last_id = entry->id;
    snprintf(check->last_hash, sizeof(check->last_hash), "%s", entry->hash ? entry->hash : "");
}

void fa_audit_check_end(struct fa_audit_check *check, int64_t total, const char *last_hash)
{
    const char *last = last_hash ? last_hash : "";

    if (total < 0)
        report(check, "the number of entries, which is stored beside them, is not there");
    else if (total > check->last_id)
        report_missing(check, check->last_id + 1, total);
    else if (total < check->last_id && total + 1 == check->last_id)
        report(check, "entry %lld was inserted: the store has counted %lld", (long long)total + 1,
               (long long)total);
    else if (total < check->last_id)
        report(check, "entries %lld to %lld were inserted: the store has counted %lld",
               (long long)total + 1, (long long)check->last_id, (long long)total);
    else if (strcmp(last, check->last_hash) != 0)
        report(check,
               "entry %lld was replaced: it doesn't have the hash that is stored beside the "
               "entries",
               (long long)check->last_id);
}
