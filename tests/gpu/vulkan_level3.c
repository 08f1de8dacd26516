/* SPDX-License-Identifier: Apache-2.0 */
/* Whether NVIDIA's driver interrupts the work of a Vulkan program by its channel groups: an ordinary Vulkan
 * program that also sees its own calls to the kernel's driver (run_vulkan's part `level3` starts two of them).
 * It knows nothing of a scheduler. It obeys lines on its standard input, each with one JSON object:
 *
 *   groups                    what it made in the kernel's driver, and whether level 3 knows all of it
 *   pipe US AHEAD WIDE        begins to submit kernels of US, so many in flight, each one dispatch of one thread, or (WIDE 1)
 *                             beside one that fills the device
 *   count                     submissions completed so far
 *   stop                      ends that: whether the result is right
 *   one US                    a submission of one dispatch: how long it took, whether its result is right
 *   bursts US COUNT GAP_US    so many of them, with pauses: P50, P99 and the longest
 *   slice US                  of all its channel groups, 0: the driver's own
 *   toggle US COUNT           that slice and the driver's own in turn, so often
 *   off HOLD_US COUNT         takes its channels off the device and brings them back, so often: what the calls took, what the
 *                             device completed meanwhile, and whether the results are right
 *   during HOLD_US LONG_US    the same in the middle of a dispatch of LONG_US: how much longer it took
 */
#include "../vulkan/vk_program.h"

#include "hal/cuda/rm/rm.h"
#include "shim/common/ioctl_next.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

/* ---- what the driver's library asks of the kernel's ---- */

#define SEEN_MOST 400
static struct {
    int fd;
    uint32_t client, parent, object, kind, engine, status;
    uint64_t slice_us;
} s_seen[SEEN_MOST];
static _Atomic unsigned s_n_seen;
static _Atomic unsigned long s_calls, s_watched;

static void note(int fd, unsigned long number, const void *arg)
{
    const struct xs_nvrm_wrapped *w = arg;
    const struct xs_nvrm_alloc *a = number == XS_NVRM_IOC_WRAPPED ? (const void *)(uintptr_t)w->address : arg;
    uint32_t escape = number == XS_NVRM_IOC_WRAPPED ? w->escape : number & 0xff;
    uint32_t bytes = number == XS_NVRM_IOC_WRAPPED ? w->bytes : (uint32_t)_IOC_SIZE(number);
    unsigned at;

    if (escape != XS_NVRM_ESC_ALLOC || bytes < sizeof(struct xs_nvrm_alloc_short) ||
        (at = atomic_fetch_add(&s_n_seen, 1)) >= SEEN_MOST)
        return;
    s_seen[at].fd = fd;
    s_seen[at].client = a->client;
    s_seen[at].parent = a->parent;
    s_seen[at].object = a->object;
    s_seen[at].kind = a->object_class;
    s_seen[at].status =
        bytes == sizeof(*a) ? a->status : ((const struct xs_nvrm_alloc_short *)(const void *)a)->status;
    if (a->object_class == XS_NVRM_CLASS_GROUP && a->params)
        s_seen[at].engine = ((const struct xs_nvrm_group_params *)(uintptr_t)a->params)->engine;
}

XS_EXPORT int ioctl(int fd, xs_ioctl_request_t request, ...);

XS_EXPORT int ioctl(int fd, xs_ioctl_request_t request, ...)
{
    unsigned long number = (unsigned long)(unsigned)request;
    va_list ap;
    void *arg;
    int r;

    va_start(ap, request);
    arg = va_arg(ap, void *);
    va_end(ap);
    atomic_fetch_add(&s_calls, 1);
    if (!xs_rm_wants(number))
        return xs_ioctl_next(fd, request, arg);
    atomic_fetch_add(&s_watched, 1);
    xs_rm_observe_before(fd, number, arg);
    r = xs_ioctl_next(fd, request, arg);
    if (r >= 0)
        note(fd, number, arg);
    (void)xs_rm_observe(fd, number, arg, r);
    return r;
}

void xs_rm_group_made(void)
{
}

static void say_groups(void)
{
    struct xs_rm_counts n;
    struct xs_rm_group g;
    const char *sep = "";

    xs_rm_counts(&n);
    printf("{\"calls\": %lu, \"watched\": %lu, \"level\": %d, \"why\": \"%s\", \"groups\": %llu, "
           "\"other_groups\": %llu, \"channels\": %llu, "
           "\"made\": [",
           atomic_load(&s_calls), atomic_load(&s_watched), xs_rm_level(), xs_rm_why(),
           (unsigned long long)n.groups, (unsigned long long)n.other_groups, (unsigned long long)n.channels);
    for (unsigned i = 0; i < atomic_load(&s_n_seen) && i < SEEN_MOST; i++) {
        uint32_t kind = s_seen[i].kind;
        int told = kind == XS_NVRM_CLASS_GROUP || ((kind & 0xff) == 0x6f && kind > 0xff) ||
                   kind == XS_NVRM_CLASS_DEVICE || kind == XS_NVRM_CLASS_SUBDEVICE ||
                   kind == XS_NVRM_CLASS_CLIENT || kind <= 1 || (kind & 0xff) == 0xc0 ||
                   (kind & 0xff) == 0x97 || (kind & 0xff) == 0xb5;

        if (told) {
            printf("%s{\"class\": \"%#x\", \"client\": \"%#x\", \"parent\": \"%#x\", \"object\": \"%#x\", "
                   "\"engine\": %u, \"status\": %u}",
                   sep, kind, s_seen[i].client, s_seen[i].parent, s_seen[i].object, s_seen[i].engine,
                   s_seen[i].status);
            sep = ", ";
        }
    }
    printf("], \"slices\": [");
    sep = "";
    for (uint32_t i = 0; xs_rm_group_get(i, &g) == 0; i++) {
        uint32_t address = 0;
        uint64_t us = 0;
        int r = xs_rm_group_facts(&g, &address, &us);

        printf("%s{\"group\": \"%#x\", \"channels\": %u, \"result\": %d, \"address\": \"%#x\", \"us\": %llu}",
               sep, g.handles.group, g.n_channels, r, address, (unsigned long long)us);
        sep = ", ";
    }
    printf("]}\n");
}

/* ---- controls ---- */

static int is_group(unsigned i)
{
    return s_seen[i].kind == XS_NVRM_CLASS_GROUP && s_seen[i].status == 0 &&
           s_seen[i].engine >= XS_NVRM_ENGINE_FIRST_COMPUTE &&
           s_seen[i].engine <= XS_NVRM_ENGINE_LAST_COMPUTE;
}

/* Sets the slice of each compute group of this process. At level 3 XSched's own code does it. Below level 3 this
 * function goes through the groups that were made, and skips those that the driver no longer knows. */
static int set_slices(uint64_t us)
{
    int worst = -ENOENT;

    if (xs_rm_level() == 3)
        return xs_rm_set_slices(UINT32_MAX, us);
    for (unsigned i = 0; i < atomic_load(&s_n_seen) && i < SEEN_MOST; i++) {
        struct xs_nvrm_group g = {.group_fd = s_seen[i].fd,
                                  .group_client = s_seen[i].client,
                                  .group = s_seen[i].object};
        int r = is_group(i) ? 0 : -ESTALE;

        if (r == 0 && !s_seen[i].slice_us)
            r = xs_nvrm_get_slice(&g, &s_seen[i].slice_us, NULL);
        if (r == 0)
            r = xs_nvrm_set_slice(&g, us ? us : s_seen[i].slice_us, NULL);
        if (r != -ESTALE)
            worst = r < 0 ? r : worst == -ENOENT ? 0 : worst;
    }
    return worst;
}

/* ctrl2080fifo.h, NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS: XSched itself uses it no more (decision 0010). */
#define CMD_DISABLE_CHANNELS 0x2080110bu
struct disable {
    uint8_t disable, reserved0[3];
    uint32_t channels;
    uint8_t only_scheduling, rewind, reserved1[6];
    uint64_t event;
    uint32_t clients[64], handles[64];
};

/* The same without level 3: each channel that it ever made, by itself. */
static int switch_seen(int off)
{
    unsigned n = atomic_load(&s_n_seen) < SEEN_MOST ? atomic_load(&s_n_seen) : SEEN_MOST, sub;
    int worst = -1;

    for (unsigned i = 0; i < n; i++) {
        struct disable p = {.disable = (uint8_t)off, .channels = 1};
        struct xs_nvrm_control c = {.command = CMD_DISABLE_CHANNELS,
                                    .params = (uint64_t)(uintptr_t)&p,
                                    .params_bytes = sizeof(p)};

        if ((s_seen[i].kind & 0xff) != 0x6f || s_seen[i].kind <= 0xff || s_seen[i].status)
            continue;
        for (sub = 0; sub < n &&
                      (s_seen[sub].kind != XS_NVRM_CLASS_SUBDEVICE || s_seen[sub].client != s_seen[i].client);
             sub++)
            ;
        if (sub == n)
            continue;
        p.clients[0] = s_seen[i].client;
        p.handles[0] = s_seen[i].object;
        c.client = s_seen[sub].client;
        c.object = s_seen[sub].object;
        if (xs_nvrm_ioctl(s_seen[sub].fd, XS_NVRM_IOC_CONTROL, &c) < 0)
            return 1000 + errno;
        worst = c.status != XS_NVRM_ERR_OBJECT_NOT_FOUND && (int)c.status > worst ? (int)c.status : worst;
    }
    return worst;
}

/* @return the worst status of all groups; -1: none */
static int switch_channels(int off)
{
    static struct xs_rm_group g;
    int worst = -1;

    if (xs_rm_level() != 3)
        return switch_seen(off);
    for (uint32_t i = 0; xs_rm_group_get(i, &g) == 0; i++) {
        struct disable p = {.disable = (uint8_t)off, .channels = g.n_channels < 64 ? g.n_channels : 64};
        struct xs_nvrm_control c = {.client = g.handles.subdevice_client,
                                    .object = g.handles.subdevice,
                                    .command = CMD_DISABLE_CHANNELS,
                                    .params = (uint64_t)(uintptr_t)&p,
                                    .params_bytes = sizeof(p)};

        for (uint32_t k = 0; k < p.channels; k++) {
            p.clients[k] = g.handles.group_client;
            p.handles[k] = g.channels[k];
        }
        if (p.channels == 0)
            continue;
        if (xs_nvrm_ioctl(g.handles.subdevice_fd, XS_NVRM_IOC_CONTROL, &c) < 0)
            return 1000 + errno;
        worst = (int)c.status > worst ? (int)c.status : worst;
    }
    return worst;
}

/* ---- work ---- */

static struct program s_p;

/* As computed() does, in few steps. */
static uint32_t advance(uint32_t x, uint64_t rounds)
{
    uint32_t mul = MUL, add = ADD;

    for (; rounds; rounds >>= 1) {
        if (rounds & 1)
            x = x * mul + add;
        add = add * mul + add;
        mul *= mul;
    }
    return x;
}

/* One dispatch of one thread in a slot; beside it, if wide, one that fills the device in the last slot, where
 * the threads race. */
static VkCommandBuffer dispatch(uint32_t rounds, uint32_t slot, int wide)
{
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = s_p.pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
    VkMemoryBarrier order = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                              VK_ACCESS_HOST_READ_BIT};
    uint32_t values[2] = {rounds, slot}, filler[2] = {rounds, SLOTS - 1};
    VkCommandBuffer c;

    MUST(vkAllocateCommandBuffers(s_p.device, &allocate, &c));
    MUST(vkBeginCommandBuffer(c, &begin));
    vkCmdBindPipeline(c, VK_PIPELINE_BIND_POINT_COMPUTE, s_p.pipeline);
    vkCmdBindDescriptorSets(c, VK_PIPELINE_BIND_POINT_COMPUTE, s_p.layout, 0, 1, &s_p.set, 0, NULL);
    vkCmdPushConstants(c, s_p.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8, values);
    vkCmdDispatch(c, 1, 1, 1);
    if (wide) {
        vkCmdPushConstants(c, s_p.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 8, filler);
        vkCmdDispatch(c, 132 * 16, 1, 1);
    }
    vkCmdPipelineBarrier(c, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &order, 0,
                         NULL, 0, NULL);
    MUST(vkEndCommandBuffer(c));
    return c;
}

static void end_dispatch(VkCommandBuffer c)
{
    vkFreeCommandBuffers(s_p.device, s_p.pool, 1, &c);
}

static uint32_t s_most = UINT32_MAX; /* rounds of one dispatch */

static uint32_t per_ms(void)
{
    uint32_t rounds = s_most < 4000000 ? s_most : 4000000;
    static uint32_t known;
    VkFence fence;
    VkCommandBuffer c;
    uint64_t best = UINT64_MAX, t;

    if (known)
        return known;
    fence = program_fence(&s_p);
    c = dispatch(rounds, SLOTS - 2, 0);
    for (int i = 0; i < 4; i++) {
        t = now_us();
        program_submit(&s_p, c, fence);
        program_wait(&s_p, fence);
        t = now_us() - t;
        best = t < best ? t : best;
    }
    known = (uint32_t)(rounds * 1000ull / (best ? best : 1));
    vkDestroyFence(s_p.device, fence, NULL);
    end_dispatch(c);
    return known;
}

static uint32_t rounds_of(uint64_t us)
{
    uint64_t rounds = us * per_ms() / 1000;

    return rounds < 1 ? 1 : rounds > s_most ? s_most : (uint32_t)rounds;
}

/* The thread that submits without an end; no other one uses the queue meanwhile. */
static struct {
    pthread_t thread;
    uint32_t rounds;
    unsigned ahead;
    int wide, runs;
    _Atomic int stop;
    _Atomic uint64_t done;
} s_pipe;

static void *pipe_run(void *arg)
{
    VkCommandBuffer c = dispatch(s_pipe.rounds, 0, s_pipe.wide);
    VkFence fences[64];
    uint64_t n = 0, done = 0;

    (void)arg;
    for (unsigned i = 0; i < s_pipe.ahead; i++)
        fences[i] = program_fence(&s_p);
    while (!atomic_load(&s_pipe.stop) || done < n) {
        if (!atomic_load(&s_pipe.stop) && n < done + s_pipe.ahead) {
            program_submit(&s_p, c, fences[n++ % s_pipe.ahead]);
            continue;
        }
        program_wait(&s_p, fences[done++ % s_pipe.ahead]);
        atomic_store(&s_pipe.done, done);
    }
    for (unsigned i = 0; i < s_pipe.ahead; i++)
        vkDestroyFence(s_p.device, fences[i], NULL);
    end_dispatch(c);
    return NULL;
}

static int pipe_begin(uint64_t us, unsigned ahead, int wide)
{
    s_pipe.rounds = rounds_of(us);
    s_pipe.ahead = ahead < 1 ? 1 : ahead > 64 ? 64 : ahead;
    s_pipe.wide = wide;
    atomic_store(&s_pipe.stop, 0);
    atomic_store(&s_pipe.done, 0);
    s_p.values[0] = 1;
    s_pipe.runs = pthread_create(&s_pipe.thread, NULL, pipe_run, NULL) == 0;
    return s_pipe.runs;
}

/* @return whether the result is right */
static int pipe_end(void)
{
    if (!s_pipe.runs)
        return 0;
    atomic_store(&s_pipe.stop, 1);
    pthread_join(s_pipe.thread, NULL);
    s_pipe.runs = 0;
    return s_p.values[0] == advance(1, atomic_load(&s_pipe.done) * s_pipe.rounds);
}

/* @return microseconds */
static uint64_t one(uint64_t us, int *ret_right)
{
    uint32_t rounds = rounds_of(us);
    VkCommandBuffer c = dispatch(rounds, 1, 0);
    VkFence fence = program_fence(&s_p);
    uint64_t t;

    s_p.values[1] = 7;
    t = now_us();
    program_submit(&s_p, c, fence);
    program_wait(&s_p, fence);
    t = now_us() - t;
    *ret_right = s_p.values[1] == advance(7, rounds);
    vkDestroyFence(s_p.device, fence, NULL);
    end_dispatch(c);
    return t;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void say_spread(const char *name, uint64_t *v, size_t n)
{
    qsort(v, n, sizeof(*v), compare);
    printf("\"%s_p50\": %llu, \"%s_p99\": %llu, \"%s_most\": %llu, ", name, (unsigned long long)v[n / 2],
           name, (unsigned long long)v[n * 99 / 100], name, (unsigned long long)v[n - 1]);
}

#define TIMES_MOST 2000
static uint64_t s_first[TIMES_MOST], s_second[TIMES_MOST];

static void bursts(uint64_t us, unsigned count, unsigned gap_us)
{
    unsigned wrong = 0;
    int right;

    for (unsigned i = 0; i < count; i++) {
        s_first[i] = one(us, &right);
        wrong += !right;
        usleep(gap_us);
    }
    printf("{");
    say_spread("us", s_first, count);
    printf("\"n\": %u, \"wrong\": %u}\n", count, wrong);
}

static void toggle(uint64_t us, unsigned count)
{
    int failed = 0;

    for (unsigned i = 0; i < count; i++) {
        uint64_t t = now_us();

        failed += set_slices(us) < 0;
        s_first[i] = now_us() - t;
        usleep(500);
        t = now_us();
        failed += set_slices(XS_RM_SLICE_DEFAULT) < 0;
        s_second[i] = now_us() - t;
        usleep(500);
    }
    printf("{");
    say_spread("short_us", s_first, count);
    say_spread("back_us", s_second, count);
    printf("\"n\": %u, \"failed\": %d, \"right\": %d}\n", count, failed, pipe_end());
}

static void off(unsigned hold_us, unsigned count)
{
    uint64_t meanwhile = 0, before;
    int failed = 0, status = 0, r;

    for (unsigned i = 0; i < count; i++) {
        uint64_t t = now_us();

        r = switch_channels(1);
        s_first[i] = now_us() - t;
        failed += r != 0;
        status = r ? r : status;
        usleep(300); /* the host may learn late of what was complete */
        before = atomic_load(&s_pipe.done);
        usleep(hold_us);
        meanwhile += atomic_load(&s_pipe.done) - before;
        t = now_us();
        r = switch_channels(0);
        s_second[i] = now_us() - t;
        failed += r != 0;
        status = r ? r : status;
        usleep(1000);
    }
    r = pipe_end();
    printf("{");
    say_spread("off_us", s_first, count);
    say_spread("on_us", s_second, count);
    printf("\"n\": %u, \"failed\": %d, \"status\": %d, \"completed_while_off\": %llu, \"completed\": %llu, "
           "\"right\": %d}\n",
           count, failed, status, (unsigned long long)meanwhile,
           (unsigned long long)atomic_load(&s_pipe.done), r);
}

static void during(unsigned hold_us, uint64_t long_us)
{
    int right, right_off, r_off, r_on;
    uint64_t alone = one(long_us, &right), t;
    uint32_t rounds = rounds_of(long_us);
    VkCommandBuffer c = dispatch(rounds, 1, 0);
    VkFence fence = program_fence(&s_p);

    s_p.values[1] = 7;
    t = now_us();
    program_submit(&s_p, c, fence);
    usleep((unsigned)long_us / 4);
    r_off = switch_channels(1);
    usleep(hold_us);
    r_on = switch_channels(0);
    program_wait(&s_p, fence);
    t = now_us() - t;
    right_off = s_p.values[1] == advance(7, rounds);
    vkDestroyFence(s_p.device, fence, NULL);
    end_dispatch(c);
    printf("{\"alone_us\": %llu, \"us\": %llu, \"hold_us\": %u, \"off\": %d, \"on\": %d, \"right\": %d}\n",
           (unsigned long long)alone, (unsigned long long)t, hold_us, r_off, r_on, right && right_off);
}

int main(int argc, char **argv)
{
    char line[128], what[16];
    unsigned long long a, b, c;
    int right;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1) /* lavapipe ends loops after 65535 rounds */
        s_most = (uint32_t)strtoul(argv[1], NULL, 10);
    program_device(&s_p, &(struct wish){0});
    program_kernel(&s_p);
    printf("{\"ready\": 1, \"rounds_per_ms\": %u}\n", per_ms());
    while (fgets(line, sizeof(line), stdin)) {
        a = b = c = 0;
        if (sscanf(line, "%15s %llu %llu %llu", what, &a, &b, &c) < 1)
            continue;
        if (strcmp(what, "groups") == 0)
            say_groups();
        else if (strcmp(what, "pipe") == 0)
            printf("{\"begun\": %d}\n", pipe_begin(a, (unsigned)b, c != 0));
        else if (strcmp(what, "count") == 0)
            printf("{\"done\": %llu}\n", (unsigned long long)atomic_load(&s_pipe.done));
        else if (strcmp(what, "stop") == 0)
            printf("{\"right\": %d}\n", pipe_end());
        else if (strcmp(what, "one") == 0) {
            a = one(a, &right);
            printf("{\"us\": %llu, \"right\": %d}\n", a, right);
        } else if (strcmp(what, "bursts") == 0 && b >= 1 && b <= TIMES_MOST)
            bursts(a, (unsigned)b, (unsigned)c);
        else if (strcmp(what, "slice") == 0)
            printf("{\"result\": %d}\n", set_slices(a));
        else if (strcmp(what, "toggle") == 0 && b >= 1 && b <= TIMES_MOST)
            toggle(a, (unsigned)b);
        else if (strcmp(what, "off") == 0 && b >= 1 && b <= TIMES_MOST)
            off((unsigned)a, (unsigned)b);
        else if (strcmp(what, "during") == 0)
            during((unsigned)a, b);
        else
            printf("{\"error\": \"not understood\"}\n");
    }
    pipe_end();
    program_end(&s_p);
    return 0;
}
