/* SPDX-License-Identifier: Apache-2.0 */
/* A program with NVIDIA's runtime linked into it. Prints what the runtime says: on the fake driver, which lacks the
 * tables that it wants, an error, with us or without. */
#include <stdio.h>
#include <unistd.h>

int cudaGetDeviceCount(int *n);
int cudaFree(void *p);
int cudaDriverGetVersion(int *version);

int main(void)
{
    int n = -1, version = -1, r = cudaDriverGetVersion(&version);

    printf("driver %d: %d\n", r, version);
    r = cudaGetDeviceCount(&n);
    printf("devices %d\n", r);
    printf("free %d\n", cudaFree(NULL));
    fflush(stdout);
    _exit(0);
}
