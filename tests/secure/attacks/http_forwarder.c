/* SPDX-License-Identifier: Apache-2.0 */
/* Another program of the victim's (a proxy, a service that posts events to an address which users choose, a browser) sends
 * an attacker's request to xserver. The kernel says that the victim asks; here it is root, for whom xserver changes
 * everything. Over TCP only the token shows that the change is the victim's own. */
#include "scene.h"

#include <stdio.h>

static const char *const k_headers[] = {
    "",
    "X-XSched: 1\r\n",
    "User-Agent: cpp-httplib/0.14.3\r\nAccept: */*\r\nContent-Type: application/json\r\n",
    "Via: 1.1 proxy\r\n",
    "X-Forwarded-For: 192.0.2.1\r\n",
    "Forwarded: for=192.0.2.1\r\n",
    "X-Hub-Signature-256: sha256=00\r\n",
    "X-Event-Key: push\r\n",
    "Authorization: Bearer abc\r\n",
    "Cookie: a=b\r\n",
    "Referer: http://example.org/\r\n",
    "Accept-Language: en\r\n",
    "Sec-Fetch-Mode: no-cors\r\n",
    "Upgrade-Insecure-Requests: 1\r\n",
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n",
};

static long change(struct scene *s, const char *header)
{
    char request[512], answer[1024];

    snprintf(request, sizeof(request),
             "POST /policy?policy=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n%s\r\n", header);
    return raw_tcp(&s->server, request, answer, sizeof(answer));
}

int main(void)
{
    char ours[256];
    unsigned taken = 0;
    struct scene s;
    int bad = 0;

    scene_begin_with(&s, "--token=open sesame");
    for (size_t i = 0; i < XS_ARRAY_LEN(k_headers); i++) {
        if (change(&s, k_headers[i]) == 200) {
            printf("taken with %s\n", k_headers[i][0] ? k_headers[i] : "no header");
            taken++;
        }
        snprintf(ours, sizeof(ours), "%sX-XSched-Token: open sesame\r\n", k_headers[i]);
        bad |= change(&s, ours) != 200;
    }
    printf("%u of %zu forwarded changes were taken%s\n", taken, XS_ARRAY_LEN(k_headers),
           bad ? "; one with the token was REFUSED" : "");
    bad |= scene_end(&s, "http_forwarder", 0, 50);
    return bad || taken;
}
