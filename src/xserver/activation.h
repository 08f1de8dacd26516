/* SPDX-License-Identifier: Apache-2.0 */
/* Socket activation and readiness messages as service managers expect them (sd_listen_fds(3),
 * sd_notify(3)), without their library. */
#ifndef XS_XSERVER_ACTIVATION_H
#define XS_XSERVER_ACTIVATION_H

#include <stdint.h>

/** The listening SOCK_SEQPACKET Unix socket that the service manager passed as descriptor 3
 *  (LISTEN_PID, LISTEN_FDS); removes both variables. @return descriptor, -ENOENT when there is none,
 *  -EINVAL when it is something else */
int xs_activation_socket(void);
/** Tells the service manager, if there is one (NOTIFY_SOCKET), for instance "READY=1". */
void xs_activation_notify(const char *state);
/** How often the service manager wants "WATCHDOG=1" at the latest (WATCHDOG_USEC, WATCHDOG_PID), halved as
 *  sd_watchdog_enabled(3) advises. */
struct xs_watchdog {
    uint64_t period_ns; /* 0: it does not watch this process */
    uint64_t next_ns;
};
void xs_watchdog_init(struct xs_watchdog *w);
/** Says it, if it is time. @return when to look again; UINT64_MAX: never */
uint64_t xs_watchdog_look(struct xs_watchdog *w, uint64_t now_ns);

#endif
