/* SPDX-License-Identifier: Apache-2.0 */
#include "host/user_names.h"

#include "base/clock.h"
#include "base/str.h"
#include "host/procinfo.h"

#include <pthread.h>
#include <pwd.h>
#include <stdio.h>

#define KEPT    64u
#define KEEP_NS (60 * XS_NS_PER_S)

/* Lock: names that were looked up. */
static pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
static struct known {
    uint64_t until_ns;
    uint32_t uid;
    char name[XS_USER_NAME_BYTES];
} g_known[KEPT];
static unsigned g_next;

static void read_name(uint32_t uid, char ret[XS_USER_NAME_BYTES])
{
    FILE *f = fopen("/etc/passwd", "re");
    struct passwd entry, *found;
    char line[1024];

    snprintf(ret, XS_USER_NAME_BYTES, "%u", uid);
    while (f && fgetpwent_r(f, &entry, line, sizeof(line), &found) == 0)
        if (entry.pw_uid == uid) {
            snprintf(ret, XS_USER_NAME_BYTES, "%s", entry.pw_name);
            xs_text_clean(ret);
            break;
        }
    if (f)
        fclose(f);
}

void xs_user_name(uint32_t uid, char ret[XS_USER_NAME_BYTES])
{
    uint64_t now_ns = xs_now_ns();
    struct known *k;

    pthread_mutex_lock(&g_lock);
    for (k = g_known; k < g_known + KEPT; k++)
        if (k->uid == uid && now_ns < k->until_ns)
            break;
    if (k == g_known + KEPT) {
        k = &g_known[g_next++ % KEPT];
        k->uid = uid;
        k->until_ns = now_ns + KEEP_NS;
        read_name(uid, k->name);
    }
    xs_str_copy(ret, XS_USER_NAME_BYTES, k->name);
    pthread_mutex_unlock(&g_lock);
}
