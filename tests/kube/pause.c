/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a pod's sandbox: static, since its image holds nothing else. */
#include <unistd.h>

int main(void)
{
    for (;;)
        pause(); /* the signal that ends it has its usual effect, unless it is process 1: then SIGKILL comes */
}
