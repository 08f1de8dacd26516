/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of a shim's table become on every platform, and what the environment wishes of the shim. Compiled into each
 * shim, with XS_SHIM_PLATFORM naming its platform.h, which names the table. */
#ifndef XS_SHIM_COMMON_ROWS_H
#define XS_SHIM_COMMON_ROWS_H

#include XS_SHIM_PLATFORM

#include "base/xs_base.h"
#include "shim/common/kinds.h"
#include "shim/common/trace.h"

enum xs_row {
#define XS_ROW_ANY(kind, symbol, name, version, streams) ROW_##symbol,
#include "shim/common/each_row.def"
    ROW_COUNT
};

enum xs_row_streams { XS_STREAMS_ANY, XS_STREAMS_LEGACY, XS_STREAMS_PTDS };

struct xs_row_info {
    const char *symbol, *name;    /* what the library exports, in traces and filters; what programs ask for */
    uint16_t version;
    uint8_t streams;              /* xs_row_streams: what stream 0 means */
    uint8_t how;                  /* xs_how: the word in the trace */
    bool handled;                 /* more is done than to call the real function */
    bool counted;                 /* a command */
};
extern const struct xs_row_info xs_row_info[ROW_COUNT] XS_HIDDEN;

/** Our exported functions; NULL for those that have none. By the platform. */
extern void *const xs_row_entries[ROW_COUNT] XS_HIDDEN;
/** Stands where the real library lacks a function. By the platform. */
void *xs_row_lacking(enum xs_row row);

/** Fills in the first `count` rows with the functions that `get` gives for their symbols, and what stands for those that it
 *  does not give. An entry of ours is none: the library may depend on us. @return how many are lacking */
int xs_rows_fill(void **real, int count, void *(*get)(void *ctx, const char *symbol), void *ctx);
/** For that: dlsym, with a library's handle as ctx. */
void *xs_rows_symbol(void *handle, const char *symbol);

enum xs_shim_mode {
    XS_SHIM_UNBOUND,              /* the real functions are not known yet */
    XS_SHIM_QUIET,                /* everything passes through */
    XS_SHIM_ACTIVE,               /* there are XQueues, or a trace is wanted */
};

/** What the environment wishes. */
struct xs_shim_wishes {
    bool disabled;                /* XSCHED_DISABLE: then nothing else is set */
    bool wanted;                  /* to be active from the first call on */
    bool tracing, filter_libraries;
    const char *filter;           /* NULL: none */
    bool filtered[ROW_COUNT];
};

/** Any thread, without locks held. Starts the trace. */
void xs_shim_wishes_read(struct xs_shim_wishes *ret);
/** Makes them known to what follows. Once, before the mode is not UNBOUND any more. */
void xs_shim_wishes_keep(const struct xs_shim_wishes *w);
/** Both, for a platform that needs no mode: the first caller makes them known, the others return when they are.
 *  Any thread, without locks held. */
void xs_shim_wishes_once(void);

/* Valid once the mode is not UNBOUND; writer: xs_shim_wishes_keep. */
extern bool xs_shim_tracing XS_HIDDEN, xs_shim_disabled XS_HIDDEN;
/** Whether the user wants this call left alone. @param caller  NULL: not known */
bool xs_row_filtered(enum xs_row row, const void *caller);

#endif
