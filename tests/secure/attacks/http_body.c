/* SPDX-License-Identifier: Apache-2.0 */
/* A body that comes byte by byte. */
#include "trickle.h"

int main(void)
{
    return trickle_run("http_body", "POST /hint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n{");
}
