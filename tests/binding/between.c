/* SPDX-License-Identifier: Apache-2.0 */
/* A library between a caller and the vendor's: it needs others and calls none. */
int between(void);

__attribute__((visibility("default"))) int between(void)
{
    return 0;
}
