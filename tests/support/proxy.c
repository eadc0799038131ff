/*
 * proxy.c - see proxy.h.
 *
 * One thread polls all sockets. A link is one connection: two sides, each with what was read from
 * it and not yet processed (`in`), and what is to be written to it (`out`). Rules are applied to
 * complete messages.
 */
#include "support/proxy.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINKS_MAX 512
#define MESSAGE_MAX (256u << 20)
#define READ_SIZE 65536
#define SQL_KEPT 256 /* bytes of a prepared statement's text that rules are matched with */

/* The first message of a client has one of these numbers instead of a type. */
enum { CODE_CANCEL = 80877102, CODE_SSL = 80877103, CODE_GSS = 80877104 };

struct statement {
    struct statement *next;
    char name[64];
    char sql[SQL_KEPT];
};

struct side {
    int fd; /* -1: closed */
    struct fa_buf in, out;
    int64_t stalled_until_us;
    bool was_stalled; /* the first message has been delayed, or is */
    bool has_ended;   /* nothing more will be read */
};

struct link {
    struct side sides[2];
    bool has_started;     /* the client's first message has passed */
    bool is_cut;          /* to be dropped when `out` of the server is written */
    bool cut_on_sync;     /* a rule acts after the next Sync or Flush */
    bool drops_responses; /* responses of the server are discarded */
    struct statement *statements;
};

struct rule {
    struct fa_proxy_rule is;
    int64_t bytes;
    int fitting, acted;
};

struct fa_proxy {
    pthread_t thread;
    int wake[2]; /* a pipe: a byte wakes the thread after a change */
    int port;    /* does not change */

    pthread_mutex_t mutex; /* guards all below */
    int listener;          /* -1: refusing */
    int target;
    bool is_over, is_frozen;
    struct rule rules[FA_PROXY_RULES_MAX];
    int rule_count, hits;
    int64_t counts[2][256];
    struct link *links[LINKS_MAX];
    int link_count;
};

/* ------------------------------------------------------------------------------------------
 * Sockets
 */

static struct sockaddr_in local(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_on(int port)
{
    struct sockaddr_in address = local(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    CHECK(fd >= 0, "no socket: %s", strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    CHECK(bind(fd, (struct sockaddr *)&address, sizeof address) == 0, "port %d: %s", port,
          strerror(errno));
    CHECK(listen(fd, 128) == 0, "port %d: %s", port, strerror(errno));
    return fd;
}

static int connect_to(int port)
{
    struct sockaddr_in address = local(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void close_side(struct side *side)
{
    if (side->fd >= 0)
        close(side->fd);
    side->fd = -1;
    side->has_ended = true;
}

static void take_front(struct fa_buf *buf, size_t count)
{
    memmove(buf->ptr, buf->ptr + count, buf->len - count);
    buf->len -= count;
}

/* ------------------------------------------------------------------------------------------
 * Links
 */

static void add_link(struct fa_proxy *proxy, int client, int server)
{
    struct link *link = fa_alloc_zero(1, sizeof *link);

    for (int i = 0; i < 2; i++) {
        link->sides[i].fd = i == FA_PROXY_CLIENT ? client : server;
        fa_buf_init(&link->sides[i].in, MESSAGE_MAX);
        fa_buf_init(&link->sides[i].out, MESSAGE_MAX);
    }
    proxy->links[proxy->link_count++] = link;
}

static void free_link(struct link *link)
{
    for (int i = 0; i < 2; i++) {
        close_side(&link->sides[i]);
        fa_buf_finish(&link->sides[i].in);
        fa_buf_finish(&link->sides[i].out);
    }
    while (link->statements) {
        struct statement *next = link->statements->next;

        free(link->statements);
        link->statements = next;
    }
    free(link);
}

/* The client's side is closed at once; the server gets what has passed (P2). */
static void cut(struct link *link)
{
    struct side *client = &link->sides[FA_PROXY_CLIENT];

    if (client->out.len > 0 && client->fd >= 0)
        (void)!send(client->fd, client->out.ptr, client->out.len, MSG_NOSIGNAL);
    close_side(client);
    link->is_cut = true;
    link->drops_responses = true;
}

static void accept_all(struct fa_proxy *proxy)
{
    int fd, server, on = 1;

    while (proxy->listener >= 0 && proxy->link_count < LINKS_MAX) {
        fd = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        server = connect_to(proxy->target);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (server < 0)
            close(fd); /* the server can't be reached */
        else
            add_link(proxy, fd, server);
    }
}

/* ------------------------------------------------------------------------------------------
 * Messages
 */

struct message {
    enum fa_proxy_side from;
    unsigned char type; /* 0: the first one */
    const char *ptr;
    size_t size; /* all of it */
    const char *body;
    size_t body_size;
};

static uint32_t number_at(const char *ptr)
{
    uint32_t value;

    memcpy(&value, ptr, sizeof value);
    return ntohl(value);
}

/* Reads the first message of `in`; false when it isn't complete. */
static bool read_message(struct link *link, enum fa_proxy_side from, struct message *out)
{
    const struct fa_buf *in = &link->sides[from].in;
    size_t head = from == FA_PROXY_SERVER || link->has_started ? 1 : 0;
    uint32_t size;

    if (in->len < head + 4)
        return false;
    size = number_at(in->ptr + head);
    if (size < 4 || size > MESSAGE_MAX || in->len < head + size)
        return false;
    *out = (struct message){
        .from = from,
        .type = head ? (unsigned char)in->ptr[0] : 0,
        .ptr = in->ptr,
        .size = head + size,
        .body = in->ptr + head + 4,
        .body_size = size - 4,
    };
    return true;
}

/* The text at `offset` of a body with several texts, each ended by a NUL. */
static const char *body_text(const struct message *message, size_t *offset)
{
    const char *text = message->body + *offset;
    const char *end =
        *offset < message->body_size ? memchr(text, '\0', message->body_size - *offset) : NULL;

    if (end == NULL)
        return "";
    *offset += (size_t)(end - text) + 1;
    return text;
}

static struct statement *find_statement(struct link *link, const char *name)
{
    for (struct statement *at = link->statements; at; at = at->next)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

static void keep_statement(struct link *link, const struct message *parse)
{
    size_t offset = 0;
    const char *name = body_text(parse, &offset);
    const char *sql = body_text(parse, &offset);
    struct statement *statement = find_statement(link, name);

    if (statement == NULL) {
        statement = fa_alloc_zero(1, sizeof *statement);
        snprintf(statement->name, sizeof statement->name, "%s", name);
        statement->next = link->statements;
        link->statements = statement;
    }
    snprintf(statement->sql, sizeof statement->sql, "%s", sql);
}

static const char *bound_sql(struct link *link, const struct message *bind)
{
    size_t offset = 0;
    const struct statement *statement;

    body_text(bind, &offset); /* the portal */
    statement = find_statement(link, body_text(bind, &offset));
    return statement ? statement->sql : "";
}

static bool fits(struct link *link, const struct rule *rule, const struct message *message)
{
    const char *text = rule->is.text;

    if (rule->is.from != message->from || (rule->is.times && rule->acted >= rule->is.times))
        return false;
    if (rule->is.after_bytes > 0)
        return rule->bytes + (int64_t)message->size > rule->is.after_bytes;
    if (rule->is.type && (unsigned char)rule->is.type != message->type)
        return false;
    if (rule->is.sql)
        return message->from == FA_PROXY_CLIENT && message->type == 'B' &&
               strcmp(bound_sql(link, message), rule->is.sql) == 0;
    if (text == NULL || memmem(message->body, message->body_size, text, strlen(text)))
        return true;
    return message->from == FA_PROXY_CLIENT && message->type == 'B' &&
           strstr(bound_sql(link, message), text);
}

/* The rule that acts on this message, or NULL. */
static struct rule *judge(struct fa_proxy *proxy, struct link *link, const struct message *message)
{
    struct rule *found = NULL;

    for (int i = 0; i < proxy->rule_count; i++) {
        struct rule *rule = &proxy->rules[i];

        if (found == NULL && fits(link, rule, message) && rule->fitting++ >= rule->is.skip)
            found = rule;
        else if (rule->is.from == message->from)
            rule->bytes += (int64_t)message->size;
    }
    if (found) {
        found->acted++;
        proxy->hits++;
    }
    return found;
}

static void pass(struct link *link, const struct message *message, size_t size)
{
    if (message->from == FA_PROXY_CLIENT || !link->drops_responses)
        fa_buf_add(&link->sides[!message->from].out, message->ptr, size);
}

static size_t inside(const struct rule *rule, const struct message *message)
{
    return rule->is.after_bytes ? (size_t)(rule->is.after_bytes - rule->bytes) : message->size / 2;
}

/* A query, Sync, Flush, Terminate, password or first message: the server responds to it. */
static bool ends_a_batch(const struct message *message)
{
    return strchr("QSHXp", message->type) != NULL; /* the first message's type is 0: that too */
}

/* Applies the rule. False: the link is cut. */
static bool act(struct rule *rule, struct link *link, const struct message *message)
{
    switch (rule->is.after_bytes ? FA_PROXY_CUT_INSIDE : rule->is.action) {
    case FA_PROXY_CUT_BEFORE:
        cut(link);
        return false;
    case FA_PROXY_CUT_INSIDE:
        pass(link, message, inside(rule, message));
        cut(link);
        return false;
    case FA_PROXY_CUT_AFTER:
        pass(link, message, message->size);
        if (message->from == FA_PROXY_SERVER || ends_a_batch(message)) {
            cut(link);
            return false;
        }
        link->cut_on_sync = link->drops_responses = true;
        return true;
    case FA_PROXY_DROP:
        return true;
    case FA_PROXY_STALL:
        link->sides[message->from].was_stalled = true;
        link->sides[message->from].stalled_until_us =
            fa_clock_mono_us() + (int64_t)rule->is.stall_ms * 1000;
        return true;
    }
    abort();
}

/* Refuses a request for encryption (P3). True: it was one. */
static bool refuse_encryption(struct link *link, const struct message *first)
{
    uint32_t code = first->body_size >= 4 ? number_at(first->body) : 0;

    if (code != CODE_SSL && code != CODE_GSS)
        return false;
    fa_buf_add_char(&link->sides[FA_PROXY_CLIENT].out, 'N');
    return true;
}

/* Records a message before the rules are applied. */
static void note(struct fa_proxy *proxy, struct link *link, const struct message *message)
{
    if (message->type == 0)
        link->has_started = true;
    proxy->counts[message->from][message->type]++;
    if (message->from == FA_PROXY_CLIENT && message->type == 'P')
        keep_statement(link, message);
}

/* Processes one message; false when it is delayed, or the link is cut. */
static bool handle(struct fa_proxy *proxy, struct link *link, const struct message *message)
{
    struct side *side = &link->sides[message->from];
    struct rule *rule;

    if (message->type == 0 && refuse_encryption(link, message))
        return true;
    if (!side->was_stalled) {
        note(proxy, link, message);
        rule = judge(proxy, link, message);
        if (rule)
            return act(rule, link, message) && !side->was_stalled;
    }
    side->was_stalled = false;
    pass(link, message, message->size);
    if (link->cut_on_sync && message->from == FA_PROXY_CLIENT && ends_a_batch(message))
        cut(link);
    return !link->is_cut;
}

static void handle_all(struct fa_proxy *proxy, struct link *link, enum fa_proxy_side from)
{
    struct side *side = &link->sides[from];
    struct message message;

    while (!link->is_cut && fa_clock_mono_us() >= side->stalled_until_us &&
           read_message(link, from, &message)) {
        if (!handle(proxy, link, &message))
            return;
        take_front(&side->in, message.size);
    }
}

/* ------------------------------------------------------------------------------------------
 * The thread
 */

static void read_side(struct side *side)
{
    char bytes[READ_SIZE];
    ssize_t got;

    if (side->fd < 0 || side->has_ended)
        return;
    while ((got = recv(side->fd, bytes, sizeof bytes, 0)) > 0)
        fa_buf_add(&side->in, bytes, (size_t)got);
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        side->has_ended = true;
}

static void write_side(struct side *side)
{
    while (side->fd >= 0 && side->out.len > 0) {
        ssize_t sent = send(side->fd, side->out.ptr, side->out.len, MSG_NOSIGNAL);

        if (sent > 0) {
            take_front(&side->out, (size_t)sent);
        } else {
            if (errno != EAGAIN && errno != EINTR)
                side->has_ended = true, side->out.len = 0;
            return;
        }
    }
}

static void update_link(struct fa_proxy *proxy, struct link *link)
{
    struct side *client = &link->sides[FA_PROXY_CLIENT];
    struct side *server = &link->sides[FA_PROXY_SERVER];

    read_side(client);
    read_side(server);
    handle_all(proxy, link, FA_PROXY_CLIENT);
    handle_all(proxy, link, FA_PROXY_SERVER);
    if (link->is_cut)
        fa_buf_clear(&server->in); /* responses are discarded */
    write_side(client);
    write_side(server);
    if (client->has_ended && server->fd >= 0 && server->out.len == 0)
        shutdown(server->fd, SHUT_WR); /* the server may still process what it received */
    if (server->has_ended && client->out.len == 0)
        close_side(client);
}

static bool is_over(const struct link *link)
{
    return link->sides[FA_PROXY_SERVER].has_ended && link->sides[FA_PROXY_CLIENT].fd < 0;
}

static void tend_links(struct fa_proxy *proxy)
{
    for (int i = proxy->link_count - 1; i >= 0; i--) {
        update_link(proxy, proxy->links[i]);
        if (is_over(proxy->links[i])) {
            free_link(proxy->links[i]);
            proxy->links[i] = proxy->links[--proxy->link_count];
        }
    }
}

/* What to wait for, and for how long at most. */
static int fill_polls(struct fa_proxy *proxy, struct pollfd *polls, int *timeout_ms)
{
    int64_t now_us = fa_clock_mono_us();
    int count = 0;

    *timeout_ms = -1;
    polls[count++] = (struct pollfd){.fd = proxy->wake[0], .events = POLLIN};
    if (proxy->is_frozen)
        return count;
    if (proxy->listener >= 0)
        polls[count++] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
    for (int i = 0; i < proxy->link_count; i++)
        for (int s = 0; s < 2; s++) {
            const struct side *side = &proxy->links[i]->sides[s];
            short events = (short)((side->has_ended ? 0 : POLLIN) | (side->out.len ? POLLOUT : 0));

            if (side->fd >= 0 && events)
                polls[count++] = (struct pollfd){.fd = side->fd, .events = events};
            if (side->stalled_until_us > now_us)
                *timeout_ms = 5;
        }
    return count;
}

static void *run(void *arg)
{
    struct fa_proxy *proxy = arg;
    struct pollfd *polls = fa_alloc((2 * LINKS_MAX + 2) * sizeof *polls);
    char bytes[64];
    int count, timeout_ms;

    pthread_mutex_lock(&proxy->mutex);
    while (!proxy->is_over) {
        count = fill_polls(proxy, polls, &timeout_ms);
        pthread_mutex_unlock(&proxy->mutex);
        poll(polls, (nfds_t)count, timeout_ms);
        if (polls[0].revents)
            (void)!read(proxy->wake[0], bytes, sizeof bytes);
        pthread_mutex_lock(&proxy->mutex);
        if (!proxy->is_frozen) {
            accept_all(proxy);
            tend_links(proxy);
        }
    }
    pthread_mutex_unlock(&proxy->mutex);
    free(polls);
    return NULL;
}

/* ------------------------------------------------------------------------------------------
 * From the test
 */

static void enter(struct fa_proxy *proxy)
{
    pthread_mutex_lock(&proxy->mutex);
}

static void leave(struct fa_proxy *proxy)
{
    pthread_mutex_unlock(&proxy->mutex);
    CHECK(write(proxy->wake[1], "", 1) == 1, "the proxy's pipe is full");
}

struct fa_proxy *fa_proxy_start(int port)
{
    struct fa_proxy *proxy = fa_alloc_zero(1, sizeof *proxy);
    struct sockaddr_in address;
    socklen_t size = sizeof address;

    proxy->listener = listen_on(0);
    proxy->target = port;
    CHECK(getsockname(proxy->listener, (struct sockaddr *)&address, &size) == 0, "no port");
    proxy->port = ntohs(address.sin_port);
    CHECK(pipe2(proxy->wake, O_CLOEXEC) == 0, "no pipe: %s", strerror(errno));
    pthread_mutex_init(&proxy->mutex, NULL);
    CHECK(pthread_create(&proxy->thread, NULL, run, proxy) == 0, "can't start a thread");
    return proxy;
}

static void drop_links(struct fa_proxy *proxy)
{
    while (proxy->link_count > 0)
        free_link(proxy->links[--proxy->link_count]);
}

void fa_proxy_stop(struct fa_proxy *proxy)
{
    if (proxy == NULL)
        return;
    enter(proxy);
    proxy->is_over = true;
    leave(proxy);
    pthread_join(proxy->thread, NULL);
    drop_links(proxy);
    if (proxy->listener >= 0)
        close(proxy->listener);
    close(proxy->wake[0]);
    close(proxy->wake[1]);
    pthread_mutex_destroy(&proxy->mutex);
    free(proxy);
}

int fa_proxy_port(const struct fa_proxy *proxy)
{
    return proxy->port;
}

void fa_proxy_aim(struct fa_proxy *proxy, int port)
{
    enter(proxy);
    proxy->target = port;
    leave(proxy);
}

void fa_proxy_add(struct fa_proxy *proxy, const struct fa_proxy_rule *rule)
{
    enter(proxy);
    CHECK(proxy->rule_count < FA_PROXY_RULES_MAX, "too many rules");
    proxy->rules[proxy->rule_count++] = (struct rule){.is = *rule};
    leave(proxy);
}

void fa_proxy_clear(struct fa_proxy *proxy)
{
    enter(proxy);
    proxy->rule_count = proxy->hits = 0;
    leave(proxy);
}

int fa_proxy_hits(struct fa_proxy *proxy)
{
    int hits;

    enter(proxy);
    hits = proxy->hits;
    pthread_mutex_unlock(&proxy->mutex);
    return hits;
}

void fa_proxy_cut_all(struct fa_proxy *proxy)
{
    enter(proxy);
    drop_links(proxy);
    leave(proxy);
}

void fa_proxy_refuse(struct fa_proxy *proxy, bool refuse)
{
    enter(proxy);
    if (refuse && proxy->listener >= 0) {
        close(proxy->listener);
        proxy->listener = -1;
    } else if (!refuse && proxy->listener < 0) {
        proxy->listener = listen_on(proxy->port);
    }
    leave(proxy);
}

void fa_proxy_freeze(struct fa_proxy *proxy, bool freeze)
{
    enter(proxy);
    proxy->is_frozen = freeze;
    leave(proxy);
}

int64_t fa_proxy_count(struct fa_proxy *proxy, enum fa_proxy_side from, char type)
{
    int64_t count = 0;

    enter(proxy);
    for (int i = 0; i < 256; i++)
        if (type == 0 || i == (unsigned char)type)
            count += proxy->counts[from][i];
    pthread_mutex_unlock(&proxy->mutex);
    return count;
}

int fa_proxy_connections(struct fa_proxy *proxy)
{
    int count;

    enter(proxy);
    count = proxy->link_count;
    pthread_mutex_unlock(&proxy->mutex);
    return count;
}
