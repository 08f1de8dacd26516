/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrm/channel_group.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_statx
#if defined(__x86_64__)
#define SYS_statx 332
#elif defined(__aarch64__)
#define SYS_statx 291
#endif
#endif
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif

#define CONTROL_MAJOR 195u        /* nv.h: NV_MAJOR_DEVICE_NUMBER; the control device's minor is 255 */
#define CONTROL_MINOR 255u

static _Atomic(const struct xs_nvrm_fake *) s_fake; /* writer: a test, before anything else */

void xs_nvrm_set_fake(const struct xs_nvrm_fake *fake)
{
    atomic_store(&s_fake, fake);
}

int xs_nvrm_pass(int fd, unsigned long request, void *arg, int (*next)(int fd, unsigned long request, void *arg))
{
    /* relaxed: set once, before any other thread */
    const struct xs_nvrm_fake *fake = atomic_load_explicit(&s_fake, memory_order_relaxed);

    if (XS_UNLIKELY(fake != NULL))
        return fake->ioctl(fd, request, arg);
    return next(fd, request, arg);
}

static int kernel_ioctl(int fd, unsigned long request, void *arg)
{
    return (int)syscall(SYS_ioctl, fd, request, arg);
}

int xs_nvrm_ioctl(int fd, unsigned long request, void *arg)
{
    return xs_nvrm_pass(fd, request, arg, kernel_ioctl);
}

/* ---- controls ---- */

static int result_of(uint32_t status)
{
    switch (status) {
    case XS_NVRM_OK:
        return 0;
    case XS_NVRM_ERR_PERMISSIONS:
    case XS_NVRM_ERR_INVALID_ARGUMENT:
    case XS_NVRM_ERR_NOT_SUPPORTED:
        return -EPERM;
    case XS_NVRM_ERR_INVALID_CLIENT:
    case XS_NVRM_ERR_INVALID_OBJECT:
    case XS_NVRM_ERR_INVALID_HANDLE:
    case XS_NVRM_ERR_OBJECT_NOT_FOUND:
        return -ESTALE;
    default:
        return -EIO;
    }
}

static int control(int fd, uint32_t client, uint32_t object, uint32_t command, void *params, uint32_t bytes,
                   uint32_t *ret_status)
{
    struct xs_nvrm_control c = {.client = client, .object = object, .command = command,
                                .params = (uint64_t)(uintptr_t)params, .params_bytes = bytes};
    int saved = errno, r = 0;

    if (xs_nvrm_ioctl(fd, XS_NVRM_IOC_CONTROL, &c) < 0)
        r = errno == EACCES ? -EPERM : -errno;
    errno = saved;
    if (ret_status)
        *ret_status = c.status;
    return r ? r : result_of(c.status);
}

int xs_nvrm_set_slice(const struct xs_nvrm_group *g, uint64_t us, uint32_t *ret_status)
{
    struct xs_nvrm_timeslice p = {.us = us};

    return control(g->group_fd, g->group_client, g->group, XS_NVRM_CMD_SET_TIMESLICE, &p, sizeof(p), ret_status);
}

int xs_nvrm_get_slice(const struct xs_nvrm_group *g, uint64_t *ret_us, uint32_t *ret_status)
{
    struct xs_nvrm_timeslice p = {0};
    int r = control(g->group_fd, g->group_client, g->group, XS_NVRM_CMD_GET_TIMESLICE, &p, sizeof(p), ret_status);

    if (r == 0)
        *ret_us = p.us;
    return r;
}

int xs_nvrm_pci_address(const struct xs_nvrm_group *g, uint32_t *ret_address, uint32_t *ret_status)
{
    struct xs_nvrm_gpu_id p = {0};
    int r = control(g->subdevice_fd, g->subdevice_client, g->subdevice, XS_NVRM_CMD_GPU_ID, &p, sizeof(p), ret_status);

    if (r == 0)
        *ret_address = (p.gpu_id & 0xffffff00u) | (p.gpu_id & 0x1fu) << 3;
    return r;
}

/* ---- facts ---- */

bool xs_nvrm_is_control_device(int fd)
{
    const struct xs_nvrm_fake *fake = atomic_load_explicit(&s_fake, memory_order_relaxed);
    struct statx st;
    int saved = errno;
    long r;

    if (fake)
        return fake->is_control_device(fd);
    memset(&st, 0, sizeof(st));
    /* without asking the owner: a file of a FUSE file system answers when its owner likes */
    r = syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st);
    errno = saved;
    return r == 0 && (st.stx_mode & 0170000) == 0020000 && st.stx_rdev_major == CONTROL_MAJOR &&
           st.stx_rdev_minor == CONTROL_MINOR;
}

bool xs_nvrm_channel_known(uint32_t object_class)
{
    switch (object_class) {
#define X(number, family) case number:
        XS_NVRM_CHANNEL_CLASSES(X)
#undef X
        return true;
    default:
        return false;
    }
}

/* Every structure of nvrm_layout.h is the same in the headers of these releases. */
#define FIRST_MAJOR 535u
#define LAST_MAJOR  595u

/* @return 0: it is no version */
static unsigned major_of(const char *version)
{
    unsigned major = 0;
    const char *p = version;

    for (; *p >= '0' && *p <= '9' && major < 10000; p++)
        major = major * 10 + (unsigned)(*p - '0');
    return p != version && *p == '.' ? major : 0;
}

bool xs_nvrm_version_known(const char *version)
{
    unsigned major = major_of(version);

    return major >= FIRST_MAJOR && major <= LAST_MAJOR;
}

bool xs_nvrm_version_newer(const char *version)
{
    return major_of(version) > LAST_MAJOR;
}

int xs_nvrm_version(char *ret_text, size_t size)
{
    const struct xs_nvrm_fake *fake = atomic_load_explicit(&s_fake, memory_order_relaxed);
    char text[64];
    size_t n = 0;
    ssize_t got;
    int fd, saved = errno;

    if (fake) {
        got = (ssize_t)XS_MIN(strlen(fake->version), sizeof(text));
        memcpy(text, fake->version, (size_t)got);
    } else {
        fd = open("/sys/module/nvidia/version", O_RDONLY | O_CLOEXEC);
        got = fd < 0 ? -1 : read(fd, text, sizeof(text));
        if (fd >= 0)
            close(fd);
    }
    errno = saved;
    if (got <= 0)
        return -ENOENT;
    while (n < (size_t)got && n + 1 < size && (text[n] == '.' || (text[n] >= '0' && text[n] <= '9'))) {
        ret_text[n] = text[n];
        n++;
    }
    if (size)
        ret_text[n] = 0;
    return n ? 0 : -ENOENT;
}
