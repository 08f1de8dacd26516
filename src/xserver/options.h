/* SPDX-License-Identifier: Apache-2.0 */
/* What xserver was told: built-in values, then the configuration file, then the command line. */
#ifndef XS_XSERVER_OPTIONS_H
#define XS_XSERVER_OPTIONS_H

#include "base/xs_base.h"

#define XS_OPTION_TEXT_BYTES 256

enum xs_option_id {
#define NUMBER(section, field, ...) XS_OPT_##field,
#define TEXT(section, field, ...)   XS_OPT_##field,
#define ONOFF(section, field, ...)  XS_OPT_##field,
#include "xserver/options.def"
#undef NUMBER
#undef TEXT
#undef ONOFF
    XS_OPT_COUNT
};

struct xs_options {
#define NUMBER(section, field, ...) uint64_t field;
#define TEXT(section, field, ...)   char field[XS_OPTION_TEXT_BYTES];
#define ONOFF(section, field, ...)  bool field;
#include "xserver/options.def"
#undef NUMBER
#undef TEXT
#undef ONOFF
    uint64_t given; /* bit i: option i was set on the command line; the file leaves it */
};

enum xs_option_kind { XS_OPTION_NUMBER, XS_OPTION_TEXT, XS_OPTION_ONOFF };

struct xs_option_row {
    enum xs_option_kind kind;
    const char *section, *name, *arg, *help;
    uint64_t def, min, max;
    const char *text; /* default of a text */
    bool live;        /* taken over by a reload */
    size_t offset;    /* in struct xs_options */
};
extern const struct xs_option_row xs_option_rows[XS_OPT_COUNT];

void xs_options_defaults(struct xs_options *o);
/** Sets one option from text.
 *  @param ret_error  why not, for people
 *  @return 0 or -EINVAL */
int xs_options_set(struct xs_options *o, enum xs_option_id id, const char *value, char *ret_error,
                   size_t error_size);
/** Takes the rows that are marked live from `from`. */
void xs_options_take_live(struct xs_options *o, const struct xs_options *from);

bool xs_options_equal(const struct xs_options *a, const struct xs_options *b, enum xs_option_id id);

/** Reads a configuration file; what the command line gave stays.
 *  @param ret_error  "PATH:LINE: what is wrong"
 *  @return 0; -ENOENT, -EACCES ... when it cannot be read; -EINVAL when it is wrong (o is then
 *          partly changed) */
int xs_options_read_file(struct xs_options *o, const char *path, char *ret_error, size_t error_size);

#endif
