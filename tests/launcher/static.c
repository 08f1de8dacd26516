/* SPDX-License-Identifier: Apache-2.0 */
/* A program that nothing can be preloaded into; it waits until its input ends. */
#include <stdio.h>

int main(void)
{
    puts("up");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
