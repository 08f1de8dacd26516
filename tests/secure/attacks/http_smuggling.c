/* SPDX-License-Identifier: Apache-2.0 */
/* Requests whose end or whose target a forwarder in front of xserver could read differently: the rest of one user's request
 * would become the beginning of another's. */
#include "scene.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define HEAD(line) line " HTTP/1.1\r\nConnection: close\r\n"
#define HOST       "Host: localhost\r\n"

static const struct {
    const char *what, *text;
    size_t bytes;
} k_requests[] = {
#define ROW(what, text) {what, text, sizeof(text) - 1}
    ROW("two Hosts", HEAD("GET /policy") HOST "Host: example.org\r\n\r\n"),
    ROW("two lengths", HEAD("POST /policy?policy=1") HOST "Content-Length: 0\r\nContent-Length: 3\r\n\r\nabc"),
    ROW("two equal lengths", HEAD("POST /policy?policy=1") HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
    ROW("a list of lengths", HEAD("POST /policy?policy=1") HOST "Content-Length: 3, 3\r\n\r\nabc"),
    ROW("a signed length", HEAD("POST /policy?policy=1") HOST "Content-Length: +3\r\n\r\nabc"),
    ROW("a length with a space", HEAD("POST /policy?policy=1") HOST "Content-Length : 3\r\n\r\nabc"),
    ROW("chunks and a length",
        HEAD("POST /policy?policy=1") HOST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    ROW("two codings",
        HEAD("POST /policy?policy=1") HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"),
    ROW("another coding", HEAD("POST /policy?policy=1") HOST "Transfer-Encoding: x, chunked\r\n\r\n0\r\n\r\n"),
    ROW("a folded header", HEAD("POST /policy?policy=1") HOST "X-A: b\r\n Content-Length: 3\r\n\r\n"),
    ROW("%00 in the path", HEAD("GET /policy%00/../../secret") HOST "\r\n"),
    ROW("NUL in the path", HEAD("GET /policy\0.css") HOST "\r\n"),
    ROW("NUL in an argument", HEAD("GET /timeline?since=0\0x") HOST "\r\n"),
    ROW("NUL in a name", HEAD("GET /policy") HOST "Content-Length\0: 3\r\n\r\n"),
    ROW("two tokens", HEAD("GET /policy") HOST "X-XSched-Token: a\r\nX-XSched-Token: b\r\n\r\n"),
#undef ROW
};

/* @return the status of the answer; 0: none in time */
static long ask(int port, const char *text, size_t bytes)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 2};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    char answer[256] = "";
    long status = 0;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && scene_send(fd, text, bytes, NULL, 0) == 0 &&
        recv(fd, answer, sizeof(answer) - 1, 0) > 0)
        sscanf(answer, "HTTP/1.1 %ld", &status);
    close(fd);
    return status;
}

int main(void)
{
    unsigned taken = 0;
    struct scene s;
    int bad, port;

    scene_begin(&s);
    port = (int)raw_status(&s.server, "http_port");
    for (size_t i = 0; i < XS_ARRAY_LEN(k_requests); i++) {
        long status = ask(port, k_requests[i].text, k_requests[i].bytes);

        if (status == 400)
            continue;
        printf("%s: status %ld\n", k_requests[i].what, status);
        taken++;
    }
    printf("%u of %zu ambiguous requests were not refused\n", taken, XS_ARRAY_LEN(k_requests));
    bad = scene_end(&s, "http_smuggling", 0, 50);
    return bad || taken;
}
