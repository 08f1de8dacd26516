/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/variables.h"

#include "base/env.h"
#include "base/str.h"
#include "base/xs_base.h"

#include <string.h>

/* Read by integrations, and not by the libraries: python/xsched/ray.py, integration/vllm. */
static const char *const k_integrations[] = {"XSCHED_RAY_OPTIONS", "XSCHED_RAY_PYTHON", "XSCHED_RAY_NOTE", "XSCHED_VLLM_BASE",
                                             "XSCHED_VLLM_IDLE"};

#define NEAR 2 /* letters to insert, remove or change */

static bool is_near(const char *a, const char *b)
{
    size_t n = strlen(b), row[64];

    if (n >= XS_ARRAY_LEN(row))
        return false;
    for (size_t k = 0; k <= n; k++)
        row[k] = k;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0]; /* of the row before */

        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            size_t changed = corner + (a[i - 1] != b[k - 1]);

            corner = row[k];
            row[k] = XS_MIN(changed, XS_MIN(row[k], row[k - 1]) + 1);
        }
    }
    return row[n] <= NEAR;
}

enum xs_variable xs_variable_of(const char *line, const char **ret_instead)
{
    size_t length = strcspn(line, "=");
    char name[128], withdrawn[64];

    if ((strncmp(line, "XSCHED_", 7) != 0 && strncmp(line, "XLOG_", 5) != 0) || length >= sizeof(name))
        return XS_VARIABLE_OTHER;
    xs_str_copy(name, length + 1, line);
    for (size_t i = 0; i < XS_ENV_COUNT; i++)
        if (strcmp(xs_env_rows[i].name, name) == 0)
            return XS_VARIABLE_OTHER;
    for (size_t i = 0; i < XS_ARRAY_LEN(k_integrations); i++)
        if (strcmp(k_integrations[i], name) == 0)
            return XS_VARIABLE_OTHER;
    for (unsigned i = 0; xs_env_withdrawn(i, withdrawn, sizeof(withdrawn), ret_instead); i++)
        if (strcmp(withdrawn, name) == 0)
            return XS_VARIABLE_WITHDRAWN;
    *ret_instead = NULL;
    for (size_t i = 0; i < XS_ENV_COUNT && !*ret_instead; i++)
        if (is_near(name, xs_env_rows[i].name))
            *ret_instead = xs_env_rows[i].name;
    return XS_VARIABLE_UNKNOWN;
}
