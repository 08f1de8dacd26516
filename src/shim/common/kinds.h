/* SPDX-License-Identifier: Apache-2.0 */
/* Reads kinds.def. `kind` is the word of a row's first column, so the compiler settles all of this. */
#ifndef XS_SHIM_COMMON_KINDS_H
#define XS_SHIM_COMMON_KINDS_H

#include "shim/common/kinds.def"

/** The word in a kind's column: XS_COLUMN(counted, SUBMIT) is 1. */
#define XS_COLUMN(column, kind)      XS_COLUMN_OF(column, XS_KIND_##kind)
#define XS_COLUMN_OF(column, ...)    XS_COLUMN_##column(__VA_ARGS__)
#define XS_COLUMN_opens(opens, code, quiet, counted, suspended, marked, waits, trace)     opens
#define XS_COLUMN_code(opens, code, quiet, counted, suspended, marked, waits, trace)      code
#define XS_COLUMN_quiet(opens, code, quiet, counted, suspended, marked, waits, trace)     quiet
#define XS_COLUMN_counted(opens, code, quiet, counted, suspended, marked, waits, trace)   counted
#define XS_COLUMN_suspended(opens, code, quiet, counted, suspended, marked, waits, trace) suspended
#define XS_COLUMN_marked(opens, code, quiet, counted, suspended, marked, waits, trace)    marked
#define XS_COLUMN_waits(opens, code, quiet, counted, suspended, marked, waits, trace)     waits
#define XS_COLUMN_trace(opens, code, quiet, counted, suspended, marked, waits, trace)     trace

/** The macro or enumerator PREFIXword: XS_BY(XS_HOW_, trace, SUBMIT) is XS_HOW_SUBMIT. */
#define XS_BY(prefix, column, kind)  XS_BY_WORD(prefix, XS_COLUMN(column, kind))
#define XS_BY_WORD(prefix, word)     XS_BY_PASTE(prefix, word)
#define XS_BY_PASTE(prefix, word)    prefix##word

enum xs_kind_code { XS_CODE_PASS, XS_CODE_BODY, XS_CODE_HAND };
enum xs_kind_quiet { XS_QUIET_REAL, XS_QUIET_NOTED, XS_QUIET_CODE };
enum xs_kind_waits { XS_WAITS_NOTHING, XS_WAITS_STREAM, XS_WAITS_CONTEXT, XS_WAITS_ALL };

/** Enumerators of these; XS_HOW is of xs_how in shim/common/trace.h. */
#define XS_CODE(kind)  XS_BY(XS_CODE_, code, kind)
#define XS_QUIET(kind) XS_BY(XS_QUIET_, quiet, kind)
#define XS_WAITS(kind) XS_BY(XS_WAITS_, waits, kind)
#define XS_HOW(kind)   XS_BY(XS_HOW_, trace, kind)

/** The rest of its arguments, for hand-written kinds; nothing for others. */
#define XS_IF_HAND(kind, ...) XS_BY(XS_IF_HAND_, code, kind)(__VA_ARGS__)
#define XS_IF_HAND_PASS(...)
#define XS_IF_HAND_BODY(...)
#define XS_IF_HAND_HAND(...)  __VA_ARGS__

/** (a, b) as a, b. */
#define XS_UNPACK(...) __VA_ARGS__

#endif
