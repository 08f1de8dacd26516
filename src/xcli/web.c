/* SPDX-License-Identifier: Apache-2.0 */
/* xcli web: the address of the status page, or the page itself. */
#include "xcli/xcli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static error_t parse(int key, char *arg, struct argp_state *state)
{
    bool *open = state->input;

    (void)arg;
    if (key != 'o')
        return ARGP_ERR_UNKNOWN;
    *open = true;
    return 0;
}

/* Becomes the program that opens addresses here. */
static int open_page(char *address)
{
    char name[] = "xdg-open";

    fflush(stdout);
    execlp(name, name, address, (char *)NULL);
    fprintf(stderr, "xcli: xdg-open: %s; open %s in a browser\n", strerror(errno), address);
    return XCLI_REFUSED;
}

int xcli_web(int argc, char **argv)
{
    static const struct argp_option k_options[] = {
        {"open", 'o', NULL, 0, "open it in a browser (xdg-open)", 0},
        {0},
    };
    static const struct argp k_argp = {.options = k_options,
                                       .parser = parse,
                                       .children = xcli_json_child,
                                       .doc = "Prints the address of the server's status page."};
    char address[320];
    bool open = false;
    json_t *answer;
    int64_t port;
    int r;

    argp_parse(&k_argp, argc, argv, 0, NULL, &open);
    r = xcli_ask("GET", "/status", NULL, &answer);
    if (r)
        return r;
    port = xcli_int(answer, "http_port");
    json_decref(answer);
    if (port < 1 || port > 65535) {
        fputs("xcli: this xserver answers on its Unix socket alone (http = OFF or no port): a browser cannot reach it\n", stderr);
        return XCLI_REFUSED;
    }
    /* another host's page is where this answer came from: by a tunnel, its port here is another one */
    snprintf(address, sizeof(address), "http://%s:%" PRId64 "/",
             g_xcli.address ? g_xcli.address : "127.0.0.1", g_xcli.port ? (int64_t)g_xcli.port : port);
    if (g_xcli.json)
        printf("{\"address\": \"%s\"}\n", address);
    else
        puts(address);
    return open ? open_page(address) : XCLI_OK;
}
