/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a process from /proc. */
#ifndef XS_HOST_PROCINFO_H
#define XS_HOST_PROCINFO_H

#include "asks/records.h"

/** The command line as one line of valid UTF-8 without control characters; xs_proc_name()'s text when
 *  it has none. */
void xs_proc_cmdline(int32_t pid, char *ret_text, size_t size);
/** The name of a process in brackets, as ps shows it, cleaned in the same way; "[?]" when /proc does not
 *  show it. It is the kernel's. xs_proc_cmdline() reads the program's own memory, which can take as long
 *  as the program likes. */
void xs_proc_name(int32_t pid, char *ret_text, size_t size);
/** CPU scheduling of a process as one number: real time 1001..1099, deadline 1100, else -nice,
 *  and -20 for SCHED_IDLE. @return 0 or -errno */
int xs_proc_cpu_class(int32_t pid, int32_t *ret_class);
/** A signal or a debugger has stopped it. */
bool xs_proc_is_stopped(int32_t pid);
/** The same out of the text of /proc/PID/stat. */
bool xs_proc_is_stopped_parse(const char *stat);
/** The same as the class out of that text. @return 0 or -EINVAL */
int xs_proc_cpu_class_parse(const char *stat, int32_t *ret_class);
/** Finds it by the names that container engines give their control groups; else both texts are empty. */
void xs_proc_container(int32_t pid, struct xs_container *ret);
/** The same out of the text of /proc/PID/cgroup. */
void xs_proc_container_parse(const char *cgroup, struct xs_container *ret);
/** Its path in the unified hierarchy of control groups, as xserver sees it. @return 0, or -errno */
int xs_proc_cgroup(int32_t pid, char *ret_path, size_t size);
/** The same out of the text of /proc/PID/cgroup. @return 0, -ENOENT, or -ENAMETOOLONG */
int xs_proc_cgroup_parse(const char *text, char *ret_path, size_t size);
/** Makes any bytes one line of valid UTF-8, in place, up to the first zero. */
void xs_text_clean(char *text);

#endif
