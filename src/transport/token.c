/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *xs_token_wrong(const char *token)
{
    size_t n = strlen(token);

    if (n == 0)
        return "a token is not empty";
    if (n >= XS_TOKEN_BYTES)
        return "a token has at most 255 characters";
    for (size_t i = 0; i < n; i++)
        if (token[i] < ' ' || token[i] > '~')
            return "a token has printable characters of ASCII only";
    return token[0] == ' ' || token[n - 1] == ' ' ? "a token neither begins nor ends with a space" : NULL;
}

static const char *file_wrong(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "it is no file";
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return "it belongs to another user";
    if (st->st_mode & 0007)
        return "other users may open it: chmod o= takes that from them";
    return st->st_mode & 0020 ? "its group may write it: chmod g-w takes that from it" : NULL;
}

int xs_token_read(const char *path, char *ret, char *ret_error, size_t error_size)
{
    char text[XS_TOKEN_BYTES + 2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *wrong = NULL;
    struct stat st;
    ssize_t n = 0;

    if (fd < 0 || fstat(fd, &st) < 0)
        wrong = strerror(errno);
    else if ((wrong = file_wrong(&st)) == NULL && (n = read(fd, text, sizeof(text) - 1)) < 0)
        wrong = strerror(errno);
    if (fd >= 0)
        close(fd);
    if (n > 0 && text[n - 1] == '\n')
        text[--n] = 0;
    if (!wrong)
        wrong = strlen(text) == (size_t)n ? xs_token_wrong(text) : "there is a NUL in it";
    if (wrong) {
        snprintf(ret_error, error_size, "token file %.80s: %s", path, wrong);
        return -EINVAL;
    }
    memcpy(ret, text, strlen(text) + 1);
    return 0;
}
