/* SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <sys/ioctl.h>

int program_form;

uint32_t alloc_form(int fd, uint32_t client, uint32_t parent, uint32_t handle, uint32_t object_class, void *params,
                    uint32_t params_bytes, int form, uint32_t *ret_handle)
{
    struct xs_nvrm_alloc a = {.client = client, .parent = parent, .object = handle, .object_class = object_class,
                              .params = (uint64_t)(uintptr_t)params, .params_bytes = params_bytes};
    struct xs_nvrm_alloc_short s = {.client = client, .parent = parent, .object = handle,
                                    .object_class = object_class, .params = (uint64_t)(uintptr_t)params,
                                    .params_bytes = params_bytes};
    struct xs_nvrm_wrapped w = {.escape = XS_NVRM_ESC_ALLOC, .bytes = sizeof(a), .address = (uint64_t)(uintptr_t)&a};

    if (form == 1) {
        assert_int_equal(ioctl(fd, XS_NVRM_IOC_ALLOC_SHORT, &s), 0);
        *ret_handle = s.object;
        return s.status;
    }
    if (form == 2)
        assert_int_equal(ioctl(fd, XS_NVRM_IOC_WRAPPED, &w), 0);
    else
        assert_int_equal(ioctl(fd, XS_NVRM_IOC_ALLOC, &a), 0);
    *ret_handle = a.object;
    return a.status;
}

uint32_t alloc(int fd, uint32_t client, uint32_t parent, uint32_t object_class, void *params, uint32_t bytes)
{
    uint32_t handle = 0;

    assert_int_equal(alloc_form(fd, client, parent, 0, object_class, params, bytes, program_form, &handle), 0);
    assert_int_not_equal(handle, 0);
    return handle;
}

uint32_t alloc_group(int fd, uint32_t client, uint32_t device, uint32_t engine)
{
    struct xs_nvrm_group_params p = {.engine = engine};

    return alloc(fd, client, device, XS_NVRM_CLASS_GROUP, &p, sizeof(p));
}

void rm_free(int fd, uint32_t client, uint32_t handle)
{
    struct xs_nvrm_free f = {.client = client, .object = handle};

    assert_int_equal(ioctl(fd, XS_NVRM_IOC_FREE, &f), 0);
}

void add_channels(struct context *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        c->channels[c->n++] = alloc(c->fd, c->client, c->group, 0xc86f, NULL, 0);
}

void make_context(struct context *c, int fd, unsigned channels)
{
    uint32_t instance = 3;

    c->fd = fd;
    c->client = alloc(fd, 0, 0, XS_NVRM_CLASS_CLIENT, NULL, 0);
    c->device = alloc(fd, c->client, c->client, XS_NVRM_CLASS_DEVICE, &instance, sizeof(instance));
    c->subdevice = alloc(fd, c->client, c->device, XS_NVRM_CLASS_SUBDEVICE, NULL, 0);
    c->copies = alloc_group(fd, c->client, c->device, 9);
    alloc(fd, c->client, c->copies, 0xc86f, NULL, 0);
    c->group = alloc_group(fd, c->client, c->device, 1);
    c->n = 0;
    add_channels(c, channels);
}
