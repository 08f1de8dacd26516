/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a recording. A recording that begins empties an earlier file of that name. Until then xsched
 * leaves that alone. */
#include "launcher/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
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

/* Of fopencookie(): stdio forgets the reason of an earlier write. @return 0 on failure */
static ssize_t write_all(void *cookie, const char *bytes, size_t size)
{
    struct record_file *file = cookie;

    for (size_t done = 0; done < size && file->err == 0;) {
        ssize_t n = write(file->fd, bytes + done, size - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            file->err = -errno;
    }
    return file->err == 0 ? (ssize_t)size : 0;
}

static int open_fd(struct record_file *file)
{
    file->fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    file->created = file->fd >= 0;
    if (file->fd < 0 && errno == EEXIST)
        file->fd = open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return file->fd < 0 ? -errno : 0;
}

/* The program may have put another file there. */
static void remove_created(const struct record_file *file, const struct stat *own)
{
    struct stat there;

    if (file->created && lstat(file->path, &there) == 0 && there.st_dev == own->st_dev &&
        there.st_ino == own->st_ino)
        unlink(file->path);
}

int record_file_open(struct record_file *file, const char *path)
{
    static const cookie_io_functions_t k_functions = {.write = write_all};

    file->path = path;
    file->err = open_fd(file);
    if (file->err < 0)
        return file->err;
    file->f = fopencookie(file, "w", k_functions);
    if (!file->f) {
        file->err = -ENOMEM;
        return record_file_close(file);
    }
    signal(SIGPIPE, SIG_IGN); /* write() has an error then */
    signal(SIGXFSZ, SIG_IGN);
    return 0;
}

int record_file_close(struct record_file *file)
{
    struct stat own;
    bool known = fstat(file->fd, &own) == 0;

    if (file->f && fclose(file->f) != 0 && file->err == 0)
        file->err = -EIO;
    file->f = NULL;
    if (close(file->fd) < 0 && file->err == 0)
        file->err = -errno;
    if (file->err < 0 && known)
        remove_created(file, &own);
    return file->err;
}
