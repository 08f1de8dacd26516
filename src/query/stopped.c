/* SPDX-License-Identifier: Apache-2.0 */
#include "query/stopped.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static FILE *open_proc(pid_t pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

/* Whether a file of a control group has this line. */
static bool group_says(const char *folder, const char *group, const char *file, const char *says)
{
    char path[PATH_MAX + 64], line[64];
    bool found = false;
    FILE *f;

    snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/%s", folder, group, file);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof(line), f))
        found = strcmp(line, says) == 0;
    if (f)
        fclose(f);
    return found;
}

/* "0::/system.slice/x.service", or "6:freezer:/x" of version 1, and what that control group says of itself. A group inside a
 * namespace has a name that leads to no folder here: then nothing is known. */
bool xs_process_is_frozen(pid_t pid)
{
    char line[PATH_MAX], *group;
    bool frozen = false;
    FILE *f = open_proc(pid, "cgroup");

    while (f && !frozen && fgets(line, sizeof(line), f)) {
        line[strcspn(line, "\n")] = 0;
        group = strchr(line, '/');
        if (group && strncmp(line, "0::", 3) == 0)
            frozen = group_says("", group, "cgroup.events", "frozen 1\n") ||
                     group_says("/unified", group, "cgroup.events", "frozen 1\n");
        else if (group && strstr(line, ":freezer:"))
            frozen = group_says("/freezer", group, "freezer.state", "FROZEN\n");
    }
    if (f)
        fclose(f);
    return frozen;
}

bool xs_process_is_stopped(pid_t pid)
{
    char text[512], *at;
    FILE *f;

    if (pid <= 0)
        return false;
    f = open_proc(pid, "stat");
    if (!f)
        return false;
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    at = strrchr(text, ')'); /* the name before it may have any characters */
    if (at && at[1] == ' ' && (at[2] == 'T' || at[2] == 't'))
        return true;
    return xs_process_is_frozen(pid);
}
