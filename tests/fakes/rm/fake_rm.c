/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <errno.h>
#include <string.h>

#define FDS 1024

static struct fake_rm_state g = {.lock = PTHREAD_MUTEX_INITIALIZER, .gpu_id = 0x00001b02 /* 0000:1b:02 */};
static int g_files[FDS]; /* 0: not ours */
static int g_next_file;
static void (*g_hook)(int fd, unsigned long request, void *arg);

static int fake_ioctl(int fd, unsigned long request, void *arg)
{
    if (g_hook)
        g_hook(fd, request, arg);
    if (fd < 0 || fd >= FDS || !g_files[fd] || ((request >> 8) & 0xff) != 'F') {
        errno = fd < 0 || fd >= FDS ? EBADF : ENOTTY;
        return -1;
    }
    return fake_rm_request(&g, g_files[fd], request, arg);
}

static bool fake_is_control(int fd)
{
    return fd >= 0 && fd < FDS && g_files[fd];
}

static struct xs_nvrm_fake s_fake = {.ioctl = fake_ioctl, .is_control_device = fake_is_control};

void fake_rm_reset(void)
{
    memset(g.objects, 0, sizeof(g.objects));
    memset(g_files, 0, sizeof(g_files));
    g.n_calls = 0;
    g.complaints = g.deny_times = 0;
    g_hook = NULL;
    s_fake.version = "580.159.04\n";
    xs_nvrm_set_fake(&s_fake);
}

void fake_rm_remove(void)
{
    xs_nvrm_set_fake(NULL);
}

void fake_rm_open(int fd)
{
    g_files[fd] = ++g_next_file;
}

void fake_rm_dup_fd(int fd, int of)
{
    g_files[fd] = g_files[of];
}

void fake_rm_close(int fd)
{
    int file = g_files[fd];

    g_files[fd] = 0;
    for (int i = 0; i < FDS; i++)
        if (g_files[i] == file)
            return;
    fake_rm_file_ends(&g, file);
}

void fake_rm_set_version(const char *version)
{
    s_fake.version = version;
}

void fake_rm_deny(uint32_t command, uint32_t status, unsigned skip, unsigned times)
{
    g.deny_command = command;
    g.deny_skip = skip;
    g.deny_status = status;
    g.deny_times = times;
}

void fake_rm_set_hook(void (*hook)(int fd, unsigned long request, void *arg))
{
    g_hook = hook;
}

size_t fake_rm_calls(const struct fake_rm_call **ret)
{
    *ret = g.calls;
    return g.n_calls;
}

uint64_t fake_rm_slice(uint32_t client, uint32_t group)
{
    struct object *o = fake_rm_find(&g, client, group);

    return o ? o->slice_us : 0;
}

unsigned fake_rm_objects(void)
{
    unsigned n = 0;

    for (int i = 0; i < OBJECTS; i++)
        n += g.objects[i].used;
    return n;
}

unsigned fake_rm_complaints(void)
{
    return g.complaints;
}
