/* SPDX-License-Identifier: Apache-2.0 */
#include "query/policy_in_force.h"

#include "query/http_client.h"
#include "transport/http_socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 1000

/* The text after `before` and up to `end`. In JSON a quote inside a text has a backslash before it, so that no name of a
 * policy looks like a member. */
static bool member(const char *answer, const char *before, char end, char *ret, size_t size)
{
    const char *at = strstr(answer, before), *last = at ? strchr(at + strlen(before), end) : NULL;
    size_t n;

    if (!last)
        return false;
    at += strlen(before);
    n = (size_t)(last - at);
    if (n >= size)
        return false;
    memcpy(ret, at, n);
    ret[n] = 0;
    return true;
}

bool xs_policy_in_force_parse(const char *answer, struct xs_policy_in_force *ret)
{
    char reads[256], quoted[64];
    const char *name;
    uint32_t flag;

    if (!member(answer, "\"name\":\"", '"', ret->name, sizeof(ret->name)) ||
        !member(answer, "\"reads\":[", ']', reads, sizeof(reads)))
        return false;
    ret->reads = 0;
    for (size_t i = 0; xs_policy_hint(i, &name, &flag); i++) {
        snprintf(quoted, sizeof(quoted), "\"%s\"", name);
        if (strstr(reads, quoted))
            ret->reads |= flag;
    }
    return true;
}

bool xs_policy_in_force_ask(const char *server_socket, unsigned wait_ms, struct xs_policy_in_force *ret)
{
    char path[PATH_MAX + 16], error[128];
    struct xs_http_target target = {.unix_path = path, .timeout_ms = TIMEOUT_MS};
    struct xs_http_answer answer;
    bool found;
    int err;

    if (!xs_http_socket(server_socket, path, sizeof(path)))
        return false;
    while ((err = xs_http_ask(&target, "GET", "/policy", NULL, &answer, error, sizeof(error))) == -ECONNREFUSED && wait_ms > 0) {
        usleep(1000);
        wait_ms--;
    }
    if (err < 0)
        return false;
    found = answer.status == 200 && xs_policy_in_force_parse(answer.body, ret);
    free(answer.body);
    return found;
}

bool xs_policy_in_force_unread(const struct xs_policy_in_force *p, uint32_t wanted, const char *what, const char *change,
                               char *ret, size_t size)
{
    /* for one share, prefer a policy that reads it of the program to one that reads it of each queue */
    uint32_t program = wanted & XS_POLICY_READS_PROCESS_UTILIZATION;
    const struct xs_policy_ops *better = xs_policy_that_reads(program ? program : wanted);

    if (p->reads & wanted || !better)
        return false;
    snprintf(ret, size, "%s has no effect under the policy %s: `%s %s` changes to one that goes by it", what, p->name, change,
             better->name);
    return true;
}
