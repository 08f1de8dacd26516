/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool be_quiet;

void xs_say_set_quiet(bool quiet)
{
    be_quiet = quiet;
}

static void line(const char *format, va_list args)
{
    char text[1024] = "xsched: ";
    size_t used = 8;
    int n = vsnprintf(text + used, sizeof(text) - used - 1, format, args);
    ssize_t written;

    if (n > 0)
        used += XS_MIN((size_t)n, sizeof(text) - used - 2);
    text[used++] = '\n';
    written = write(STDERR_FILENO, text, used); /* one write: lines of two launchers do not mix */
    (void)written;
}

void xs_say(const char *format, ...)
{
    va_list args;

    if (be_quiet)
        return;
    va_start(args, format);
    line(format, args);
    va_end(args);
}

void xs_say_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    line(format, args);
    va_end(args);
}

bool xs_say_unwritten(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return false;
    xs_say_error("cannot write: %s", strerror(errno));
    return true;
}
