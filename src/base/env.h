/* SPDX-License-Identifier: Apache-2.0 */
/* The environment variables, in one table (env.def). A set-user-id program sees none of them. */
#ifndef XS_ENV_H
#define XS_ENV_H

#include "base/settings/value.h"

enum xs_env_id {
#define X(name, type, def, help) XS_ENV_##name,
#include "base/env.def"
#undef X
    XS_ENV_COUNT
};

struct xs_env_row {
    const char *name;
    struct xs_value_type type; /* the text "policy": the name of one */
    const char *def;
    const char *help;
};

extern const struct xs_env_row xs_env_rows[XS_ENV_COUNT];

/** The value, or NULL when unset, empty, or the program runs set-user-id. The text belongs to
 *  the environment. */
const char *xs_env_get(enum xs_env_id id);
/** Reads the value by the type of the row. If the text is no value of that type, logs that once at WARN.
 *  @return false: the default holds */
bool xs_env_value(enum xs_env_id id, struct xs_value *ret);
/** Its number, or def. */
int64_t xs_env_i64(enum xs_env_id id, int64_t def);
bool xs_env_bool(enum xs_env_id id, bool def);
/** Whether it has this word as its value; upper and lower case are the same. */
bool xs_env_is(enum xs_env_id id, const char *word);

/** The i-th variable that older versions read and this one does not (env_withdrawn.def).
 *  @param ret_name  its name, XSCHED_...
 *  @param ret_instead  its replacement, for users
 *  @return false: there are not so many */
bool xs_env_withdrawn(unsigned i, char *ret_name, size_t size, const char **ret_instead);
/** Logs a line at WARN for each such variable that the program has set. */
void xs_env_warn_withdrawn(void);

/** NVIDIA's own place for the pipes of an MPS daemon. */
#define XS_MPS_FOLDER "/tmp/nvidia-mps"
/** The folder that CUDA_MPS_PIPE_DIRECTORY, NVIDIA's own variable, names, or XS_MPS_FOLDER. */
const char *xs_env_mps_folder(void);
/** Whether an MPS daemon has its pipes in the folder; a daemon that has ended may have left them. */
bool xs_mps_has_pipes(const char *folder);

#endif
