/* hide.c - see hide.h. */
#include "cli/hide.h"

/* The password in postgres://user:password@host or ?password=...; *len is 0 when there is none. */
static char *find_user_password(char *url, size_t *len)
{
    char *begin = strstr(url, "://"), *end, *colon;

    *len = 0;
    if (begin == NULL)
        return NULL;
    begin += strlen("://");
    end = begin + strcspn(begin, "?");
    /* A password may hold an @ that should have been encoded: the last one ends it. */
    while (end > begin && *end != '@')
        end--;
    if (end == begin)
        return NULL;
    colon = memchr(begin, ':', (size_t)(end - begin));
    if (colon != NULL)
        *len = (size_t)(end - colon - 1);
    return colon != NULL ? colon + 1 : NULL;
}

static char *find_parameter(char *url, size_t *len)
{
    static const char *const names[] = {
        "?password=", "&password=", "?sslpassword=", "&sslpassword="};
    char *found = NULL;

    for (size_t i = 0; found == NULL && i < FA_COUNT(names); i++) {
        found = strstr(url, names[i]);
        if (found != NULL)
            found += strlen(names[i]);
    }
    *len = found != NULL ? strcspn(found, "&") : 0;
    return found;
}

void fa_hide_passwords(int argc, char **argv, struct fa_arena *arena)
{
    static char *(*const finders[])(char *url, size_t *len) = {find_user_password, find_parameter};

    for (int i = 1; i < argc; i++) {
        char *original = argv[i];

        if (strstr(original, "://") == NULL)
            continue;
        argv[i] = fa_arena_strdup(arena, original);
        for (size_t f = 0; f < FA_COUNT(finders); f++) {
            size_t len;
            char *at = finders[f](original, &len);

            if (len > 0)
                memset(at, 'x', len);
        }
    }
}
