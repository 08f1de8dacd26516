/* SPDX-License-Identifier: Apache-2.0 */
/* What a variable of the environment means to XSched, by its name. */
#ifndef XS_LAUNCHER_VARIABLES_H
#define XS_LAUNCHER_VARIABLES_H

enum xs_variable {
    XS_VARIABLE_OTHER,     /* no name of ours, or one that XSched or its integrations read */
    XS_VARIABLE_WITHDRAWN, /* older versions read it */
    XS_VARIABLE_UNKNOWN,   /* XSCHED_... or XLOG_..., and nothing reads it: mistyped, or of somebody else */
};

/** @param line  "NAME=VALUE"
 *  @param ret_instead  of one that is withdrawn: its replacement, for users; of an unknown one: the name that it nearly is,
 *         or NULL */
enum xs_variable xs_variable_of(const char *line, const char **ret_instead);

#endif
