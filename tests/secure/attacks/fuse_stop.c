/* SPDX-License-Identifier: Apache-2.0 */
/* A file of a file system whose owner never answers (FUSE) is passed with a message of an unknown kind.
 * The thread that closes it waits in the kernel, where no signal ends it: can xserver be ended? */
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
    struct raw_client c;
    int fd;

    close(g_device); /* whoever has it keeps the file system alive */
    snprintf(path, sizeof(path), "%s/file", g_folder);
    fd = open(path, O_RDWR);
    raw_join(&c, s->server.socket);
    if (fd >= 0 && scene_send(c.fd, &m, sizeof(m), &fd, 1) == 0)
        s->shared->notes[0] = 1;
    pause(); /* its own closing would wait, too */
}

/* @return whether it joined an xserver on that socket within five seconds */
static bool joins(const struct scene *s)
{
    struct raw_client c;
    union xs_msg m;

    for (int i = 0; i < 50; i++, usleep(100000)) {
        int fd = xs_socket_connect(s->server.socket, XS_NS_PER_S);

        if (fd < 0)
            continue;
        close(fd);
        raw_connect(&c, s->server.socket);
        raw_hello_fill(&c, &m);
        return raw_hello(&c, &m, (int[]){c.page_fd, c.bell}, 2) == 0;
    }
    return false;
}

int main(void)
{
    struct scene s;
    char options[128];
    bool replaced;
    pid_t pid, next;

    scene_begin(&s);
    g_device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(g_folder, sizeof(g_folder), "%s/fuse", s.server.dir);
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", g_device);
    if (g_device < 0 || mkdir(g_folder, 0755) < 0 || mount("attack", g_folder, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        printf("skipped: FUSE cannot be mounted here: %s\n", strerror(errno));
        rmdir(g_folder);
        scene_end(&s, "fuse_stop", 0, 1e9);
        return 77;
    }
    pid = fork();
    if (pid == 0)
        owner(g_device);
    scene_attack(&s, ATTACKER, attack);
    scene_await(&s, 0, 1);
    usleep(200000);
    s.shared->stop = 1;
    kill(s.server.pid, SIGTERM);
    usleep(500000); /* the thread that closes the file waits on: the process may stay */
    next = fork();
    if (next == 0) {
        execl(XSERVER_PATH, "xserver", "--socket", s.server.socket, "--port", "0", NULL);
        _exit(127);
    }
    replaced = joins(&s);
    kill(next, SIGTERM);
    waitpid(next, NULL, 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(g_device); /* the last one: all who wait for the owner go on */
    umount2(g_folder, MNT_DETACH);
    rmdir(g_folder);
    kill(s.attackers[0], SIGKILL);
    waitpid(s.attackers[0], NULL, 0);
    kill(s.victim, SIGKILL);
    waitpid(s.victim, NULL, 0);
    waitpid(s.server.pid, NULL, 0);
    printf("fuse_stop: after SIGTERM, another xserver %s\n", replaced ? "takes over" : "CANNOT take over");
    return !replaced;
}
