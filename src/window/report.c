/* SPDX-License-Identifier: Apache-2.0 */
#include "window/window.h"

#include "base/str.h"
#include "xsched/types.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAMILY_MAX 64 /* generations looked through */

/* @return the answer, which the caller frees, or NULL with *ret_error */
static json_t *ask(const struct xs_report *r, const char *method, const char *path, const char *body,
                   int *ret_error, char *ret_why, size_t size)
{
    struct xs_http_answer answer;
    char tried[1024];
    json_t *json;
    int err = xs_ask(&r->where, method, path, body, &answer, tried, sizeof(tried));

    if (err < 0) {
        snprintf(ret_why, size, "no xserver answers:%s", tried);
        *ret_error = err;
        return NULL;
    }
    json = json_loadb(answer.body, answer.bytes, 0, NULL);
    free(answer.body);
    if (answer.status == 200 && json_is_object(json))
        return json;
    snprintf(ret_why, size, "xserver refused (%ld): %s", answer.status,
             json_is_object(json) && json_string_value(json_object_get(json, "error"))
                 ? json_string_value(json_object_get(json, "error"))
                 : "the answer is no JSON object");
    json_decref(json);
    *ret_error = -EPERM;
    return NULL;
}

/* The process that started it; 0 when it is gone. */
static pid_t parent_of(pid_t pid)
{
    char path[32], text[512], *p;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    text[n] = 0;
    p = strrchr(text, ')'); /* the name may hold anything, brackets too */
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's own number */
    return p && strlen(p) > 4 ? (pid_t)atoi(p + 4) : 0;
}

static bool started_by(pid_t pid, pid_t ancestor)
{
    for (int i = 0; i < FAMILY_MAX && pid > 1; i++) {
        if (pid == ancestor)
            return true;
        pid = parent_of(pid);
    }
    return false;
}

/* Joined processes that belong to the window: the window's own alone, if it is one of them. */
static size_t family(struct xs_report *r, const json_t *answer, pid_t window, pid_t *ret)
{
    const json_t *clients = json_object_get(answer, "clients");
    size_t n = 0, i;
    json_t *c;

    r->clients = json_array_size(clients);
    r->exact = false;
    json_array_foreach(clients, i, c)
    {
        pid_t pid = (pid_t)json_integer_value(json_object_get(c, "pid"));

        if (pid == window) {
            r->exact = true;
            ret[0] = pid;
            return 1;
        }
        if (n < XS_REPORT_PIDS && window > 1 && started_by(pid, window))
            ret[n++] = pid;
    }
    if (!n && window && !r->only_joined)
        ret[n++] = window; /* it may join later; meanwhile no other process's window is active */
    return n;
}

static int tell(const struct xs_report *r, size_t slot, pid_t pid, char *ret_why, size_t size)
{
    char display[96], body[192];
    json_t *answer;
    int err = 0;

    snprintf(display, sizeof(display), slot ? "%s+%zu" : "%s", r->display, slot);
    snprintf(body, sizeof(body), "{\"hint_type\": 7, \"pid\": %d, \"display\": \"%s\"}", (int)pid, display);
    answer = ask(r, "POST", "/hint", body, &err, ret_why, size);
    json_decref(answer);
    return err;
}

int xs_report_active(struct xs_report *r, pid_t pid, char *ret_why, size_t size)
{
    pid_t wanted[XS_REPORT_PIDS];
    json_t *clients;
    size_t n;
    int err = 0;

    clients = ask(r, "GET", "/clients", NULL, &err, ret_why, size);
    r->reached = clients != NULL;
    if (!clients) {
        r->n_told = 0; /* another server will have none of this */
        r->only_joined = false;
        return err;
    }
    n = family(r, clients, pid, wanted);
    json_decref(clients);
    if (!n)
        wanted[n++] = 0;
    for (size_t i = 0; i < XS_MAX(n, r->n_told); i++) {
        pid_t want = wanted[i < n ? i : 0]; /* a slot beyond the last process repeats the first */

        if (i < r->n_told && r->told[i] == want)
            continue;
        err = tell(r, i, want, ret_why, size);
        if (err == -EPERM && want == pid &&
            !r->exact) { /* xserver accepts processes that have not joined from operators only */
            r->only_joined = true;
            want = 0;
            err = tell(r, i, want, ret_why, size);
        }
        if (err < 0)
            return err;
        r->told[i] = want;
        if (i >= r->n_told)
            r->n_told = i + 1;
    }
    return 0;
}

int xs_report_set_policy(const struct xs_report *r, char *ret_why, size_t size)
{
    char path[32];
    int err = 0;
    json_t *answer;

    snprintf(path, sizeof(path), "/policy?policy=%d", kPolicyActiveWindowFirst);
    answer = ask(r, "POST", path, NULL, &err, ret_why, size);

    json_decref(answer);
    return err;
}
