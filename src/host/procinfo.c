/* SPDX-License-Identifier: Apache-2.0 */
#include "host/procinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ssize_t read_proc(int32_t pid, const char *what, char *buf, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        n = -errno;
    close(fd);
    buf[n > 0 ? n : 0] = 0;
    return n;
}

/* Bytes of the UTF-8 character at s, 0 when it is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 0;

    if (s[0] < 0x80)
        return 1;
    if (n == 0 || s[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0; /* overlong, surrogate, beyond the last one */
    return n;
}

void xs_text_clean(char *text)
{
    unsigned char *s = (unsigned char *)text;

    while (*s) {
        size_t n = utf8_length(s);

        if (n == 0 || *s < 0x20 || *s == 0x7f || (s[0] == 0xc2 && s[1] < 0xa0)) {
            *s++ = '?';
            continue;
        }
        s += n;
    }
}

void xs_proc_name(int32_t pid, char *ret_text, size_t size)
{
    char comm[32];
    ssize_t n = pid > 0 ? read_proc(pid, "comm", comm, sizeof(comm)) : -ESRCH;

    if (n > 0 && comm[n - 1] == '\n')
        comm[--n] = 0;
    snprintf(ret_text, size, n > 0 ? "[%s]" : "[?]", comm);
    xs_text_clean(ret_text);
}

void xs_proc_cmdline(int32_t pid, char *ret_text, size_t size)
{
    ssize_t n = pid > 0 ? read_proc(pid, "cmdline", ret_text, size) : -ESRCH;

    if (n <= 0) {
        xs_proc_name(pid, ret_text, size);
        return;
    }
    while (n > 0 && ret_text[n - 1] == 0)
        n--;
    for (ssize_t i = 0; i < n; i++)
        if (ret_text[i] == 0)
            ret_text[i] = ' ';
    xs_text_clean(ret_text);
}

int xs_proc_cpu_class_parse(const char *stat, int32_t *ret_class)
{
    /* the name may hold blanks and brackets: the fields start behind the last bracket, with the
     * third; nice is the 19th, the real-time priority the 40th, the policy the 41st */
    const char *at = strrchr(stat, ')');
    long field[42] = {0};

    if (!at)
        return -EINVAL;
    at += 1;
    for (int i = 3; i <= 41; i++) {
        char *end;

        while (*at == ' ')
            at++;
        if (i == 3) { /* the state is a letter */
            if (*at == 0)
                return -EINVAL;
            at++;
            continue;
        }
        field[i] = strtol(at, &end, 10);
        if (end == at)
            return -EINVAL;
        at = end;
    }
    switch (field[41]) {
    case 1: /* SCHED_FIFO, SCHED_RR */
    case 2:
        *ret_class = 1000 + (int32_t)field[40];
        return 0;
    case 6: /* SCHED_DEADLINE comes before all */
        *ret_class = 1100;
        return 0;
    case 5: /* SCHED_IDLE: less than any nice value */
        *ret_class = -20;
        return 0;
    default:
        *ret_class = -(int32_t)field[19];
        return 0;
    }
}

int xs_proc_cpu_class(int32_t pid, int32_t *ret_class)
{
    char stat[1024];
    ssize_t n = pid > 0 ? read_proc(pid, "stat", stat, sizeof(stat)) : -ESRCH;

    if (n < 0)
        return (int)n;
    return xs_proc_cpu_class_parse(stat, ret_class);
}

bool xs_proc_is_stopped_parse(const char *stat)
{
    const char *at = strrchr(stat, ')'); /* a name may have anything in it */

    return at && at[1] == ' ' && (at[2] == 'T' || at[2] == 't');
}

bool xs_proc_is_stopped(int32_t pid)
{
    char stat[1024];

    return pid > 0 && read_proc(pid, "stat", stat, sizeof(stat)) > 0 && xs_proc_is_stopped_parse(stat);
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* The number of a pod is 36 characters in five groups, with - or _ between them. */
static bool take_pod(const char *at, char *ret)
{
    for (int i = 0; i < 36; i++) {
        bool gap = i == 8 || i == 13 || i == 18 || i == 23;

        if (gap ? at[i] != '-' && at[i] != '_' : !is_hex(at[i]))
            return false;
    }
    for (int i = 0; i < 36; i++)
        ret[i] = at[i] == '_' ? '-' : at[i];
    ret[36] = 0;
    return true;
}

void xs_proc_container_parse(const char *cgroup, struct xs_container *ret)
{
    size_t run = 0;

    memset(ret, 0, sizeof(*ret));
    for (const char *at = cgroup; *at; at++) {
        if (!strncmp(at, "pod", 3) && !ret->pod[0])
            (void)take_pod(at + 3, ret->pod);
        run = is_hex(*at) ? run + 1 : 0;
        if (run == 64 && !is_hex(at[1])) { /* the innermost one stands last */
            memcpy(ret->id, at - 63, sizeof(ret->id) - 1);
            ret->id[sizeof(ret->id) - 1] = 0;
        }
    }
}

void xs_proc_container(int32_t pid, struct xs_container *ret)
{
    char text[4096] = "";

    memset(ret, 0, sizeof(*ret));
    if (pid > 0 && read_proc(pid, "cgroup", text, sizeof(text)) > 0)
        xs_proc_container_parse(text, ret);
}

int xs_proc_cgroup_parse(const char *text, char *ret_path, size_t size)
{
    const char *at = !strncmp(text, "0::/", 4) ? text : strstr(text, "\n0::/");
    size_t n;

    if (!at)
        return -ENOENT;
    at += *at == '\n' ? 4 : 3; /* to the slash */
    n = strcspn(at, "\n");
    if (n >= size || !at[n]) /* cut: a longer name might be another one */
        return -ENAMETOOLONG;
    memcpy(ret_path, at, n);
    ret_path[n] = 0;
    return 0;
}

int xs_proc_cgroup(int32_t pid, char *ret_path, size_t size)
{
    char text[4096] = "";
    ssize_t n = pid > 0 ? read_proc(pid, "cgroup", text, sizeof(text)) : -ESRCH;

    return n < 0 ? (int)n : xs_proc_cgroup_parse(text, ret_path, size);
}
