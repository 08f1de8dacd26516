/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_framing.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

struct framing {
    unsigned hosts, lengths, codings, tokens;
    bool chunked;
    const char *wrong;
};

/* A letter, a digit or one of these (RFC 9110, 5.6.2). */
static bool is_token(const char *name, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!name[i] || (!isalnum((unsigned char)name[i]) && !strchr("!#$%&'*+-.^_`|~", name[i])))
            return false;
    return bytes > 0;
}

static enum MHD_Result one_header(void *cls, enum MHD_ValueKind kind, const char *name, size_t name_bytes, const char *value,
                                  size_t value_bytes)
{
    struct framing *f = cls;

    (void)kind;
    if (!is_token(name, name_bytes)) {
        f->wrong = "the name of a header has a character that no name has";
        return MHD_NO;
    }
    if (value && memchr(value, 0, value_bytes)) {
        f->wrong = "there is a NUL in a header";
        return MHD_NO;
    }
    f->hosts += xs_str_equal_nocase(name, "Host");
    f->lengths += xs_str_equal_nocase(name, "Content-Length");
    f->tokens += xs_str_equal_nocase(name, "X-XSched-Token");
    if (xs_str_equal_nocase(name, "Transfer-Encoding")) {
        f->codings++;
        f->chunked = value && xs_str_equal_nocase(value, "chunked");
    }
    return MHD_YES;
}

const char *xs_framing_check(struct MHD_Connection *connection, const char *version)
{
    bool old = strcmp(version, "HTTP/1.1") != 0;
    struct framing f = {0};

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, one_header, &f);
    if (f.wrong)
        return f.wrong;
    if (f.hosts > 1 || (f.hosts == 0 && !old))
        return "give one Host header";
    if (f.lengths > 1 || f.tokens > 1)
        return "Content-Length or X-XSched-Token is there twice";
    if (f.codings && (f.codings > 1 || f.lengths || !f.chunked || old))
        return "a body is either chunked or has a Content-Length";
    return NULL;
}

bool xs_framing_has_nul(const char *target)
{
    if (strstr(target, "%00"))
        return true;
    /* Up to this version the text ends at its first NUL, and the version follows the target in the
     * buffer. Later versions refuse such a request by themselves. */
    return MHD_VERSION < 0x00097700 && strncmp(target + strlen(target) + 1, "HTTP/", 5) != 0;
}
