/*
 * cnats.h - the NATS client library, loaded when the first engine on NATS is opened.
 *
 * Only its transport is used: connections, messages, headers. Requests to JetStream are our own
 * (nats_request.h), so that many can be under way at once. docs/decisions/0041 says why it is
 * loaded like libcurl.
 */
#ifndef FA_KV_NATS_CNATS_H
#define FA_KV_NATS_CNATS_H

#include "base/error.h"

#include <nats/nats.h>

/* The functions that we use. */
#define FA_CNATS_LIST(X)                                                                           \
    X(natsOptions_Create)                                                                          \
    X(natsOptions_Destroy)                                                                         \
    X(natsOptions_SetServers)                                                                      \
    X(natsOptions_SetUserInfo)                                                                     \
    X(natsOptions_SetName)                                                                         \
    X(natsOptions_SetTimeout)                                                                      \
    X(natsOptions_SetSecure)                                                                       \
    X(natsOptions_LoadCATrustedCertificates)                                                       \
    X(natsOptions_SetUserCredentialsFromFiles)                                                     \
    X(natsOptions_SetMaxReconnect)                                                                 \
    X(natsOptions_SetReconnectWait)                                                                \
    X(natsOptions_SetReconnectJitter)                                                              \
    X(natsOptions_SetPingInterval)                                                                 \
    X(natsOptions_SetMaxPingsOut)                                                                  \
    X(natsOptions_SetErrorHandler)                                                                 \
    X(natsConnection_Connect)                                                                      \
    X(natsConnection_Close)                                                                        \
    X(natsConnection_Destroy)                                                                      \
    X(natsConnection_Status)                                                                       \
    X(natsConnection_PublishMsg)                                                                   \
    X(natsConnection_Publish)                                                                      \
    X(natsConnection_Subscribe)                                                                    \
    X(natsConnection_GetMaxPayload)                                                                \
    X(natsConnection_GetConnectedUrl)                                                              \
    X(natsSubscription_SetPendingLimits)                                                           \
    X(natsSubscription_SetOnCompleteCB)                                                            \
    X(natsSubscription_Unsubscribe)                                                                \
    X(natsSubscription_Destroy)                                                                    \
    X(natsMsg_Create)                                                                              \
    X(natsMsg_Destroy)                                                                             \
    X(natsMsg_GetSubject)                                                                          \
    X(natsMsg_GetReply)                                                                            \
    X(natsMsg_GetData)                                                                             \
    X(natsMsg_GetDataLength)                                                                       \
    X(natsMsgHeader_Set)                                                                           \
    X(natsMsgHeader_Get)                                                                           \
    X(natsStatus_GetText)

struct fa_cnats {
#define FA_CNATS_MEMBER(name) __typeof__(&name) name;
    FA_CNATS_LIST(FA_CNATS_MEMBER)
#undef FA_CNATS_MEMBER
};

/* Never unloaded. NULL: NOT_SUPPORTED, it is not installed. Any thread. */
const struct fa_cnats *fa_cnats_load(struct faina_error *err);

#endif
