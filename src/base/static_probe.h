/* SPDX-License-Identifier: Apache-2.0 */
/* Static probes for tracers (perf, bpftrace, SystemTap). XS_PROBEn(name, values...) becomes a no-op
 * instruction, and a note in the file that says where it is and where its values are. Nothing else
 * happens until a tracer puts a breakpoint there. Without <sys/sdt.h> they are nothing.
 * xsched-probes(7) lists them; tests/abi/check_probes.py reads them back. */
#ifndef XS_BASE_STATIC_PROBE_H
#define XS_BASE_STATIC_PROBE_H

#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define XS_PROBE1(name, a)       DTRACE_PROBE1(xsched, name, a)
#define XS_PROBE2(name, a, b)    DTRACE_PROBE2(xsched, name, a, b)
#define XS_PROBE3(name, a, b, c) DTRACE_PROBE3(xsched, name, a, b, c)
#else
#define XS_PROBE1(name, a)       ((void)(a))
#define XS_PROBE2(name, a, b)    ((void)(a), (void)(b))
#define XS_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

#endif
