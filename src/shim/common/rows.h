/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a shim's rows on every platform, and the wishes of the environment for the shim. Compiled
 * into each shim, with XS_SHIM_PLATFORM naming its platform.h, which names the table. */
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
    const char *symbol, *name;    /* the exported one, in traces and filters; the one to look up */
    uint16_t version;
    uint8_t streams;              /* xs_row_streams: the meaning of stream 0 */
    uint8_t how;                  /* xs_how: the word in the trace */
    bool handled;                 /* the shim does more than call the real function */
    bool counted;                 /* a command */
};
extern const struct xs_row_info xs_row_info[ROW_COUNT] XS_HIDDEN;

/** Our exported functions; NULL for those that have none. By the platform. */
extern void *const xs_row_entries[ROW_COUNT] XS_HIDDEN;
/** Takes the place of functions that the real library lacks. By the platform. */
void *xs_row_lacking(enum xs_row row);

/** Fills in the first `count` rows with the functions that `get` gives for their symbols, and with
 *  xs_row_lacking for missing ones. An entry of ours counts as missing: the library may depend on us. @return
 *  how many it lacks */
int xs_rows_fill(void **real, int count, void *(*get)(void *ctx, const char *symbol), void *ctx);
/** For that: dlsym, with a library's handle as ctx. */
void *xs_rows_symbol(void *handle, const char *symbol);

enum xs_shim_mode {
    XS_SHIM_UNBOUND,              /* no real functions yet */
    XS_SHIM_QUIET,                /* everything passes through */
    XS_SHIM_ACTIVE,               /* there are XQueues, or the user wants a trace */
};

/** The wishes of the environment. */
struct xs_shim_wishes {
    bool disabled;                /* XSCHED_DISABLE: then the rest has no value */
    bool wanted;                  /* to be active from the first call on */
    bool tracing, filter_libraries;
    const char *filter;           /* NULL: none */
    bool filtered[ROW_COUNT];
};

/** Any thread, without locks held. Starts the trace. */
void xs_shim_wishes_read(struct xs_shim_wishes *ret);
/** Makes them known to all code below. Once, while the mode is UNBOUND. */
void xs_shim_wishes_keep(const struct xs_shim_wishes *w);
/** Both, for a platform that needs no mode: the first caller makes them known, the others return when they
 *  are. Any thread, without locks held. */
void xs_shim_wishes_once(void);

/* Valid once the mode is not UNBOUND; writer: xs_shim_wishes_keep. */
extern bool xs_shim_tracing XS_HIDDEN, xs_shim_disabled XS_HIDDEN;
/** Whether the user wants this call left alone. @param caller  NULL: unknown */
bool xs_row_filtered(enum xs_row row, const void *caller);

#endif
