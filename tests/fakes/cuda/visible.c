/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices a program sees. As documented: CUDA_VISIBLE_DEVICES is a list of numbers, or of UUIDs of which the
 * first digits are enough where one device has them. What follows the first wrong one does not count. As PyTorch
 * reads it: a list is of one kind, and one that comes twice leaves none. Numbers go by speed (FAKE_CUDA_FASTEST=1: the
 * second device of the bus is the fastest one), or by the bus where CUDA_DEVICE_ORDER=PCI_BUS_ID says so. A client of
 * MPS counts among the devices of the daemon, which are those of the CUDA_VISIBLE_DEVICES that the daemon was started
 * with: its pipe folder has the value (tests/fakes/mps).
 *
 * FAKE_CUDA_ONE: there is one device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "internal.h"

struct list {
    int n, device[DEVICES];
};

bool fake_mps(void)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = folder ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    bool there = fd >= 0 && (size_t)snprintf(at.sun_path, sizeof(at.sun_path), "%s/control", folder) < sizeof(at.sun_path) &&
                 connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0;

    if (fd >= 0)
        close(fd);
    return there;
}

void fake_uuid(int device, unsigned char *ret)
{
    memset(ret, 0xab, 16);
    ret[0] = (unsigned char)(0xab + device * 0x10);
    ret[15] = (unsigned char)device;
}

static bool has_uuid(int device, const char *word)
{
    unsigned char u[16];
    char text[64] = "GPU-";

    fake_uuid(device, u);
    for (int i = 0; i < 16; i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
    }
    return strncmp(text, word, strlen(word)) == 0;
}

static bool is_uuid(const char *word)
{
    return strncmp(word, "GPU-", 4) == 0;
}

/* @return the device, or -1 */
static int find(const struct list *from, const char *word)
{
    int found = -1, n = 0;
    char *end;
    long number;

    if (is_uuid(word)) {
        for (int i = 0; i < from->n; i++)
            if (has_uuid(from->device[i], word))
                found = from->device[i], n++;
        return n == 1 ? found : -1;
    }
    number = strtol(word, &end, 10);
    return end != word && number >= 0 && number < from->n ? from->device[number] : -1;
}

static struct list choose(const struct list *from, const char *value)
{
    struct list ret = {0};
    char text[256], *rest = text, *word;

    if (!value)
        return *from;
    snprintf(text, sizeof(text), "%s", value);
    while ((word = strsep(&rest, ","))) {
        int device = find(from, word);

        if (device < 0 || is_uuid(word) != is_uuid(value))
            break;
        for (int i = 0; i < ret.n; i++)
            if (ret.device[i] == device)
                return (struct list){0};
        ret.device[ret.n++] = device;
    }
    return ret;
}

/* The value that the daemon was started with. */
static const char *of_daemon(char *text, size_t size)
{
    char path[4096];
    bool there;
    FILE *f;

    snprintf(path, sizeof(path), "%s/devices", getenv("CUDA_MPS_PIPE_DIRECTORY"));
    f = fopen(path, "r");
    there = f && fgets(text, (int)size, f);
    if (f)
        fclose(f);
    if (there)
        text[strcspn(text, "\n")] = 0;
    return there ? text : NULL;
}

int fake_visible(int *ret)
{
    const char *fastest = getenv("FAKE_CUDA_FASTEST"), *order = getenv("CUDA_DEVICE_ORDER");
    bool back = fastest && !(order && strcmp(order, "PCI_BUS_ID") == 0);
    struct list list = {.n = getenv("FAKE_CUDA_ONE") ? 1 : DEVICES};
    char text[256];

    for (int i = 0; i < list.n; i++)
        list.device[i] = back ? list.n - 1 - i : i;
    if (fake_mps())
        list = choose(&list, of_daemon(text, sizeof(text)));
    list = choose(&list, getenv("CUDA_VISIBLE_DEVICES"));
    if (ret)
        memcpy(ret, list.device, sizeof(list.device));
    return list.n;
}
