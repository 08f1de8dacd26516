/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved addresses, memory by handles, and mappings of the latter at the former. The bytes are in the handle: what was
 * unmapped, and mapped elsewhere, is there with its bytes. As the driver was seen (H200, 580) or is documented:
 *
 * - sizes and addresses are multiples of 2 MiB; unmap takes whole mappings; a handle's memory stays while it is mapped;
 * - a mapping has access only after cuMemSetAccess; what a call is to copy or to fill must be there, or it is refused;
 * - a kernel, or a command that was put into a stream before, that touches what is not there ends the context;
 * - neither unmap nor release waits for what runs, and the end of a context frees nothing of it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define GRANULARITY ((size_t)2 << 20)

struct reservation {
    char *from;
    size_t bytes;
    struct reservation *next;
};

struct handle {
    uint64_t name;
    int fd, dev;                  /* dev -1: the host's memory */
    bool rdma;
    size_t bytes;
    unsigned names, mappings;     /* that hold it */
    struct xs_cu_mem_properties properties;
    struct handle *next;
};

struct mapping {
    char *from;
    size_t bytes;
    bool access;
    struct handle *handle;
    struct mapping *next;
};

/* Under fake_mappings. */
static struct reservation *g_reservations;
static struct handle *g_handles;
static struct mapping *g_mappings;

/* For tests: what the next handle is. */
__attribute__((visibility("default"))) uint64_t fake_cuda_next_handle;

static bool whole(uint64_t n)
{
    return n && n % GRANULARITY == 0;
}

/* Under fake_mappings, as all below. */
static struct reservation *reservation_of(const char *from, size_t bytes)
{
    for (struct reservation *r = g_reservations; r; r = r->next)
        if (from >= r->from && from < r->from + r->bytes && bytes <= (size_t)(r->from + r->bytes - from))
            return r;
    return NULL;
}

static struct mapping *mapping_at(const char *p)
{
    for (struct mapping *m = g_mappings; m; m = m->next)
        if (p >= m->from && p < m->from + m->bytes)
            return m;
    return NULL;
}

static struct handle *handle_of(uint64_t name)
{
    for (struct handle *h = g_handles; h; h = h->next)
        if (h->name == name && h->names)
            return h;
    return NULL;
}

static bool absent(const void *at, size_t bytes)
{
    const char *p = at, *end = p + bytes;

    for (struct reservation *r = g_reservations; r; r = r->next) {
        if (p >= r->from + r->bytes || end <= r->from)
            continue;
        for (const char *q = p > r->from ? p : r->from; q < end && q < r->from + r->bytes;) {
            const struct mapping *m = mapping_at(q);

            if (!m || !m->access)
                return true;
            q = m->from + m->bytes;
        }
    }
    return false;
}

static void unhold(struct handle *h)
{
    if (h->names || h->mappings)
        return;
    for (struct handle **at = &g_handles; *at; at = &(*at)->next)
        if (*at == h) {
            *at = h->next;
            break;
        }
    close(h->fd);
    if (h->dev >= 0)
        fake_memory_give(h->dev, h->bytes);
    free(h);
}

API cuMemGetAllocationGranularity(size_t *ret, const struct xs_cu_mem_properties *p, int which)
{
    (void)which;
    if (!ret || !p)
        return XS_CU_INVALID_VALUE;
    *ret = GRANULARITY;
    return 0;
}

API cuMemAddressReserve(CUdeviceptr *ret, size_t bytes, size_t alignment, CUdeviceptr hint, uint64_t flags)
{
    struct reservation *r;
    char *all, *from;
    size_t more = alignment > GRANULARITY ? alignment : GRANULARITY;

    (void)hint;
    FAKE_MAY_FAIL();
    if (!whole(bytes) || flags || (alignment & (alignment - 1)))
        return XS_CU_INVALID_VALUE;
    all = mmap(NULL, bytes + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return XS_CU_OUT_OF_MEMORY;
    from = (char *)(((uintptr_t)all + more - 1) & ~(uintptr_t)(more - 1));
    if (from > all)
        munmap(all, (size_t)(from - all));
    munmap(from + bytes, (size_t)(all + more - from));
    r = malloc(sizeof(*r));
    pthread_mutex_lock(&fake_mappings);
    *r = (struct reservation){from, bytes, g_reservations};
    g_reservations = r;
    fake_absent = absent;
    pthread_mutex_unlock(&fake_mappings);
    *ret = (CUdeviceptr)(uintptr_t)from;
    return 0;
}

API cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
    CUresult r = XS_CU_INVALID_VALUE;

    FAKE_MAY_FAIL();
    pthread_mutex_lock(&fake_mappings);
    for (struct reservation **p = &g_reservations; *p; p = &(*p)->next) {
        struct reservation *it = *p;
        bool used = false;

        if ((CUdeviceptr)(uintptr_t)it->from != at || it->bytes != bytes)
            continue;
        for (const struct mapping *m = g_mappings; m; m = m->next)
            used |= m->from >= it->from && m->from < it->from + it->bytes;
        if (used)
            break;
        *p = it->next;
        munmap(it->from, it->bytes);
        free(it);
        r = 0;
        break;
    }
    pthread_mutex_unlock(&fake_mappings);
    return r;
}

API cuMemCreate(uint64_t *ret, size_t bytes, const struct xs_cu_mem_properties *p, uint64_t flags)
{
    struct handle *h;
    int dev;

    FAKE_MAY_FAIL();
    if (!p || p->type != 1 || !whole(bytes) || flags)
        return XS_CU_INVALID_VALUE;
    dev = p->location.type == 1 ? p->location.id : -1;
    if (dev >= DEVICES)
        return XS_CU_INVALID_VALUE;
    if (dev >= 0 && !fake_memory_take(dev, bytes))
        return XS_CU_OUT_OF_MEMORY;
    h = calloc(1, sizeof(*h));
    h->fd = memfd_create("fake device memory", MFD_CLOEXEC);
    if (h->fd < 0) /* tests deny that to our code */
        h->fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (h->fd < 0 || ftruncate(h->fd, (off_t)bytes) < 0)
        abort();
    h->dev = dev;
    h->bytes = bytes;
    h->names = 1;
    h->properties = *p;
    h->rdma = p->rdma;
    pthread_mutex_lock(&fake_mappings);
    h->name = fake_cuda_next_handle ? fake_cuda_next_handle : (uintptr_t)h;
    fake_cuda_next_handle = 0;
    h->next = g_handles;
    g_handles = h;
    pthread_mutex_unlock(&fake_mappings);
    *ret = h->name;
    return 0;
}

API cuMemRelease(uint64_t handle)
{
    struct handle *h;

    FAKE_MAY_FAIL();
    pthread_mutex_lock(&fake_mappings);
    h = handle_of(handle);
    if (h) {
        h->names--;
        unhold(h);
    }
    pthread_mutex_unlock(&fake_mappings);
    fake_freed();
    return h ? 0 : XS_CU_INVALID_VALUE;
}

/* Documented: the offset is 0. An older fake took any, and no driver refuses more than this one. */
API cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, uint64_t handle, uint64_t flags)
{
    char *from = (char *)(uintptr_t)at;
    struct mapping *m;
    struct handle *h;
    bool ok;

    FAKE_MAY_FAIL();
    if (!whole(bytes) || at % GRANULARITY || flags)
        return XS_CU_INVALID_VALUE;
    pthread_mutex_lock(&fake_mappings);
    h = handle_of(handle);
    ok = h && bytes <= h->bytes && offset <= h->bytes - bytes && offset % GRANULARITY == 0 && reservation_of(from, bytes);
    for (const struct mapping *o = g_mappings; o && ok; o = o->next)
        ok = from + bytes <= o->from || o->from + o->bytes <= from;
    if (ok && mmap(from, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, h->fd, (off_t)offset) == MAP_FAILED)
        abort();
    if (ok) {
        const struct reservation *r = reservation_of(from, bytes);

        m = malloc(sizeof(*m));
        *m = (struct mapping){from, bytes, false, h, g_mappings};
        g_mappings = m;
        h->mappings++;
        fake_block_add((struct fake_block){.from = at, .bytes = bytes, .type = h->dev < 0 ? FAKE_PINNED : FAKE_DEVICE,
                                           .mapped = true, .rdma = h->rdma, .dev = h->dev < 0 ? 0 : h->dev,
                                           .room = (CUdeviceptr)(uintptr_t)r->from, .room_bytes = r->bytes});
    }
    pthread_mutex_unlock(&fake_mappings);
    return ok ? 0 : XS_CU_INVALID_VALUE;
}

/* Whether whole mappings, and nothing else, are there. */
static bool whole_mappings(char *from, size_t bytes)
{
    for (char *p = from; p < from + bytes;) {
        const struct mapping *m = mapping_at(p);

        if (!m || m->from != p || m->bytes > (size_t)(from + bytes - p))
            return false;
        p += m->bytes;
    }
    return bytes > 0;
}

API cuMemSetAccess(CUdeviceptr at, size_t bytes, const struct xs_cu_mem_access *access, size_t count)
{
    char *from = (char *)(uintptr_t)at;
    bool ok;

    FAKE_MAY_FAIL();
    if (!access || !count)
        return XS_CU_INVALID_VALUE;
    pthread_mutex_lock(&fake_mappings);
    ok = whole_mappings(from, bytes);
    for (struct mapping *m = g_mappings; m && ok; m = m->next)
        if (m->from >= from && m->from < from + bytes) {
            m->access = access[0].flags == 3;
            if (mprotect(m->from, m->bytes, m->access ? PROT_READ | PROT_WRITE : PROT_NONE))
                abort();
        }
    pthread_mutex_unlock(&fake_mappings);
    return ok ? 0 : XS_CU_INVALID_VALUE;
}

API cuMemGetAccess(uint64_t *ret, const struct xs_cu_location *where, CUdeviceptr at)
{
    const struct mapping *m;

    (void)where;
    pthread_mutex_lock(&fake_mappings);
    m = mapping_at((const char *)(uintptr_t)at);
    *ret = m && m->access ? 3 : 0;
    pthread_mutex_unlock(&fake_mappings);
    return 0;
}

API cuMemUnmap(CUdeviceptr at, size_t bytes)
{
    char *from = (char *)(uintptr_t)at;
    bool ok;

    FAKE_MAY_FAIL();
    pthread_mutex_lock(&fake_mappings);
    ok = whole_mappings(from, bytes);
    for (struct mapping **p = &g_mappings; *p && ok;) {
        struct mapping *m = *p;

        if (m->from < from || m->from >= from + bytes) {
            p = &m->next;
            continue;
        }
        *p = m->next;
        if (mmap(m->from, m->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
            abort();
        fake_block_forget((CUdeviceptr)(uintptr_t)m->from);
        m->handle->mappings--;
        unhold(m->handle);
        free(m);
    }
    pthread_mutex_unlock(&fake_mappings);
    return ok ? 0 : XS_CU_INVALID_VALUE;
}

API cuMemRetainAllocationHandle(uint64_t *ret, void *at)
{
    const struct mapping *m;

    pthread_mutex_lock(&fake_mappings);
    m = mapping_at(at);
    if (m) {
        m->handle->names++;
        *ret = m->handle->name;
    }
    pthread_mutex_unlock(&fake_mappings);
    return m ? 0 : XS_CU_INVALID_VALUE;
}

API cuMemGetAllocationPropertiesFromHandle(struct xs_cu_mem_properties *ret, uint64_t handle)
{
    const struct handle *h;

    pthread_mutex_lock(&fake_mappings);
    h = handle_of(handle);
    if (h)
        *ret = h->properties;
    pthread_mutex_unlock(&fake_mappings);
    return h ? 0 : XS_CU_INVALID_VALUE;
}

API cuMemExportToShareableHandle(void *ret, uint64_t handle, int type, uint64_t flags)
{
    const struct handle *h;
    int fd = -1;

    (void)flags;
    pthread_mutex_lock(&fake_mappings);
    h = handle_of(handle);
    if (h && type == 1 && h->properties.handle_types & 1)
        fd = dup(h->fd);
    pthread_mutex_unlock(&fake_mappings);
    if (fd < 0)
        return XS_CU_INVALID_VALUE;
    memcpy(ret, &fd, sizeof(fd));
    return 0;
}

/* For tests: bytes that the device has given away, handles and mappings. */
void fake_cuda_memory(int dev, size_t *ret_bytes, unsigned *ret_handles, unsigned *ret_mappings)
    __attribute__((visibility("default")));
void fake_cuda_memory(int dev, size_t *ret_bytes, unsigned *ret_handles, unsigned *ret_mappings)
{
    fake_memory_total(dev, ret_bytes);
    *ret_handles = *ret_mappings = 0;
    pthread_mutex_lock(&fake_mappings);
    for (const struct handle *h = g_handles; h; h = h->next)
        ++*ret_handles;
    for (const struct mapping *m = g_mappings; m; m = m->next)
        ++*ret_mappings;
    pthread_mutex_unlock(&fake_mappings);
}
