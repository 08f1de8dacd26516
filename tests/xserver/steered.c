/* SPDX-License-Identifier: Apache-2.0 */
#include "steered.h"

#include "hal/cuda/rm/rm.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const struct xs_interrupt_ops *steered_ops;
void xsched_priv_interrupt_ops(const struct xs_interrupt_ops *ops) { steered_ops = ops; }
void xsched_priv_interrupt_changed(void) {}

void new_context(struct context *c, unsigned channels)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    fake_rm_open(fd);
    make_context(c, fd, channels);
}

struct xs_lv3 *g_lv3;
struct xs_lv3_program *g_program;
XDevice tell_others_as;

unsigned tell(void)
{
    unsigned packets = 0;

    for (uint32_t i = 0;; i++) {
        unsigned char bytes[XS_WIRE_MAX_BYTES];
        union xs_msg m, got;
        int id, fds[2], copies[2] = {-1, -1}, n = steered_ops->packet(i, &m, &id, fds);
        const char *wrong = NULL;
        size_t size;

        if (n == -ENOENT)
            return packets;
        assert_true(n >= 0);
        packets++;
        size = xs_wire_seal(&m, (enum xs_msg_id)id, 1);
        memcpy(bytes, &m, size);
        assert_int_equal(xs_wire_open(bytes, size, &got, &wrong), 0);
        if (got.head.id == XS_MSG_nv_groups_end) {
            xs_lv3_groups_end(g_lv3, g_program);
            continue;
        }
        if (tell_others_as && i > 0)
            got.nv_group.device = tell_others_as;
        for (int k = 0; k < n; k++) {
            copies[k] = fcntl(fds[k], F_DUPFD_CLOEXEC, 100);
            fake_rm_dup_fd(copies[k], fds[k]);
        }
        assert_null(xs_lv3_group(g_lv3, g_program, &got.nv_group, copies, (unsigned)n));
        xs_lv3_settle(g_lv3); /* it is proved in another thread, which reads what tests set next */
        for (int k = 0; k < n; k++) {
            if (copies[k] >= 0) {
                fake_rm_close(copies[k]);
                close(copies[k]);
            }
        }
    }
}

void want(uint64_t us)
{
    xs_lv3_want(g_lv3, g_program, DEVICE, us);
    xs_lv3_settle(g_lv3);
}

int setup(void **state)
{
    (void)state;
    fake_rm_reset();
    xs_rm_reset();
    xs_rm_publish();
    g_lv3 = xs_lv3_new();
    g_program = xs_lv3_join(g_lv3, 4711);
    return g_lv3 && g_program ? 0 : -1;
}

int teardown(void **state)
{
    (void)state;
    xs_lv3_leave(g_lv3, g_program, true);
    xs_lv3_free(g_lv3);
    return fake_rm_complaints() ? -1 : 0;
}
