/* SPDX-License-Identifier: Apache-2.0 */
/* A user asks for all its queues on as many connections as it may have, and does not read the answers. */
#include "scene.h"

#include <stdio.h>
#include <unistd.h>

#define CONNECTIONS 128
#define CLIENTS     4
#define QUEUES      14000u /* of each: within the share of one user */

static int ask_and_leave_it(const struct scene *s)
{
    static const char question[] = "GET /xqueues HTTP/1.1\r\nHost: localhost\r\n\r\n";
    int fd = raw_http_connect(&s->server, 0);

    if (fd >= 0 && write(fd, question, sizeof(question) - 1) > 0)
        return fd;
    close(fd);
    return -1;
}

static void attack(struct scene *s)
{
    struct raw_client c[CLIENTS];

    for (unsigned i = 0; i < CLIENTS; i++) {
        raw_join(&c[i], s->server.socket);
        raw_add_many(&c[i], QUEUES, DEVICE + 1, 0);
    }
    for (int i = 0; i < CONNECTIONS; i++)
        s->shared->notes[1] += ask_and_leave_it(s) >= 0;
    s->shared->notes[0] = 1;
    pause();
}

static long resident_mb(pid_t pid)
{
    char path[40], line[128];
    long kb = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    f = fopen(path, "r");
    while (f && fgets(line, sizeof(line), f))
        sscanf(line, "VmHWM: %ld", &kb);
    if (f)
        fclose(f);
    return kb / 1024;
}

int main(void)
{
    struct scene s;
    int other, bad;
    long mb;

    scene_begin(&s);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    sleep(3);
    other = scene_probe(&s, HELPER, scene_ask);
    mb = resident_mb(s.server.pid);
    bad = scene_end(&s, "http_unread", 1, 50);
    printf("http_unread: %d answers, another user %s, xserver used %ld MB\n", (int)s.shared->notes[1],
           other ? "is NOT ANSWERED" : "is answered", mb);
    return bad || other || mb > 512;
}
