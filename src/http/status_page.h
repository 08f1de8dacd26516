/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the status page. */
#ifndef XS_HTTP_STATUS_PAGE_H
#define XS_HTTP_STATUS_PAGE_H

#include <stddef.h>

struct xs_page {
    const char *type;
    const unsigned char *data;
    size_t bytes;
};
extern const struct xs_page xs_page_html, xs_page_css, xs_page_js, xs_dygraph_min_js, xs_dygraph_min_css;

/** What a browser may do with the page: load these files from here, ask here, and nothing else. */
#define XS_PAGE_POLICY                                                                                       \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "         \
    "form-action 'none'; frame-ancestors 'none'"

#endif
