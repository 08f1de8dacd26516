/* SPDX-License-Identifier: Apache-2.0 */
/* xcli --host A,B,C COMMAND: asks the servers of several hosts side by side, and shows their answers
 * in that order. A child for each host runs the command, so many at a time that a thousand hosts are
 * no burden. */
#include "xcli/xcli.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_A_TIME 32

struct host {
    char *name; /* as the user gave it */
    int out;    /* the output of its child */
    pid_t child;
    int code;
};

bool xcli_host_valid(const char *host)
{
    return host[0] && !strpbrk(host, "/@?# ") && strlen(host) <= 255;
}

/* NAME or NAME:PORT; an IPv6 address has brackets where a port follows. @return false: the port is none */
static bool aim_at(char *host)
{
    char *colon = strrchr(host, ':');
    uint64_t port;

    g_xcli.socket = NULL;
    g_xcli.address = host;
    if (!colon || strchr(colon, ']') || (colon != strchr(host, ':') && host[0] != '['))
        return true;
    if (xs_str_parse_u64(colon + 1, 10, &port) < 0 || port < 1 || port > 65535)
        return false;
    *colon = 0;
    g_xcli.port = (uint16_t)port;
    return true;
}

static int run_here(struct host *h, xcli_command *run, int argc, char **argv)
{
    int code = XCLI_USAGE;

    if (dup2(h->out, STDOUT_FILENO) < 0)
        return XCLI_UNWRITTEN;
    if (aim_at(h->name))
        code = run(argc, argv);
    else
        fprintf(stderr, "xcli: --host: '%s' has no port\n", h->name);
    return fflush(stdout) == 0 ? code : XCLI_UNWRITTEN;
}

static void begin(struct host *h, xcli_command *run, int argc, char **argv)
{
    h->code = XCLI_UNWRITTEN;
    h->child = -1;
    h->out = (int)syscall(SYS_memfd_create, "xcli", MFD_CLOEXEC); /* glibc has a function for it from 2.27 on */
    if (h->out < 0)
        return;
    h->child = fork();
    if (h->child == 0)
        _exit(run_here(h, run, argc, argv));
}

static void end(struct host *h)
{
    int status;

    if (h->child > 0 && waitpid(h->child, &status, 0) == h->child && WIFEXITED(status))
        h->code = WEXITSTATUS(status);
}

/* One member of a JSON object; null where the host did not answer. */
static void show_json(const struct host *h, bool first)
{
    json_t *name = json_string(h->name), *answer = NULL;
    char *key = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL, *text;

    if (h->code == XCLI_OK && lseek(h->out, 0, SEEK_SET) == 0)
        answer = json_loadfd(h->out, JSON_DECODE_ANY, NULL);
    text = answer ? json_dumps(answer, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    printf("%s%s: %s", first ? "{" : ",\n ", key ? key : "\"?\"", text ? text : "null");
    free(text);
    free(key);
    json_decref(answer);
    json_decref(name);
}

static void show_text(const struct host *h, bool first)
{
    char bytes[4096];
    ssize_t n;

    printf("%s%s:%s\n", first ? "" : "\n", h->name, h->code == XCLI_OK ? "" : " no answer");
    if (h->out < 0 || lseek(h->out, 0, SEEK_SET) < 0)
        return;
    while ((n = read(h->out, bytes, sizeof(bytes))) > 0)
        fwrite(bytes, 1, (size_t)n, stdout);
}

/* @return how many, -1 when one is no host */
static int split(char *list, struct host **ret)
{
    size_t n = 1;
    struct host *hosts;
    char *save = NULL;

    for (const char *c = list; *c; c++)
        n += *c == ',';
    hosts = calloc(n, sizeof(*hosts));
    if (!hosts)
        return -1;
    n = 0;
    for (char *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        if (!xcli_host_valid(name)) {
            fprintf(stderr, "xcli: --host: '%.40s' is no host\n", name);
            free(hosts);
            return -1;
        }
        hosts[n++].name = name;
    }
    *ret = hosts;
    return (int)n;
}

int xcli_on_hosts(char *list, xcli_command *run, int argc, char **argv)
{
    int code = XCLI_OK, n, begun = 0, shown = 0;
    struct host *hosts = NULL;
    bool json;

    n = split(list, &hosts);
    if (n <= 0) {
        if (n == 0)
            fputs("xcli: --host names no host\n", stderr);
        free(hosts);
        return XCLI_USAGE;
    }
    json = g_xcli.json;
    for (int i = 1; i < argc; i++)
        json = json || strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "-j") == 0;
    fflush(stdout);
    for (; shown < n; shown++) {
        struct host *h = &hosts[shown];

        for (; begun < n && begun < shown + AT_A_TIME; begun++)
            begin(&hosts[begun], run, argc, argv);
        end(h);
        if (json)
            show_json(h, shown == 0);
        else
            show_text(h, shown == 0);
        fflush(stdout); /* a child has a copy of the unwritten text, and would write it again */
        if (h->out >= 0)
            close(h->out);
        code = XS_MAX(code, h->code);
    }
    if (json)
        puts("}");
    free(hosts);
    return code;
}
