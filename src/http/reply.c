/* SPDX-License-Identifier: Apache-2.0 */
#include "http/reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES 4096u /* an answer of that size counts for no user: there are no more of them
                             than connections */

/* Belongs to a response. libmicrohttpd frees it (forget) after the client has read all. */
struct kept {
    struct xs_connections *shares;
    struct xs_quota_user *user;
    char *text;
    size_t bytes;
};

static void forget(void *cls)
{
    struct kept *k = cls;

    xs_connections_answer_gone(k->shares, k->user, k->bytes);
    free(k->text);
    free(k);
}

static struct MHD_Response *small(const char *text)
{
    return MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
}

/* Takes the text. */
static struct MHD_Response *make(char *text, size_t bytes, struct xs_connections *shares, const struct xs_connection_of *of,
                                 int *ret_status)
{
    struct MHD_Response *response = NULL;
    struct kept *k;

    if (bytes <= SMALL_BYTES)
        return MHD_create_response_from_buffer(bytes, text, MHD_RESPMEM_MUST_FREE);
    if (!xs_connections_answer(shares, of, bytes)) {
        free(text);
        *ret_status = 503;
        return small("{\"error\":\"answers that this user has not read yet take too much memory\"}");
    }
    k = calloc(1, sizeof(*k));
    if (k) {
        *k = (struct kept){.shares = shares, .user = of->user, .text = text, .bytes = bytes};
        response = MHD_create_response_from_buffer_with_free_callback_cls(bytes, text, forget, k);
    }
    if (!response) {
        xs_connections_answer_gone(shares, of->user, bytes);
        free(text);
        free(k);
    }
    return response;
}

static void add_headers(struct MHD_Response *response, const struct xs_route_answer *a, const char *type)
{
    char seconds[24];

    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (a->policy)
        MHD_add_response_header(response, "Content-Security-Policy", a->policy);
    if (a->close)
        MHD_add_response_header(response, "Connection", "close");
    if (a->allow)
        MHD_add_response_header(response, "Allow", a->allow);
    if (a->retry_s) {
        snprintf(seconds, sizeof(seconds), "%llu", (unsigned long long)a->retry_s);
        MHD_add_response_header(response, "Retry-After", seconds);
    }
}

enum MHD_Result xs_reply(struct MHD_Connection *connection, int status, struct xs_route_answer *a,
                         struct xs_connections *shares, const struct xs_connection_of *of)
{
    char *text = a->json ? json_dumps(a->json, JSON_COMPACT) : a->text.failed ? NULL : a->text.data;
    size_t bytes = a->json ? (text ? strlen(text) : 0) : a->text.bytes;
    int was = status;
    struct MHD_Response *response;
    enum MHD_Result r;

    if (text != a->text.data)
        free(a->text.data);
    json_decref(a->json);
    if (!text) {
        status = 503;
        response = small("{\"error\":\"out of memory\"}");
    } else {
        response = make(text, bytes, shares, of, &status);
    }
    if (!response)
        return MHD_NO;
    add_headers(response, a, a->json || status != was || !a->type ? "application/json" : a->type);
    r = MHD_queue_response(connection, (unsigned)status, response);
    MHD_destroy_response(response);
    return r;
}
