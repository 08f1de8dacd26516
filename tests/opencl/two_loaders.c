/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders in one process, each with drivers of its own: two_loaders LOADER OTHER DRIVERS OTHERS_DRIVERS [THIRD]. The first and
 * the third have the drivers of the folder DRIVERS. Prints what each of them says, which XSched must not change. */
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct loader {
    cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *);
    cl_int (*devices)(cl_platform_id, cl_device_type, cl_uint, cl_device_id *, cl_uint *);
    cl_context (*context)(const cl_context_properties *, cl_uint, const cl_device_id *,
                          void (*)(const char *, const void *, size_t, void *), void *, cl_int *);
    cl_command_queue (*queue)(cl_context, cl_device_id, cl_command_queue_properties, cl_int *);
    cl_mem (*buffer)(cl_context, cl_mem_flags, size_t, void *, cl_int *);
    cl_int (*write)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *);
    cl_int (*read)(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *);
    cl_int (*finish)(cl_command_queue);
    cl_int (*release)(cl_command_queue);
};

static struct loader open_loader(const char *path)
{
    static const char *const names[] = {"clGetPlatformIDs",    "clGetDeviceIDs",       "clCreateContext",
                                        "clCreateCommandQueue", "clCreateBuffer",       "clEnqueueWriteBuffer",
                                        "clEnqueueReadBuffer",  "clFinish",             "clReleaseCommandQueue"};
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL), *fn[sizeof(names) / sizeof(names[0])];
    struct loader l;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!lib || !(fn[i] = dlsym(lib, names[i]))) {
            printf("%s: %s\n", path, dlerror());
            exit(2);
        }
    memcpy(&l, fn, sizeof(l));
    return l;
}

static int count(const struct loader *l)
{
    cl_uint n = 0;
    cl_int err = l->platforms(0, NULL, &n);

    return err ? err : (int)n;
}

/* Writes and reads back through a queue; each command may get a mark of ours. */
static int work(const struct loader *l, unsigned value)
{
    unsigned out = 0;
    cl_platform_id platform = NULL;
    cl_device_id device = NULL;
    cl_command_queue queue;
    cl_context context;
    cl_int err = 0;
    cl_mem mem;

    l->platforms(1, &platform, NULL);
    l->devices(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
    context = l->context(NULL, 1, &device, NULL, NULL, &err);
    queue = err ? NULL : l->queue(context, device, 0, &err);
    mem = err ? NULL : l->buffer(context, CL_MEM_READ_WRITE, sizeof(value), NULL, &err);
    for (int i = 0; !err && i < 100; i++)
        err = l->write(queue, mem, CL_FALSE, 0, sizeof(value), &value, 0, NULL, NULL);
    err = err ? err : l->finish(queue);
    err = err ? err : l->read(queue, mem, CL_TRUE, 0, sizeof(out), &out, 0, NULL, NULL);
    err = err ? err : l->release(queue);
    return err ? err : (int)out;
}

int main(int argc, char **argv)
{
    struct loader one, other;

    if (argc < 5)
        return 2;
    setenv("OCL_ICD_VENDORS", argv[3], 1);
    one = open_loader(argv[1]);
    printf("one: %d", count(&one));
    setenv("OCL_ICD_VENDORS", argv[4], 1); /* a loader reads that once, at its first call */
    other = open_loader(argv[2]);
    printf(", other: %d, one: %d, work: %d", count(&other), count(&one), work(&one, 7));
    if (argc > 5) {
        struct loader third;

        setenv("OCL_ICD_VENDORS", argv[3], 1);
        third = open_loader(argv[5]);
        printf(", third: %d, work: %d, other: %d, one: %d", count(&third), work(&third, 8), count(&other), count(&one));
    }
    printf("\n");
    return 0;
}
