/* SPDX-License-Identifier: Apache-2.0 */
#include "asleep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What getdents64 writes. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

static void close_thread(struct asleep_thread *t)
{
    if (t->state_fd >= 0)
        close(t->state_fd);
    if (t->ran_fd >= 0)
        close(t->ran_fd);
}

void asleep_forget(struct asleep *a)
{
    for (unsigned i = 0; i < a->count; i++)
        close_thread(&a->threads[i]);
    if (a->open)
        close(a->task_fd);
    a->count = 0;
    a->open = false;
    a->stopped = false;
    a->pid = 0;
}

/* @return how many bytes, with a 0 behind them; 0: it is not there, or no longer */
static size_t read_of(const struct asleep *a, long tid, const char *name, int *fd, char *text, size_t size)
{
    ssize_t n;

    if (*fd < 0) {
        char path[64];

        snprintf(path, sizeof(path), "%ld/%s", tid, name);
        *fd = openat(a->task_fd, path, O_RDONLY | O_CLOEXEC);
        if (*fd < 0)
            return 0;
    }
    n = pread(*fd, text, size - 1, 0);
    if (!a->keep_open || n <= 0) {
        close(*fd);
        *fd = -1;
    }
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? (size_t)n : 0;
}

/* From the time on processors and how often it got one. */
static bool ran_of(const struct asleep *a, struct asleep_thread *t, uint64_t *ret)
{
    char text[128], *p = text;
    uint64_t run, slices;

    if (!read_of(a, t->tid, "schedstat", &t->ran_fd, text, sizeof(text)))
        return false;
    run = strtoull(p, &p, 10);
    strtoull(p, &p, 10);
    slices = strtoull(p, &p, 10);
    *ret = run * 3 + slices * 7;
    return true;
}

/* 0: it is not there */
static char state_of(const struct asleep *a, struct asleep_thread *t)
{
    char text[512], *p;

    if (!read_of(a, t->tid, "stat", &t->state_fd, text, sizeof(text)))
        return 0;
    p = strrchr(text, ')');
    return p && p[1] ? p[2] : 0;
}

static bool opened(struct asleep *a, long pid)
{
    char path[32];

    if (a->pid != pid)
        asleep_forget(a);
    if (a->open)
        return true;
    snprintf(path, sizeof(path), "/proc/%ld/task", pid);
    a->task_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    a->open = a->task_fd >= 0;
    a->pid = pid;
    return a->open;
}

/* Puts the thread into place n of the list, which is in the order of the directory. */
static bool place(struct asleep *a, unsigned n, long tid)
{
    unsigned i = n;

    while (i < a->count && a->threads[i].tid != tid)
        i++;
    if (i < a->count) {           /* those in between have ended */
        for (unsigned j = n; j < i; j++)
            close_thread(&a->threads[j]);
        memmove(&a->threads[n], &a->threads[i], (a->count - i) * sizeof(a->threads[0]));
        a->count -= i - n;
        return true;
    }
    if (a->count >= ASLEEP_THREADS)
        return false;
    memmove(&a->threads[n + 1], &a->threads[n], (a->count - n) * sizeof(a->threads[0]));
    a->threads[n] = (struct asleep_thread){.tid = tid, .state_fd = -1, .ran_fd = -1};
    a->count++;
    return true;
}

/* Reads which threads there are. false: there is no such process. */
static bool list(struct asleep *a)
{
    _Alignas(8) char buffer[4096];
    unsigned n = 0;
    long size;

    if (lseek(a->task_fd, 0, SEEK_SET) != 0)
        return false;
    while ((size = syscall(SYS_getdents64, a->task_fd, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < size;) {
            const struct entry *e = (const struct entry *)(buffer + at);
            long tid = atol(e->name);

            if (tid > 0 && !place(a, n++, tid))
                abort();          /* more than any test has */
            at += e->size;
        }
        if (size < (long)sizeof(buffer) / 2)
            break;                /* all of them: the kernel fills the buffer */
    }
    while (a->count > n)
        close_thread(&a->threads[--a->count]);
    return n > 0;
}

enum asleep_answer asleep_look(struct asleep *a, long pid, bool (*but)(long tid))
{
    enum asleep_answer answer = ASLEEP_ALL;

    if (!opened(a, pid))
        return ASLEEP_GONE;
    if (!list(a)) {
        asleep_forget(a);
        return ASLEEP_GONE;
    }
    for (unsigned i = 0; i < a->count && answer != ASLEEP_RUNS; i++) {
        struct asleep_thread *t = &a->threads[i];
        uint64_t ran;
        char state;

        if (but && but(t->tid))
            continue;
        /* Another pass follows anyway: it looks at the state of one that did not run. */
        if (answer == ASLEEP_RAN && t->slept && ran_of(a, t, &ran) && t->ran == ran)
            continue;
        state = state_of(a, t);
        if (!state)
            continue;             /* it ended meanwhile */
        if (t->tid == pid)
            a->stopped = state == 'T';
        if (!strchr("STZX", state)) {
            t->slept = false;
            answer = ASLEEP_RUNS;
        } else if (ran_of(a, t, &ran) && (!t->slept || t->ran != ran)) {
            t->slept = true;
            t->ran = ran;
            answer = ASLEEP_RAN;
        }
    }
    if (!a->keep_open) {
        close(a->task_fd);
        a->open = false;
    }
    return answer;
}
