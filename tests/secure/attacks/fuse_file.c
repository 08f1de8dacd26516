/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a file system whose owner never answers (FUSE), passed as what xserver expects: the page of a program, a channel
 * group's descriptors, and with a message of an unknown kind. To ask such a file for its size, or to close it, waits for as
 * long as the owner likes. */
#include "scene.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char g_folder[96];
static int g_device;

static void answer(int device, const struct fuse_in_header *in, const void *data, size_t n, int error)
{
    char out[512];
    struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + n), .error = error, .unique = in->unique};

    memcpy(out, &head, sizeof(head));
    if (n)
        memcpy(out + sizeof(head), data, n);
    if (write(device, out, head.len) < 0 && errno == ENODEV)
        _exit(0);
}

static void fill(struct fuse_attr *a, uint64_t node)
{
    a->ino = node;
    a->mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0666;
    a->nlink = 1;
    a->blksize = 4096;
}

/* Answers what opening a file needs, and nothing else. */
static void owner(int device)
{
    static char in[1 << 20];

    for (;;) {
        ssize_t n = read(device, in, sizeof(in));
        const struct fuse_in_header *h = (const void *)in;
        struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
        struct fuse_entry_out entry = {.nodeid = 2};
        struct fuse_attr_out attr = {.attr_valid = 0};
        struct fuse_open_out open_out = {.fh = 1};

        if (n < 0 && errno == EINTR)
            continue;
        if (n < (ssize_t)sizeof(*h))
            _exit(0);
        switch (h->opcode) {
        case FUSE_INIT:
            answer(device, h, &init, sizeof(init), 0);
            break;
        case FUSE_LOOKUP:
            fill(&entry.attr, 2);
            answer(device, h, &entry, sizeof(entry), 0);
            break;
        case FUSE_GETATTR:
            if (h->nodeid == 1) {
                fill(&attr.attr, 1);
                answer(device, h, &attr, sizeof(attr), 0);
            }
            break;
        case FUSE_OPEN:
            answer(device, h, &open_out, sizeof(open_out), 0);
            break;
        default:
            break; /* for ever */
        }
    }
}

static void attack(struct scene *s)
{
    char path[128];
    struct xs_wire_head m = scene_unknown();

    close(g_device); /* whoever has it keeps the file system alive */
    snprintf(path, sizeof(path), "%s/file", g_folder);
    while (!s->shared->stop) {
        struct raw_client c;
        union xs_msg hello;
        int fds[2] = {open(path, O_RDWR), open(path, O_RDWR)};

        if (fds[0] < 0 || fds[1] < 0)
            _exit(1);
        s->shared->notes[0]++;
        raw_connect(&c, s->server.socket);
        raw_hello_fill(&c, &hello);
        scene_send(c.fd, &m, sizeof(m), fds, 2);
        hello.hello.head.id = XS_MSG_hello;
        hello.hello.head.bytes = sizeof(hello.hello);
        scene_send(c.fd, &hello, sizeof(hello.hello), fds, 2);
        usleep(20000);
        /* its own closing waits, too: it does none */
    }
    pause();
}

int main(void)
{
    struct scene s;
    char options[128];
    int bad;
    pid_t pid;

    scene_begin(&s);
    g_device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(g_folder, sizeof(g_folder), "%s/fuse", s.server.dir);
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", g_device);
    if (g_device < 0 || mkdir(g_folder, 0755) < 0 || mount("attack", g_folder, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        printf("skipped: FUSE cannot be mounted here: %s\n", strerror(errno));
        rmdir(g_folder);
        scene_end(&s, "fuse_file", 0, 1e9);
        return 77;
    }
    pid = fork();
    if (pid == 0)
        owner(g_device);
    scene_attack(&s, ATTACKER, attack);
    sleep(1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(g_device); /* the last one: all who wait for the owner go on */
    umount2(g_folder, MNT_DETACH);
    rmdir(g_folder);
    if (!s.shared->notes[0])
        puts("no file was passed");
    bad = scene_end(&s, "fuse_file", 0, 50) || !s.shared->notes[0];
    return bad;
}
