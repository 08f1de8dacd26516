/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose command lines cannot be read: the page where the arguments lie is memory that waits for a handler
 * (userfaultfd), and there is none. What reads it waits for as long as the program lives. */
#include "scene.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int g_handler = -1; /* root made it: the system may keep others from it */

static int hide_arguments(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
    char text[4096], *at = strrchr(text, ')');
    unsigned long field = 0;
    FILE *f = fopen("/proc/self/stat", "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    void *page;

    text[n] = 0;
    if (f)
        fclose(f);
    at = strrchr(text, ')');
    for (int i = 3; at && i <= 48; i++) { /* arg_start is the 48th field */
        at = strchr(at + 1, ' ');
        field = at ? strtoul(at + 1, NULL, 10) : 0;
    }
    if (!field || ioctl(g_handler, UFFDIO_API, &api) < 0)
        return -1;
    page = mmap((void *)(field & ~4095ul), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    range.range.start = (unsigned long)page;
    range.range.len = 4096;
    return page == MAP_FAILED ? -1 : ioctl(g_handler, UFFDIO_REGISTER, &range);
}

static void hide_and_join(struct scene *s)
{
    struct raw_client c;

    g_handler = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    scene_become(ATTACKER);
    if (g_handler < 0 || hide_arguments() < 0) {
        s->shared->notes[0] = 1;
        _exit(1);
    }
    raw_join(&c, s->server.socket);
    s->shared->notes[1]++;
    pause();
}

int main(void)
{
    struct scene s;

    scene_begin(&s);
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();

        if (pid == 0)
            hide_and_join(&s);
        s.attackers[s.n_attackers++] = pid;
        usleep(50000);
    }
    usleep(500000);
    if (s.shared->notes[0]) {
        puts("skipped: this kernel has no userfaultfd");
        scene_end(&s, "cmdline", 0, 1e9);
        return 77;
    }
    if (s.shared->notes[1] != 10)
        printf("only %d of 10 joined\n", s.shared->notes[1]);
    return scene_end(&s, "cmdline", 2, 50) || s.shared->notes[1] != 10;
}
