/* SPDX-License-Identifier: Apache-2.0 */
/* Makes requests of the paths, arguments and bodies of the HTTP interface. xsched-http does so for HTTP, and the tools, which ask
 * xserver over its own socket, for the same paths. */
#ifndef XS_PATH_REQUEST_H
#define XS_PATH_REQUEST_H

#include "asks/request.h"

struct xs_path_call {
    const char *path; /* without arguments */
    const char *body; /* with a zero at its end */
    size_t body_bytes;
    /** The value of an argument; NULL: it is not there. */
    const char *(*argument)(void *ctx, const char *name);
    void *ctx;
};

struct xs_path_row {
    const char *method, *path; /* a path that ends in / takes one more part */
    enum xs_request_kind kind;
    /** Fills the request, which has its asker. @return 0, or an HTTP status with the reason in ret_error */
    int (*fill)(const struct xs_path_call *call, const char *rest, struct xs_request *r, char *ret_error, size_t size);
};

/** The paths that records of xserver answer. */
extern const struct xs_path_row xs_path_rows[];
extern const size_t xs_path_rows_count;

/** Whether the row takes this path with this method. Where it takes other methods alone, *status becomes 405 and *allow names
 *  them. */
bool xs_path_fits(const struct xs_path_row *row, const char *method, const char *path, int *status, const char **allow);
/** @return 0, or an HTTP status with the reason in ret_error */
int xs_path_fill(const struct xs_path_row *row, const struct xs_path_call *call, struct xs_request *r, char *ret_error,
                 size_t size);
/** For a fill: writes the reason. @return 400 */
int xs_path_wrong(char *ret_error, size_t size, const char *format, ...) XS_PRINTF(3, 4);

#endif
