/* SPDX-License-Identifier: Apache-2.0 */
/* As ONNX Runtime's extension of Python: opens another library by its bare name, to which its own run path leads. */
#include <dlfcn.h>

__attribute__((visibility("default"))) void *opens(const char *file);

void *opens(const char *file)
{
    void *volatile lib = dlopen(file, RTLD_NOW | RTLD_LOCAL); /* no jump, which would make the program the caller */

    return lib;
}
