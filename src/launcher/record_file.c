/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a recording. What has the name already stays as it is until there is something to write. */
#include "launcher/record.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

int record_file_check(const char *path)
{
    char copy[PATH_MAX];
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return -EISDIR;
    if (lstat(path, &st) == 0) /* open() makes what a link without a target names */
        return access(path, W_OK) == 0 || errno == ENOENT ? 0 : -errno;
    if (errno != ENOENT)
        return -errno;
    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
        return -ENAMETOOLONG;
    return access(dirname(copy), W_OK | X_OK) == 0 ? 0 : -errno;
}

int record_file_open(const char *path, FILE **ret)
{
    FILE *f = fopen(path, "we");

    if (!f)
        return -errno;
    *ret = f;
    return 0;
}
