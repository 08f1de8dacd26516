/* SPDX-License-Identifier: Apache-2.0 */
/* Windows and a window manager in one, for the test: reads commands, answers each with a line.
 *   create PID   a window of that process; its number    active N    it is the active one, as a manager says it
 *   focus N      it has the input focus                  unmanage    no manager tells the active window any more */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xcb/xcb.h>

static xcb_connection_t *g_c;

static xcb_atom_t atom(const char *name)
{
    xcb_intern_atom_reply_t *r =
        xcb_intern_atom_reply(g_c, xcb_intern_atom(g_c, 0, (uint16_t)strlen(name), name), NULL);
    xcb_atom_t a = r ? r->atom : 0;

    free(r);
    return a;
}

int main(void)
{
    char line[128], word[32];
    xcb_screen_t *screen;
    unsigned long value;

    g_c = xcb_connect(NULL, NULL);
    if (xcb_connection_has_error(g_c))
        return 1;
    screen = xcb_setup_roots_iterator(xcb_get_setup(g_c)).data;
    while (fgets(line, sizeof(line), stdin)) {
        uint32_t n;

        value = 0;
        if (sscanf(line, "%31s %lu", word, &value) < 1)
            continue;
        n = (uint32_t)value;
        if (!strcmp(word, "create")) {
            xcb_window_t outer = xcb_generate_id(g_c), inner = xcb_generate_id(g_c);

            /* the focus goes to an inner window; the outer one names the process */
            xcb_create_window(g_c, XCB_COPY_FROM_PARENT, outer, screen->root, 0, 0, 64, 64, 0,
                              XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, 0, NULL);
            xcb_create_window(g_c, XCB_COPY_FROM_PARENT, inner, outer, 0, 0, 32, 32, 0,
                              XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, 0, NULL);
            xcb_change_property(g_c, XCB_PROP_MODE_REPLACE, outer, atom("_NET_WM_PID"), XCB_ATOM_CARDINAL, 32,
                                1, &n);
            xcb_map_window(g_c, outer);
            xcb_map_window(g_c, inner);
            n = inner;
        } else if (!strcmp(word, "active")) {
            xcb_change_property(g_c, XCB_PROP_MODE_REPLACE, screen->root, atom("_NET_ACTIVE_WINDOW"),
                                XCB_ATOM_WINDOW, 32, 1, &n);
        } else if (!strcmp(word, "focus")) {
            xcb_set_input_focus(g_c, XCB_INPUT_FOCUS_POINTER_ROOT, n, XCB_CURRENT_TIME);
        } else if (!strcmp(word, "unmanage")) {
            xcb_delete_property(g_c, screen->root, atom("_NET_ACTIVE_WINDOW"));
        }
        free(xcb_get_input_focus_reply(g_c, xcb_get_input_focus(g_c), NULL)); /* all of it has been done */
        printf("%u\n", n);
        fflush(stdout);
    }
    xcb_disconnect(g_c);
    return 0;
}
