/* SPDX-License-Identifier: Apache-2.0 */
/* A header that comes byte by byte: no pause is long enough for a time-out of inactivity. */
#include "trickle.h"

int main(void)
{
    return trickle_run("http_trickle", "GET /status HTTP/1.1\r\nHost: localhost\r\nX-Long: ");
}
