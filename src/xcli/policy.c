/* SPDX-License-Identifier: Apache-2.0 */
/* xcli policy: the policy in force, those there are, and a change to one of them. */
#include "xcli/xcli.h"

#include "policy/policies.h"

#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy {
    bool query, set;
    const char *to; /* its name */
};

/* For an older server, which sends only a number; a loaded policy's is 0. */
static const char *name_of_number(int64_t number)
{
    const struct xs_policy_ops *policy =
        number > 0 && number < kPolicyMax ? xs_policy_by_type((int)number) : NULL;

    return policy ? policy->name : "custom";
}

/* The server's own list has the policy that it loaded, too; an older server has no list.
 * @return NULL: it does not answer, or has none */
static json_t *available(void)
{
    json_t *answer, *list = NULL;
    char why[2304];

    if (xcli_try("GET", "/policy", NULL, why, sizeof(why), &answer) == XCLI_OK) {
        list = json_incref(json_object_get(answer, "available"));
        json_decref(answer);
    }
    return list;
}

static void add_names(const json_t *list, char *ret, size_t size)
{
    size_t i, used = strlen(ret);
    json_t *o;

    json_array_foreach((json_t *)(uintptr_t)list, i,
                       o) if (!xs_policy_by_name(xcli_text(o, "name")) && used < size) used +=
        (size_t)snprintf(ret + used, size - used, " %s", xcli_text(o, "name"));
}

/* The name as a part of a URL. */
static void encode(const char *name, char *ret, size_t size)
{
    size_t used = 0;

    for (; *name && used + 4 < size; name++) {
        unsigned char c = (unsigned char)*name;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');

        used += (size_t)snprintf(ret + used, size - used, plain ? "%c" : "%%%02X", c);
    }
    ret[used] = 0;
}

bool xcli_policy_path(const char *name, char *ret, size_t size, char *ret_names, size_t names_size)
{
    const struct xs_policy_ops *policy = xs_policy_by_name(name);
    char encoded[128];
    json_t *list, *o;
    bool found = false;
    size_t i;

    if (policy) { /* every server knows the number */
        snprintf(ret, size, "/policy?policy=%d", policy->type);
        return true;
    }
    list = available();
    json_array_foreach(list, i, o)
    {
        if (strcasecmp(xcli_text(o, "name"), name) != 0)
            continue;
        encode(xcli_text(o, "name"), encoded, sizeof(encoded));
        snprintf(ret, size, "/policy?policy=%s", encoded);
        found = true;
    }
    xs_policy_names(ret_names, names_size, " ");
    add_names(list, ret_names, names_size);
    json_decref(list);
    return found;
}

static error_t parse_policy(int key, char *arg, struct argp_state *state)
{
    struct policy *p = state->input;

    switch (key) {
    case 'q':
        p->query = true;
        return 0;
    case 's':
        p->set = true;
        return 0;
    case ARGP_KEY_ARG: /* xcli policy PUP */
        if (p->set)
            argp_error(state, "one policy at a time");
        p->set = true; /* fall through */
        __attribute__((fallthrough));
    case 'n':
        if (p->to)
            argp_error(state, "one policy at a time");
        p->to = arg;
        return 0;
    case ARGP_KEY_END:
        if (p->query && (p->set || p->to))
            argp_error(state, "-q shows the policy, and changes none");
        if (p->set && !p->to)
            argp_error(state, "-s needs -n NAME");
        if (p->to && !p->set)
            argp_error(state, "-n belongs to -s");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_policies(const json_t *answer)
{
    const json_t *list = json_object_get(answer, "available");
    const char *name = xcli_text(answer, "name");
    json_t *o;
    size_t i;

    printf("Current policy:\n  %s\nAvailable policies:\n",
           name[0] ? name : name_of_number(xcli_int(answer, "policy")));
    for (i = 0; i < xs_policies_count && !list; i++)
        printf("  %-5s %s\n", xs_policies[i]->name, xs_policies[i]->title);
    json_array_foreach((json_t *)(uintptr_t)list, i, o)
        printf("  %-5s %s\n", xcli_text(o, "name"), xcli_text(o, "title"));
}

static int change(const char *to)
{
    char path[160], text[64], names[XS_POLICY_NAMES_BYTES + 40];
    json_t *answer;
    int r;

    if (!xcli_policy_path(to, path, sizeof(path), names, sizeof(names))) {
        fprintf(stderr, "xcli policy: there is no policy '%.40s': %s\n", to, names);
        if (strchr(to, '/'))
            fputs("xserver takes a shared object at its start (xserver PATH) and from its configuration "
                  "alone\n",
                  stderr);
        return XCLI_USAGE;
    }
    r = xcli_ask("POST", path, "", &answer);
    if (r)
        return r;
    snprintf(text, sizeof(text), "Policy set to %.32s",
             xs_policy_by_name(to) ? xs_policy_by_name(to)->name : to);
    if (g_xcli.json)
        xcli_print_json(answer);
    else
        puts(text);
    json_decref(answer);
    return XCLI_OK;
}

int xcli_policy(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"query", 'q', NULL, 0, "show the policy in force, and those there are; the same without any option",
         0},
        {"set", 's', NULL, 0, "change it", 0},
        {"name", 'n', "NAME", 0, "to this one", 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse_policy,
                                       .args_doc = "[NAME]",
                                       .children = xcli_json_child,
                                       .doc = "Shows or changes the scheduling policy: `xcli policy PUP`."};
    struct policy p = {0};
    json_t *answer;
    int r;

    argp_parse(&k_argp, argc, argv, ARGP_IN_ORDER, NULL, &p);
    if (p.set)
        return change(p.to);
    r = xcli_ask("GET", "/policy", NULL, &answer);
    if (r)
        return r;
    if (g_xcli.json)
        xcli_print_json(answer);
    else
        print_policies(answer);
    json_decref(answer);
    return XCLI_OK;
}
