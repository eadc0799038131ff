/*
 * receive.c - follows the bytes that the HTTP library receives (framing.h).
 *
 * The library calls recv() by its name, and of two functions with one name the program's comes
 * before a library's, as with malloc (see unread.c). The one below receives with recvfrom(), which
 * does the same, and then lets the framing of the connection follow the bytes, if the thread is
 * that of a loop. Other threads, and other libraries, get what they asked for and nothing else.
 *
 * Over TLS the library receives by another function, and a library that doesn't look for its
 * functions by name doesn't call this one. Then nothing is followed, and a connection ends with its
 * first chunked body (http.c).
 */
#include "server/inner.h"

#include <stdlib.h>
#include <sys/socket.h>

/* The table of the loop whose thread this is; NULL: it is none. */
static struct fa_receivers **table_of_thread(void)
{
    static _Thread_local struct fa_receivers *receivers;

    return &receivers;
}

void fa_receivers_adopt(struct fa_receivers *receivers)
{
    *table_of_thread() = receivers;
}

void fa_receivers_set(struct fa_receivers *receivers, int fd, struct fa_framing *framing)
{
    size_t index = (size_t)fd;

    if (fd < 0)
        return;
    if (index >= receivers->size && framing) {
        size_t size = receivers->size > 0 ? receivers->size : 64;

        while (size <= index)
            size *= 2;
        receivers->framings = fa_realloc(receivers->framings, size * sizeof(struct fa_framing *));
        memset(receivers->framings + receivers->size, 0,
               (size - receivers->size) * sizeof(struct fa_framing *));
        receivers->size = size;
    }
    if (index < receivers->size)
        receivers->framings[index] = framing;
}

void fa_receivers_finish(struct fa_receivers *receivers)
{
    free(receivers->framings);
    *receivers = (struct fa_receivers){0};
}

__attribute__((visibility("default"))) ssize_t recv(int fd, void *to, size_t size, int flags)
{
    ssize_t got = recvfrom(fd, to, size, flags, NULL, NULL);
    const struct fa_receivers *receivers = *table_of_thread();

    if (got > 0 && receivers && !(flags & MSG_PEEK) && fd >= 0 && (size_t)fd < receivers->size &&
        receivers->framings[fd])
        fa_framing_feed(receivers->framings[fd], to, (size_t)got);
    return got;
}
