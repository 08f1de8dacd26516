/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned text in columns; drops its less important columns on a narrow terminal. */
#ifndef XS_XCLI_TEXT_TABLE_H
#define XS_XCLI_TEXT_TABLE_H

#include "base/xs_base.h"

#define XS_TABLE_COLUMNS 32u /* at most */

struct xs_column {
    const char *title;
    bool right; /* aligned to the right */
    int rank;   /* columns of the largest rank go first when it is narrow */
};

struct xs_table {
    const struct xs_column *columns;
    size_t n_columns, n_rows, room;
    char **cells; /* rows of n_columns; row 0: titles */
    char *text;   /* all lines, as last laid out for this width; NULL: none */
    size_t text_width;
};

void xs_table_init(struct xs_table *t, const struct xs_column *columns, size_t n_columns);
void xs_table_free(struct xs_table *t);
/** Starts a row; its cells are empty. */
void xs_table_row(struct xs_table *t);
/** A cell of the last row. */
void xs_table_set(struct xs_table *t, size_t column, const char *format, ...) XS_PRINTF(3, 4);
/** A line, without its end, at most `width` characters; the caller frees it.
 *  @param row  0: the titles */
char *xs_table_line(struct xs_table *t, size_t row, size_t width);
void xs_table_print(struct xs_table *t, size_t width);

#endif
