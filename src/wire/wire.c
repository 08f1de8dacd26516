/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/wire.h"

#include <errno.h>
#include <string.h>

enum row_kind { ROW_MSG, ROW_UNSIGNED, ROW_SIGNED, ROW_TEXT, ROW_LATER, ROW_END };

struct row {
    enum row_kind kind;
    uint16_t bytes;               /* of the field, all of it; ROW_MSG: of the struct */
    uint16_t number;              /* ROW_MSG: id; ROW_LATER: protocol minor; ROW_UNSIGNED: how many */
    uint64_t lo, hi;              /* of a signed field: two's complement */
    const char *name;
};

/* messages.def as data. Fields follow each other without padding (asserted below), so a field's
 * offset is the sum of the sizes before it. */
static const struct row k_rows[] = {
#define MSG(name, id)         {ROW_MSG, sizeof(struct xs_msg_##name), id, 0, 0, #name},
#define U(type, name, lo, hi) {ROW_UNSIGNED, sizeof(type), 1, (uint64_t)(lo), (uint64_t)(hi), #name},
#define A(type, name, n, lo, hi) \
    {ROW_UNSIGNED, (n) * sizeof(type), n, (uint64_t)(lo), (uint64_t)(hi), #name},
#define I(type, name, lo, hi) {ROW_SIGNED, sizeof(type), 0, (uint64_t)(int64_t)(lo), (uint64_t)(int64_t)(hi), #name},
#define S(name, size)         {ROW_TEXT, size, 0, 0, 0, #name},
#define LATER(minor)          {ROW_LATER, 0, minor, 0, 0, ""},
#define END(name)             {ROW_END, 0, 0, 0, 0, ""},
#include "wire/messages.def"
#undef MSG
#undef U
#undef I
#undef S
#undef A
#undef LATER
#undef END
};

/* The sum of the fields is the size of the struct: no padding anywhere. */
#define MSG(name, id)         _Static_assert(sizeof(struct xs_msg_##name) == sizeof(struct xs_wire_head)
#define U(type, name, lo, hi) + sizeof(type)
#define I(type, name, lo, hi) + sizeof(type)
#define S(name, size)         + (size)
#define A(type, name, n, lo, hi) + (n) * sizeof(type)
#define LATER(minor)
#define END(name)             && sizeof(struct xs_msg_##name) <= XS_WIRE_MAX_BYTES, "padding in " #name);
#include "wire/messages.def"

static const struct row *find(unsigned id)
{
    for (size_t i = 0; i < XS_ARRAY_LEN(k_rows); i++)
        if (k_rows[i].kind == ROW_MSG && k_rows[i].number == id)
            return &k_rows[i];
    return NULL;
}

const char *xs_wire_name(unsigned id)
{
    const struct row *msg = find(id);

    return msg ? msg->name : "?";
}

size_t xs_wire_seal(union xs_msg *m, enum xs_msg_id id, uint32_t serial)
{
    size_t bytes = sizeof(struct xs_wire_head);

    for (const struct row *r = find(id) + 1; r->kind != ROW_END; r++) {
        if (r->kind == ROW_LATER && r->number > XS_WIRE_MINOR)
            break;                /* a build that does not know these fields */
        bytes += r->bytes;
    }
    m->head.id = (uint16_t)id;
    m->head.bytes = (uint16_t)bytes;
    m->head.serial = serial;
    return bytes;
}

static int64_t load_signed(const unsigned char *at, size_t bytes)
{
    int64_t v64;
    int32_t v32;

    if (bytes == 8) {
        memcpy(&v64, at, 8);
        return v64;
    }
    memcpy(&v32, at, 4);
    return v32;
}

static uint64_t load_unsigned(const unsigned char *at, size_t bytes)
{
    uint64_t v64;
    uint32_t v32;

    if (bytes == 8) {
        memcpy(&v64, at, 8);
        return v64;
    }
    memcpy(&v32, at, 4);
    return v32;
}

static const char *check(const struct row *r, const unsigned char *at)
{
    if (r->kind == ROW_UNSIGNED) {
        size_t bytes = (size_t)r->bytes / r->number;
        uint64_t hi = bytes == 4 ? (uint32_t)r->hi : r->hi;

        for (size_t i = 0; i < r->number; i++) {
            uint64_t v = load_unsigned(at + i * bytes, bytes);

            if (v < r->lo || v > hi)
                return r->name;
        }
        return NULL;
    }
    if (r->kind == ROW_SIGNED) {
        int64_t v = load_signed(at, r->bytes);

        return v < (int64_t)r->lo || v > (int64_t)r->hi ? r->name : NULL;
    }
    return memchr(at, 0, r->bytes) ? NULL : r->name;
}

static int malformed(const char **ret_error, const char *what)
{
    if (ret_error)
        *ret_error = what;
    return -EBADMSG;
}

int xs_wire_open(const void *packet, size_t bytes, union xs_msg *ret, const char **ret_error)
{
    struct xs_wire_head head;
    const struct row *r;
    size_t at = sizeof(head);
    bool later = false;

    if (bytes < sizeof(head) || bytes > XS_WIRE_MAX_BYTES)
        return malformed(ret_error, "length of the packet");
    memcpy(&head, packet, sizeof(head));
    if (head.bytes != bytes)
        return malformed(ret_error, "length in the head");
    r = find(head.id);
    if (!r)
        return -ENOMSG;
    memset(ret, 0, sizeof(*ret));
    memcpy(ret, &head, sizeof(head));
    for (r++; r->kind != ROW_END; r++) {
        if (r->kind == ROW_LATER) {
            if (r->number > XS_WIRE_MINOR)
                break;
            later = true;
            continue;
        }
        if (at + r->bytes > bytes) {
            if (later && at == bytes)
                break;            /* an older peer */
            return malformed(ret_error, r->name);
        }
        memcpy((unsigned char *)ret + at, (const unsigned char *)packet + at, r->bytes);
        if (check(r, (const unsigned char *)packet + at))
            return malformed(ret_error, r->name);
        at += r->bytes;
    }
    return 0;
}
