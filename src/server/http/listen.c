/*
 * listen.c - addresses and listening sockets.
 */
#include "server/server_inner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024
#define PORT_DEFAULT "7070"

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_UNIX)
        return true;
    if (address->sa_family == AF_INET)
        return (ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >>
                24) == 127;
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(
            &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
    return false;
}

/* Reads the address that the socket is bound to: the port may have been 0. */
static enum faina_code describe(int fd, struct fa_listener_socket *out, bool *is_local,
                                struct faina_error *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_un un;
        struct sockaddr_storage storage;
    } address = {.storage = {0}};
    socklen_t size = sizeof(address);
    char host[64], port[16];

    if (getsockname(fd, &address.any, &size) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "descriptor %d is not a socket: %s", fd,
                            strerror(errno));
    out->fd = fd;
    *is_local = is_loopback(&address.any);
    out->is_unix = address.any.sa_family == AF_UNIX;
    if (out->is_unix) {
        snprintf(out->address, sizeof(out->address), "unix:%s", address.un.sun_path);
        return FAINA_OK;
    }
    if (getnameinfo(&address.any, size, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "descriptor %d has no address", fd);
    snprintf(out->address, sizeof(out->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
             port);
    return FAINA_OK;
}

enum faina_code fa_listen_given(int fd, struct fa_listener_socket *out, bool *is_local,
                                struct faina_error *err)
{
    int is_listening = 0;
    socklen_t size = sizeof(is_listening);

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0 || !is_listening)
        return fa_error_set(err, FAINA_UNAVAILABLE, "descriptor %d is not a listening socket", fd);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "descriptor %d: %s", fd, strerror(errno));
    return describe(fd, out, is_local, err);
}

/* A socket file without a listener was left by a process that was killed. */
static bool is_stale(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_refused;

    if (fd < 0)
        return false;
    is_refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
                 errno == ECONNREFUSED;
    close(fd);
    return is_refused;
}

/* The address is in use, or can't be used. */
static enum faina_code refuse(const char *address, int why, struct faina_error *err)
{
    bool is_taken = why == EADDRINUSE;

    return fa_error_field(err, is_taken ? FAINA_CONFLICT : FAINA_INVALID_REQUEST, "listen",
                          "can't listen on %.100s: %s%s", address, strerror(why),
                          is_taken ? "; is a server running already?" : "");
}

static enum faina_code open_unix(const char *path, struct fa_listener_socket *out,
                                 struct faina_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    mode_t mask;
    int fd, rc;

    if (strlen(path) == 0 || strlen(path) >= sizeof(address.sun_path))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "listen",
                              "the path of a Unix socket has 1 to %zu bytes, not %zu",
                              sizeof(address.sun_path) - 1, strlen(path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fa_error_set(err, FAINA_UNAVAILABLE, "can't create a socket: %s", strerror(errno));
    if (is_stale(&address))
        unlink(path);
    mask = umask(0177); /* only the owner has access, from the start */
    rc = bind(fd, (struct sockaddr *)&address, sizeof(address));
    umask(mask);
    if (rc != 0 || listen(fd, BACKLOG) != 0) {
        enum faina_code code = refuse(path, errno, err);

        close(fd);
        return code;
    }
    out->fd = fd;
    out->is_unix = out->is_trusted = true;
    snprintf(out->path, sizeof(out->path), "%s", path);
    snprintf(out->address, sizeof(out->address), "unix:%s", path);
    return FAINA_OK;
}

/* "host:port", "[v6]:port", "host", ":port". */
static enum faina_code split(const char *text, char host[256], char port[16],
                             struct faina_error *err)
{
    bool is_v6 = text[0] == '[';
    size_t len = strcspn(text, is_v6 ? "]" : ":");
    const char *name = is_v6 ? text + 1 : text;
    const char *rest = text + len + (is_v6 && text[len] == ']');
    bool has_port = rest[0] == ':';
    bool is_number = text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';

    /* A number alone would be parsed as an address, 0.0.29.81 for 7505; a port is meant. */
    if (is_number || (is_v6 && text[len] != ']') || len >= 256 || (rest[0] != '\0' && !has_port) ||
        (has_port && (strlen(rest) < 2 || strlen(rest) > 6 ||
                      strspn(rest + 1, "0123456789") != strlen(rest + 1) ||
                      strtol(rest + 1, NULL, 10) > 65535)))
        return fa_error_field(err, FAINA_INVALID_REQUEST, "listen",
                              "\"%.100s\" is not an address, which is HOST:PORT: 127.0.0.1:7070, "
                              "[::1]:7070, or unix:/run/faina.sock",
                              text);
    len -= is_v6;
    memcpy(host, name, len);
    host[len] = '\0';
    snprintf(port, 16, "%s", has_port ? rest + 1 : PORT_DEFAULT);
    return FAINA_OK;
}

static int bind_to(const struct addrinfo *info)
{
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    on = errno;
    close(fd);
    errno = on;
    return -1;
}

enum faina_code fa_listen_open(const char *address, struct fa_listener_socket *out, bool *is_local,
                               struct faina_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    char host[256], port[16];
    enum faina_code code;
    int fd, rc;

    *is_local = true;
    if (strncmp(address, "unix:", 5) == 0)
        return open_unix(address + 5, out, err);
    code = split(address, host, port, err);
    if (code != FAINA_OK)
        return code;
    rc = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);
    if (rc != 0)
        return fa_error_field(err, FAINA_INVALID_REQUEST, "listen", "can't listen on %.100s: %s",
                              address, gai_strerror(rc));
    fd = bind_to(found);
    freeaddrinfo(found);
    if (fd < 0)
        return refuse(address, errno, err);
    return describe(fd, out, is_local, err);
}
