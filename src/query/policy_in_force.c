/* SPDX-License-Identifier: Apache-2.0 */
#include "query/policy_in_force.h"

#include "asks/ask_line.h"
#include "base/clock.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_NS XS_NS_PER_S

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

bool xs_policy_in_force_ask(const char *server_socket, struct xs_policy_in_force *ret)
{
    struct xs_line *line = xs_line_new(server_socket, false);
    struct xs_request *r = line ? xs_request_new(XS_REQ_POLICY) : NULL;
    bool found = false;

    if (r && xs_line_ask(line, r, TIMEOUT_NS) == 0) {
        found = r->status == 200 && r->state.policy_reads_known;
        if (found) {
            xs_str_copy(ret->name, sizeof(ret->name), r->state.policy_name);
            ret->reads = r->state.policy_reads;
        }
        xs_request_free(r);
    }
    xs_line_free(line);
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
