/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of xserver: built-in values, then the configuration file, then the command line. */
#ifndef XS_CONFIG_OPTIONS_H
#define XS_CONFIG_OPTIONS_H

#include "base/settings/value.h"

#define XS_OPTION_TEXT_BYTES 256

enum xs_option_id {
#define OPTION(tier, section, field, ...) XS_OPT_##field,
#include "config/options.def"
#undef OPTION
    XS_OPT_COUNT
};

enum xs_withdrawn_id {
#define WITHDRAWN(field, ...) XS_WITHDRAWN_##field,
#include "config/withdrawn.def"
#undef WITHDRAWN
    XS_WITHDRAWN_COUNT
};

/* How a value of each type is kept. */
typedef uint64_t xs_option_NUMBER, xs_option_TIME, xs_option_TIME_OR_UNLIMITED;
typedef bool xs_option_FLAG;
typedef char xs_option_TEXT[XS_OPTION_TEXT_BYTES], xs_option_CHOICE[XS_OPTION_TEXT_BYTES];
#define XS_OPTION_TYPE(kind, ...) xs_option_##kind

struct xs_options {
#define OPTION(tier, section, field, name, type, ...) XS_OPTION_TYPE type field;
#include "config/options.def"
#undef OPTION
    uint64_t given; /* bit i: the command line set option i; the file leaves it */
    uint64_t old_way; /* bit i: an option or a key set a constant (XS_TIER_TUNE), as in older versions */
    uint64_t withdrawn; /* bit i: the withdrawn option i is in the command line or the file */
};

/** Where a value may come from, and where help and documents show it. */
enum xs_option_tier {
    XS_TIER_SHOWN, /* an option that --help lists, and a key of the file */
    XS_TIER_KEY,   /* a key of the file; the command line takes it, too */
    XS_TIER_TUNE,  /* a constant that tests and benchmarks vary: --tune */
};

struct xs_option_row {
    enum xs_option_tier tier;
    const char *section, *name, *arg, *help;
    struct xs_value_type type;
    const char *def;  /* as text */
    bool live;        /* a reload takes it over */
    size_t offset;    /* in struct xs_options */
};
extern const struct xs_option_row xs_option_rows[XS_OPT_COUNT];

/** The replacement of a withdrawn option, for users. */
struct xs_withdrawn_row {
    const char *name, *instead;
};
extern const struct xs_withdrawn_row xs_withdrawn_rows[XS_WITHDRAWN_COUNT];

void xs_options_defaults(struct xs_options *o);
/** Sets one option from text.
 *  @param ret_error  the reason, for users
 *  @return 0 or -EINVAL */
int xs_options_set(struct xs_options *o, enum xs_option_id id, const char *value, char *ret_error,
                   size_t error_size);
/** Sets a constant of the tier XS_TIER_TUNE from "key=value".
 *  @param ret_error  the reason, for users
 *  @return its id, or -EINVAL */
int xs_options_tune(struct xs_options *o, const char *text, char *ret_error, size_t error_size);
/** Takes the values of live rows from `from`. */
void xs_options_take_live(struct xs_options *o, const struct xs_options *from);

/** Whether a number has its default. */
bool xs_options_is_default(const struct xs_options *o, enum xs_option_id id);
bool xs_options_equal(const struct xs_options *a, const struct xs_options *b, enum xs_option_id id);

/** @param name  ends where the text ends, or at '='
 *  @return whether a withdrawn option has this name; sets its bit then */
bool xs_options_note_withdrawn(struct xs_options *o, const char *name);
/** Logs one line for each bit of `withdrawn`: what to use instead. */
void xs_options_warn_withdrawn(uint64_t withdrawn);

/** Checks a value that is right in itself against this host: whether the group is there, and so on.
 *  Main thread.
 *  @param ret_error  the reason, for users
 *  @return 0 or -errno */
typedef int xs_option_check(enum xs_option_id id, const char *value, char *ret_error, size_t error_size);

/** Reads a configuration file; options of the command line keep their values. Sets the bit of a
 *  withdrawn key, in whichever section it stands.
 *  @param check  of the values that are taken over; NULL: none
 *  @param ret_error  "PATH:LINE: reason"
 *  @return 0; -ENOENT, -EACCES ... when it cannot read the file; -EINVAL when a line is wrong (o has
 *          part of the changes then) */
int xs_options_read_file(struct xs_options *o, const char *path, xs_option_check *check, char *ret_error,
                         size_t error_size);

#endif
