/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines on stderr or in XLOG_FILE:
 *     [XSCHED INFO @ T<tid> @ hh:mm:ss.micros] text
 * Safe in any thread of a host program: no stdio stream, no allocation, errno stays. The text of a
 * line names its topic; XS_WARN_ONCE keeps one cause to one line a process. */
#ifndef XS_LOG_H
#define XS_LOG_H

#include "base/xs_base.h"

enum xs_log_level { XS_LOG_DEBG = 0, XS_LOG_INFO = 1, XS_LOG_WARN = 2, XS_LOG_ERRO = 3, XS_LOG_OFF = 4 };

/** Reads XLOG_LEVEL and XLOG_FILE again; without this call, the first line reads them. */
void xs_log_init(void);
/** Lines go to this descriptor, which the caller owns. When more than room bytes have come, the writing
 *  thread calls the function of xs_log_on_full once; that sets a file again. */
void xs_log_set_file(int fd, int64_t room);
/** Before any other thread logs. */
void xs_log_on_full(void (*full)(void));
void xs_log_set_level(enum xs_log_level level);
enum xs_log_level xs_log_level(void);
/** @return false when the name is none of DEBG, INFO, WARN, ERRO, OFF (any case) */
bool xs_log_level_parse(const char *name, enum xs_log_level *ret_level);
void xs_log_line(enum xs_log_level level, const char *format, ...) XS_PRINTF(2, 3);

#define XS_LOG_AT(lv, ...)                                    \
    do {                                                      \
        if (XS_UNLIKELY((lv) >= xs_log_level()))              \
            xs_log_line((lv), __VA_ARGS__);                   \
    } while (0)
#define XS_DEBG(...) XS_LOG_AT(XS_LOG_DEBG, __VA_ARGS__)
#define XS_INFO(...) XS_LOG_AT(XS_LOG_INFO, __VA_ARGS__)
#define XS_WARN(...) XS_LOG_AT(XS_LOG_WARN, __VA_ARGS__)
#define XS_ERRO(...) XS_LOG_AT(XS_LOG_ERRO, __VA_ARGS__)

#define XS_WARN_ONCE(...)                                                              \
    do {                                                                               \
        static _Atomic bool xs_said_;                                                  \
        if (!atomic_exchange_explicit(&xs_said_, true, memory_order_relaxed))          \
            XS_WARN(__VA_ARGS__);                                                      \
    } while (0)

#endif
