/* SPDX-License-Identifier: Apache-2.0 */
#include "kept.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define ROWS 256u

static struct row {
    char path[64];
    int fd;
} g_rows[ROWS];

static struct row *row_of(const char *path)
{
    uint32_t hash = 5381;

    for (const char *p = path; *p; p++)
        hash = hash * 33 + (unsigned char)*p;
    return &g_rows[hash % ROWS];
}

static void drop(struct row *r)
{
    if (r->path[0])
        close(r->fd);
    r->path[0] = 0;
}

size_t kept_read(const char *path, char *text, size_t size)
{
    struct row *r = row_of(path);

    text[0] = 0;
    if (strlen(path) >= sizeof(r->path))
        return 0;
    /* twice: its number may have been given to another process since */
    for (int tries = 0; tries < 2; tries++) {
        ssize_t n;

        if (strcmp(r->path, path) != 0) {
            drop(r);
            r->fd = open(path, O_RDONLY | O_CLOEXEC);
            if (r->fd < 0)
                return 0;
            strcpy(r->path, path);
        }
        n = pread(r->fd, text, size - 1, 0);
        if (n > 0) {
            text[n] = 0;
            return (size_t)n;
        }
        drop(r);
    }
    return 0;
}
