/* SPDX-License-Identifier: Apache-2.0 */
/* What a program asks a copy of a vendor's library for: its number. */
#ifndef XS_BINDING_CALLER_H
#define XS_BINDING_CALLER_H

#if defined(HIP)
#define FUNCTION     hipRuntimeGetVersion
#define FUNCTION_2   hipDriverGetVersion
#define NAME         "hipRuntimeGetVersion"
#define CALL(fn, v)  fn(v)
typedef int function(int *);
#elif defined(CUDA)
#define FUNCTION     cuDriverGetVersion
#define NAME         "cuDriverGetVersion"
#define CALL(fn, v)  fn(v)
typedef int function(int *);
#elif defined(OPENCL)
#define FUNCTION     clGetPlatformIDs
#define NAME         "clGetPlatformIDs"
#define CALL(fn, v)  fn(0, 0, (unsigned *)(v))
typedef int function(unsigned, void **, unsigned *);
#endif

#endif
