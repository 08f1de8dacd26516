/* SPDX-License-Identifier: Apache-2.0 */
/* Three objects for test_doctor.py: a vendor's library (VENDOR), a shim that lacks one of its functions (SHIM), and an
 * object that depends on the first and calls all three (CALLER). */
#pragma GCC visibility push(default)
int hipLaunchKernel(void);
int hipMalloc(void);
int hipNobodyKnows(void);

#ifdef CALLER
int caller_calls(void);
int caller_calls(void)
{
    return hipLaunchKernel() + hipMalloc() + hipNobodyKnows();
}
#else
int hipLaunchKernel(void)
{
    return 0;
}

int hipMalloc(void)
{
    return 0;
}

#ifdef VENDOR
int hipNobodyKnows(void)
{
    return 0;
}
#endif
#endif
#pragma GCC visibility pop
