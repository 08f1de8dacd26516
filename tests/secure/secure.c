/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what XSched's code sees of its environment: the variables of env.def that it gets, where it would look for
 * xserver, and which of XSched's objects the linker loaded. */
#include "base/env.h"
#include "transport/socket.h"

#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int main(void)
{
    char path[XS_SOCKET_PATH_BYTES], line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");

    printf("secure %lu user %u %u\n", getauxval(AT_SECURE), getuid(), geteuid());
    for (int i = 0; i < XS_ENV_COUNT; i++)
        if (xs_env_get((enum xs_env_id)i))
            printf("variable %s\n", xs_env_rows[i].name);
    for (unsigned i = 0; xs_socket_path(i, path, sizeof(path)) == 0; i++)
        printf("socket %s\n", path);
    while (maps && fgets(line, sizeof(line), maps))
        if (strstr(line, "libshim") && strstr(line, "r-xp"))
            printf("object %s", strchr(line, '/'));
    return 0;
}
