/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the servers that answer. */
#include "launcher/doctor/doctor.h"

#include "query/http_client.h"
#include "transport/http_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *xs_doctor_ask(const char *server_socket, const char *path)
{
    char http[PATH_MAX + 16], why[256];
    struct xs_http_target target = {.unix_path = http, .timeout_ms = 2000};
    struct xs_http_answer answer;
    json_t *j = NULL;

    xs_http_socket(server_socket, http, sizeof(http));
    if (xs_http_ask(&target, "GET", path, NULL, &answer, why, sizeof(why)) < 0)
        return NULL;
    if (answer.status == 200)
        j = json_loads(answer.body, 0, NULL);
    free(answer.body);
    return j;
}

json_t *xs_doctor_servers(const struct xs_places *places)
{
    static const char *const kept[] = {"version",   "protocol", "policy_name",
                                       "http_port", "clients",  "queues"};
    json_t *list = json_array();

    for (size_t i = 0; i < places->count; i++) {
        const struct xs_place *p = &places->items[i];
        json_t *one = json_object(), *status;
        uid_t uid = 0;
        pid_t pid = 0;
        int err = xs_place_probe(p->path, &pid, &uid);

        json_object_set_new(one, "socket", xs_doctor_text(p->path));
        json_object_set_new(one, "answers", json_boolean(err == 0));
        if (err == 0) {
            json_object_set_new(one, "pid", json_integer(pid));
            json_object_set_new(one, "uid", json_integer(uid));
            status = xs_doctor_ask(p->path, "/status");
            json_object_set_new(one, "http", json_boolean(status != NULL));
            for (size_t k = 0; k < XS_ARRAY_LEN(kept); k++) {
                if (json_object_get(status, kept[k]))
                    json_object_set(one, kept[k], json_object_get(status, kept[k]));
            }
            json_decref(status);
        } else if (err != -ENOENT) {
            json_object_set_new(one, "error", json_string(strerror(-err)));
        }
        json_array_append_new(list, one);
    }
    return list;
}
