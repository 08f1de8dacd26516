/* SPDX-License-Identifier: Apache-2.0 */
#include "query/http_client.h"

#include "base/clock.h"
#include "base/str.h"
#include "transport/token.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX_BYTES (256u << 20)

static size_t take(char *data, size_t size, size_t count, void *ctx)
{
    struct xs_http_answer *a = ctx;
    size_t more = size * count;
    char *grown;

    if (more > ANSWER_MAX_BYTES - a->bytes)
        return 0;
    grown = realloc(a->body, a->bytes + more + 1);
    if (!grown)
        return 0;
    a->body = grown;
    memcpy(a->body + a->bytes, data, more);
    a->bytes += more;
    a->body[a->bytes] = 0;
    return more;
}

static struct curl_slist *headers(const struct xs_http_target *target, bool *ret_ok)
{
    struct curl_slist *list = NULL, *longer;
    char token[XS_TOKEN_BYTES + 24];
    /* a header of our own: a page in a browser cannot send it to another origin without asking */
    const char *lines[4] = {"Content-Type: application/json", "X-XSched: 1", "Expect:", NULL};

    if (target->token) {
        snprintf(token, sizeof(token), "X-XSched-Token: %s", target->token);
        lines[3] = token;
    }
    *ret_ok = true;
    for (size_t i = 0; i < XS_ARRAY_LEN(lines) && lines[i]; i++) {
        longer = curl_slist_append(list, lines[i]);
        if (!longer) {
            *ret_ok = false;
            break;
        }
        list = longer;
    }
    return list;
}

/* Whether the server stands still. It is asked only where an answer is late: most questions cost nothing for it. */
struct watch {
    const struct xs_http_target *target;
    uint64_t look_ns; /* the next time */
};

static int watch(void *ctx, curl_off_t all, curl_off_t received, curl_off_t all_up, curl_off_t sent)
{
    struct watch *w = ctx;

    (void)all;
    (void)received;
    (void)all_up;
    (void)sent;
    if (xs_now_ns() < w->look_ns)
        return 0;
    w->look_ns = xs_now_ns() + XS_NS_PER_S;
    return w->target->is_stopped(w->target->ctx);
}

static int error_of(CURLcode code, long os_errno)
{
    if (code == CURLE_COULDNT_CONNECT)
        return os_errno == EACCES || os_errno == EPERM ? -EACCES : -ECONNREFUSED;
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return -EHOSTDOWN;
    return code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT : -EIO;
}

int xs_http_ask(const struct xs_http_target *target, const char *method, const char *path, const char *body,
                struct xs_http_answer *ret, char *ret_error, size_t error_size)
{
    struct xs_http_answer a = {0, NULL, 0};
    char url[4096], why[CURL_ERROR_SIZE] = "";
    struct watch watched = {target, xs_now_ns() + XS_NS_PER_S};
    struct curl_slist *list;
    bool post = strcmp(method, "POST") == 0, ok;
    CURLcode code;
    long os_errno = 0;
    int r;
    CURL *c = curl_easy_init();

    if (!c) {
        xs_str_copy(ret_error, error_size, "out of memory");
        return -EIO;
    }
    if (target->unix_path)
        snprintf(url, sizeof(url), "http://localhost%s", path);
    else
        snprintf(url, sizeof(url), "http://%s:%u%s", target->address, target->port, path);
    list = headers(target, &ok);
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_PROXY, "");
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, target->timeout_ms ? target->timeout_ms : 5000L);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &a);
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, list);
    if (target->is_stopped) {
        curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, watch);
        curl_easy_setopt(c, CURLOPT_XFERINFODATA, &watched);
        curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
    }
    if (target->unix_path)
        curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, target->unix_path);
    if (post)
        curl_easy_setopt(c, CURLOPT_POSTFIELDS, body ? body : "");
    code = ok ? curl_easy_perform(c) : CURLE_OUT_OF_MEMORY;
    if (code == CURLE_OK)
        curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &a.status);
    else
        curl_easy_getinfo(c, CURLINFO_OS_ERRNO, &os_errno);
    curl_slist_free_all(list);
    curl_easy_cleanup(c);
    if (code == CURLE_OK && !a.body && !(a.body = calloc(1, 1)))
        code = CURLE_OUT_OF_MEMORY;
    if (code != CURLE_OK) {
        free(a.body);
        xs_str_copy(ret_error, error_size, why[0] ? why : curl_easy_strerror(code));
        r = error_of(code, os_errno);
        if (r == -EACCES)
            xs_str_copy(ret_error, error_size, strerror(EACCES));
        return r;
    }
    *ret = a;
    return 0;
}
