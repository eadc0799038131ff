/* amqp.c - see amqp.h. */
#include "broker/amqp.h"

#include <amqp_framing.h>
#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define HEARTBEAT_S 10
#define HEARTBEAT_S_MAX 3600
#define FRAME_SIZE_MAX 131072
#define CONNECT_S 10
#define URL_SIZE_MAX 4096
#define CA_FILE "/etc/ssl/certs/ca-certificates.crt"

/* URLs ------------------------------------------------------------------------------------- */

struct place {
    char *text; /* what the others point into */
    struct amqp_connection_info info;
    const char *ca_file, *cert_file, *key_file; /* NULL: none */
    int heartbeat_s;
};

static enum faina_code refuse_url(const char *why, struct faina_error *err)
{
    return fa_error_set(err, FAINA_INVALID_REQUEST,
                        "the broker's URL %s; it is amqp://user:password@host:port/vhost, or "
                        "amqps:// for TLS",
                        why);
}

static int from_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void decode(char *text)
{
    char *to = text;

    for (; *text != '\0'; text++) {
        if (text[0] == '%' && from_hex(text[1]) >= 0 && from_hex(text[2]) >= 0) {
            *to++ = (char)(from_hex(text[1]) * 16 + from_hex(text[2]));
            text += 2;
        } else {
            *to++ = *text;
        }
    }
    *to = '\0';
}

static enum faina_code read_param(struct place *place, char *param, struct faina_error *err)
{
    char *value = strchr(param, '='), *end;
    long number;

    if (value == NULL)
        return refuse_url("has a parameter without a value", err);
    *value++ = '\0';
    decode(value);
    if (strcmp(param, "cacertfile") == 0) {
        place->ca_file = value;
    } else if (strcmp(param, "certfile") == 0) {
        place->cert_file = value;
    } else if (strcmp(param, "keyfile") == 0) {
        place->key_file = value;
    } else if (strcmp(param, "heartbeat") == 0) {
        number = strtol(value, &end, 10);
        if (end == value || *end != '\0' || number < 1 || number > HEARTBEAT_S_MAX)
            return refuse_url("has a heartbeat that is not from 1 to 3600 seconds", err);
        place->heartbeat_s = (int)number;
    } else {
        return refuse_url("has an unknown parameter (known are cacertfile, certfile, keyfile and "
                          "heartbeat)",
                          err);
    }
    return FAINA_OK;
}

static void free_place(struct place *place)
{
    free(place->text);
    place->text = NULL;
}

static enum faina_code parse(const char *url, struct place *out, struct faina_error *err)
{
    enum faina_code code = FAINA_OK;
    char *params, *save = NULL;

    *out = (struct place){.heartbeat_s = HEARTBEAT_S};
    if (strncmp(url, "amqp://", 7) != 0 && strncmp(url, "amqps://", 8) != 0)
        return refuse_url("doesn't begin with amqp:// or amqps://", err);
    if (strlen(url) > URL_SIZE_MAX)
        return refuse_url("is too long", err);
    out->text = strdup(url);
    params = strchr(out->text, '?');
    if (params != NULL)
        *params++ = '\0';
    if (amqp_parse_url(out->text, &out->info) != AMQP_STATUS_OK)
        code = refuse_url("can't be read", err);
    for (char *param = params ? strtok_r(params, "&", &save) : NULL;
         code == FAINA_OK && param != NULL; param = strtok_r(NULL, "&", &save))
        code = read_param(out, param, err);
    if (code == FAINA_OK && (out->cert_file == NULL) != (out->key_file == NULL))
        code = refuse_url("has only one of certfile and keyfile", err);
    if (code != FAINA_OK)
        free_place(out);
    return code;
}

/* amqp://host/ is the vhost "/", as with most clients. */
static const char *vhost_of(const struct place *place)
{
    return place->info.vhost[0] != '\0' ? place->info.vhost : "/";
}

enum faina_code fa_amqp_check_url(const char *url, struct faina_error *err)
{
    struct place place;
    enum faina_code code = parse(url, &place, err);

    if (code == FAINA_OK)
        free_place(&place);
    return code;
}

static void put_address(const struct place *place, char *out, size_t size)
{
    snprintf(out, size, "%s:%d", place->info.host, place->info.port);
}

/* Failures ---------------------------------------------------------------------------------- */

enum faina_code fa_amqp_fail(struct fa_amqp *amqp, const char *what, int status,
                             struct faina_error *err)
{
    return fa_error_set(err, FAINA_UNAVAILABLE, "the broker at %s: %s: %s", amqp->address, what,
                        amqp_error_string2(status));
}

static enum faina_code refuse_by_method(struct fa_amqp *amqp, const char *what,
                                        const amqp_method_t *method, struct faina_error *err)
{
    amqp_bytes_t text = amqp_empty_bytes;
    int number = 0;

    if (method->id == AMQP_CONNECTION_CLOSE_METHOD) {
        const amqp_connection_close_t *close = method->decoded;

        text = close->reply_text;
        number = close->reply_code;
    } else if (method->id == AMQP_CHANNEL_CLOSE_METHOD) {
        const amqp_channel_close_t *close = method->decoded;

        text = close->reply_text;
        number = close->reply_code;
    }
    return fa_error_set(err, number == AMQP_NOT_FOUND ? FAINA_NOT_FOUND : FAINA_UNAVAILABLE,
                        "the broker at %s: %s: %.*s", amqp->address, what,
                        text.len > 200 ? 200 : (int)text.len,
                        text.len > 0 ? (const char *)text.bytes : "refused");
}

enum faina_code fa_amqp_refuse(struct fa_amqp *amqp, const char *what, amqp_rpc_reply_t reply,
                               struct faina_error *err)
{
    if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION)
        return refuse_by_method(amqp, what, &reply.reply, err);
    if (reply.reply_type == AMQP_RESPONSE_LIBRARY_EXCEPTION)
        return fa_amqp_fail(amqp, what, reply.library_error, err);
    return fa_error_set(err, FAINA_UNAVAILABLE, "the broker at %s: %s: no answer", amqp->address,
                        what);
}

static bool has_reply(amqp_rpc_reply_t reply)
{
    return reply.reply_type == AMQP_RESPONSE_NORMAL;
}

/* Opening ----------------------------------------------------------------------------------- */

void fa_amqp_init(struct fa_amqp *amqp)
{
    *amqp = (struct fa_amqp){.state = NULL};
}

void fa_amqp_finish(struct fa_amqp *amqp)
{
    fa_amqp_close(amqp);
}

static amqp_socket_t *make_socket(struct fa_amqp *amqp, const struct place *place,
                                  struct faina_error *err)
{
    amqp_socket_t *socket;
    int status = AMQP_STATUS_OK;

    if (!place->info.ssl) {
        socket = amqp_tcp_socket_new(amqp->state);
        if (socket == NULL)
            (void)fa_amqp_fail(amqp, "can't make a socket", AMQP_STATUS_NO_MEMORY, err);
        return socket;
    }
    socket = amqp_ssl_socket_new(amqp->state);
    if (socket == NULL) {
        (void)fa_amqp_fail(amqp, "can't make a socket", AMQP_STATUS_NO_MEMORY, err);
        return NULL;
    }
    amqp_ssl_socket_set_verify_peer(socket, 1);
    amqp_ssl_socket_set_verify_hostname(socket, 1);
    status = amqp_ssl_socket_set_ssl_versions(socket, AMQP_TLSv1_2, AMQP_TLSvLATEST);
    if (status == AMQP_STATUS_OK)
        status = amqp_ssl_socket_set_cacert(socket, place->ca_file ? place->ca_file : CA_FILE);
    if (status == AMQP_STATUS_OK && place->cert_file != NULL)
        status = amqp_ssl_socket_set_key(socket, place->cert_file, place->key_file);
    if (status == AMQP_STATUS_OK)
        return socket;
    (void)fa_amqp_fail(amqp, "the certificates can't be read", status, err);
    return NULL;
}

/* connection.blocked is sent only to clients that announce the capability. */
static amqp_rpc_reply_t login(struct fa_amqp *amqp, const struct place *place, const char *name)
{
    amqp_table_entry_t capability = {
        .key = amqp_cstring_bytes("connection.blocked"),
        .value = {.kind = AMQP_FIELD_KIND_BOOLEAN, .value = {.boolean = 1}}};
    amqp_table_entry_t entries[] = {
        {.key = amqp_cstring_bytes("capabilities"),
         .value = {.kind = AMQP_FIELD_KIND_TABLE, .value = {.table = {1, &capability}}}},
        {.key = amqp_cstring_bytes("connection_name"),
         .value = {.kind = AMQP_FIELD_KIND_UTF8, .value = {.bytes = amqp_cstring_bytes(name)}}},
    };
    const amqp_table_t properties = {(int)FA_COUNT(entries), entries};

    return amqp_login_with_properties(amqp->state, vhost_of(place), 0, FRAME_SIZE_MAX,
                                      place->heartbeat_s, &properties, AMQP_SASL_METHOD_PLAIN,
                                      place->info.user, place->info.password);
}

static enum faina_code connect_to(struct fa_amqp *amqp, const struct place *place, const char *name,
                                  struct faina_error *err)
{
    const struct timeval timeout = {.tv_sec = CONNECT_S};
    amqp_socket_t *socket;
    amqp_rpc_reply_t reply;
    int status;

    amqp->state = amqp_new_connection();
    if (amqp->state == NULL)
        return fa_amqp_fail(amqp, "can't connect", AMQP_STATUS_NO_MEMORY, err);
    amqp_set_handshake_timeout(amqp->state, &timeout);
    amqp_set_rpc_timeout(amqp->state, &timeout);
    socket = make_socket(amqp, place, err);
    if (socket == NULL)
        return FAINA_UNAVAILABLE;
    status = amqp_socket_open_noblock(socket, place->info.host, place->info.port, &timeout);
    if (status != AMQP_STATUS_OK)
        return fa_amqp_fail(amqp, "can't connect", status, err);
    reply = login(amqp, place, name);
    if (!has_reply(reply))
        return fa_amqp_refuse(amqp, "can't log in", reply, err);
    amqp_channel_open(amqp->state, FA_AMQP_CHANNEL);
    reply = amqp_get_rpc_reply(amqp->state);
    return has_reply(reply) ? FAINA_OK : fa_amqp_refuse(amqp, "can't open a channel", reply, err);
}

enum faina_code fa_amqp_open(struct fa_amqp *amqp, const char *url, const char *name,
                             struct faina_error *err)
{
    struct place place;
    enum faina_code code;

    code = parse(url, &place, err);
    if (code != FAINA_OK)
        return code;
    put_address(&place, amqp->address, sizeof(amqp->address));
    code = connect_to(amqp, &place, name, err);
    free_place(&place);
    if (code != FAINA_OK)
        fa_amqp_close(amqp);
    return code;
}

void fa_amqp_close(struct fa_amqp *amqp)
{
    if (amqp->state == NULL)
        return;
    amqp_destroy_connection(amqp->state); /* without a goodbye, which could block */
    amqp->state = NULL;
    amqp->is_blocked = false;
}

/* Using ------------------------------------------------------------------------------------- */

enum faina_code fa_amqp_declare(struct fa_amqp *amqp, struct faina_error *err)
{
    static const char *const names[] = {FA_AMQP_TASKS, FA_AMQP_EVENTS};

    for (size_t i = 0; i < FA_COUNT(names); i++) {
        amqp_rpc_reply_t reply;

        amqp_exchange_declare(amqp->state, FA_AMQP_CHANNEL, amqp_cstring_bytes(names[i]),
                              amqp_cstring_bytes("topic"), 0, 1, 0, 0, amqp_empty_table);
        reply = amqp_get_rpc_reply(amqp->state);
        if (!has_reply(reply))
            return fa_amqp_refuse(amqp, "can't declare the exchanges", reply, err);
    }
    return FAINA_OK;
}

enum faina_code fa_amqp_queue(struct fa_amqp *amqp, const char *name, uint32_t *messages,
                              uint32_t *consumers, struct faina_error *err)
{
    const amqp_queue_declare_ok_t *ok = amqp_queue_declare(
        amqp->state, FA_AMQP_CHANNEL, amqp_cstring_bytes(name), 1, 0, 0, 0, amqp_empty_table);
    amqp_rpc_reply_t reply = amqp_get_rpc_reply(amqp->state);

    if (!has_reply(reply) || ok == NULL)
        return fa_amqp_refuse(amqp, "the queue can't be used", reply, err);
    *messages = ok->message_count;
    *consumers = ok->consumer_count;
    return FAINA_OK;
}

enum faina_code fa_amqp_take_frame(struct fa_amqp *amqp, const amqp_frame_t *frame,
                                   struct faina_error *err)
{
    if (frame->frame_type != AMQP_FRAME_METHOD)
        return FAINA_OK;
    switch (frame->payload.method.id) {
    case AMQP_CONNECTION_BLOCKED_METHOD:
        amqp->is_blocked = true;
        return FAINA_OK;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
        amqp->is_blocked = false;
        return FAINA_OK;
    case AMQP_CONNECTION_CLOSE_METHOD:
    case AMQP_CHANNEL_CLOSE_METHOD:
        return refuse_by_method(amqp, "closed", &frame->payload.method, err);
    default:
        return FAINA_OK;
    }
}
