/*
 * otlp_inner.h - parts of OTLP JSON that spans and metrics have in common.
 */
#ifndef FA_OTLP_OTLP_INNER_H
#define FA_OTLP_OTLP_INNER_H

#include "otlp/otlp_json.h"

void fa_otlp_begin(struct fa_json_writer *w, const char *of_resource, const char *of_scope,
                   const char *items, const struct fa_otlp_resource *resource);
void fa_otlp_end(struct fa_json_writer *w);
/* Nanoseconds since 1970, as a string. */
void fa_otlp_put_time(struct fa_json_writer *w, const char *key, int64_t us);
/* An attribute, unless the value is NULL. */
void fa_otlp_put_text(struct fa_json_writer *w, const char *key, const char *value);

#endif
