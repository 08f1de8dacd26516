/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects. */
#ifndef XS_JSON_MEMBERS_H
#define XS_JSON_MEMBERS_H

#include "base/xs_base.h"

#include <jansson.h>

static inline void xs_set_int(json_t *o, const char *name, uint64_t value)
{
    json_object_set_new_nocheck(o, name, json_integer((json_int_t)XS_MIN(value, (uint64_t)INT64_MAX)));
}

static inline void xs_set_signed(json_t *o, const char *name, int64_t value)
{
    json_object_set_new_nocheck(o, name, json_integer((json_int_t)value));
}

static inline void xs_set_bool(json_t *o, const char *name, bool value)
{
    json_object_set_new_nocheck(o, name, json_boolean(value));
}

static inline void xs_set_text(json_t *o, const char *name, const char *value)
{
    json_t *text = json_string(value);

    json_object_set_new_nocheck(o, name, text ? text : json_string("?"));
}

#endif
