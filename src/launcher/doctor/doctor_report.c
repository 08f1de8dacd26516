/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting and printing; nothing here depends on the subject. */
#include "launcher/doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int xs_doctor_init(struct xs_doctor *d)
{
    d->facts = json_object();
    d->problems = json_array();
    d->hints = json_array();
    d->devices = NULL;
    d->schedules_itself = d->unasked = false;
    d->verdict[0] = 0;
    return d->facts && d->problems && d->hints ? 0 : -ENOMEM;
}

void xs_doctor_fini(struct xs_doctor *d)
{
    json_decref(d->facts);
    json_decref(d->problems);
    json_decref(d->hints);
    json_decref(d->devices);
}

json_t *xs_doctor_text(const char *text)
{
    json_t *j = json_string(text);
    char clean[1024];
    size_t i;

    if (j)
        return j;
    for (i = 0; text[i] && i < sizeof(clean) - 1; i++)
        clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    clean[i] = 0;
    return json_string(clean);
}

void xs_doctor_problem(struct xs_doctor *d, const char *cause, const char *hint, const char *format, ...)
{
    char text[1024];
    json_t *p = json_object();
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    json_object_set_new(p, "cause", json_string(cause));
    json_object_set_new(p, "text", xs_doctor_text(text));
    json_object_set_new(p, "hint", xs_doctor_text(hint));
    json_array_append_new(d->problems, p);
}

void xs_doctor_hint(struct xs_doctor *d, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    json_array_append_new(d->hints, xs_doctor_text(text));
}

void xs_doctor_print_json(const struct xs_doctor *d)
{
    json_t *all = json_object(), *verdict = xs_doctor_text(d->verdict);

    json_object_set_new(all, "verdict", verdict);
    json_object_update(all, d->facts);
    json_object_set(all, "problems", d->problems);
    json_object_set(all, "hints", d->hints);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

/* One value on the present line: numbers and texts as they are, lists by commas. */
static void print_flat(const json_t *v)
{
    const char *key;
    json_t *item;
    size_t i;

    switch (json_typeof(v)) {
    case JSON_STRING:
        fputs(json_string_value(v)[0] ? json_string_value(v) : "-", stdout);
        break;
    case JSON_INTEGER:
        printf("%lld", (long long)json_integer_value(v));
        break;
    case JSON_REAL:
        printf("%.3f", json_real_value(v));
        break;
    case JSON_TRUE:
        fputs("yes", stdout);
        break;
    case JSON_FALSE:
        fputs("no", stdout);
        break;
    case JSON_NULL:
        fputs("-", stdout);
        break;
    case JSON_ARRAY:
        if (!json_array_size(v))
            fputs("none", stdout);
        json_array_foreach((json_t *)(uintptr_t)v, i, item)
        {
            fputs(i ? ", " : "", stdout);
            print_flat(item);
        }
        break;
    case JSON_OBJECT:
        i = 0;
        json_object_foreach((json_t *)(uintptr_t)v, key, item)
        {
            printf("%s%s ", i++ ? ", " : "", key);
            if (!strcmp(key, "handle") && json_is_integer(item)) /* in the form of xcli */
                printf("0x%llx", (unsigned long long)json_integer_value(item));
            else
                print_flat(item);
        }
        break;
    }
}

static void print_section(const char *name, const json_t *v)
{
    const char *key;
    json_t *item;
    size_t i;

    if (json_is_object(v)) {
        printf("%s\n", name);
        json_object_foreach((json_t *)(uintptr_t)v, key, item)
        {
            printf("  %-14s ", key);
            print_flat(item);
            putchar('\n');
        }
    } else if (json_is_array(v)) {
        printf("%s%s\n", name, json_array_size(v) ? "" : ": none");
        json_array_foreach((json_t *)(uintptr_t)v, i, item)
        {
            fputs("  - ", stdout);
            print_flat(item);
            putchar('\n');
        }
    } else {
        printf("%s: ", name);
        print_flat(v);
        putchar('\n');
    }
}

void xs_doctor_print_text(const struct xs_doctor *d, bool details)
{
    const char *key;
    json_t *item;
    size_t i;

    puts(d->verdict);
    json_array_foreach(d->problems, i, item)
    {
        const char *hint = json_string_value(json_object_get(item, "hint"));

        printf("problem (%s): %s\n", json_string_value(json_object_get(item, "cause")),
               json_string_value(json_object_get(item, "text")));
        if (hint && *hint)
            printf("    %s\n", hint);
    }
    json_array_foreach(d->hints, i, item) printf("note: %s\n", json_string_value(item));
    if (!details)
        return;
    putchar('\n');
    json_object_foreach(d->facts, key, item) print_section(key, item);
}
