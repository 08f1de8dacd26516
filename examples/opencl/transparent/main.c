/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL program that knows nothing of XSched: `xsched run` schedules it as it is. */
#include "../common/ocl.h"

#define COUNT    64
#define ROUNDS   20000
#define LAUNCHES 200

int main(void)
{
    struct ocl o = ocl_open();
    cl_command_queue queue = ocl_queue(&o);
    cl_mem buffer = ocl_numbers(&o, COUNT);
    cl_kernel kernel = ocl_kernel(&o, buffer, ROUNDS);
    size_t count = COUNT;
    double begin = now_ms();

    for (int i = 0; i < LAUNCHES; i++)
        CHECK_CL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    CHECK_CL(clFinish(queue));
    printf("%d kernels in %.1f ms\n", LAUNCHES, now_ms() - begin);
    ocl_verify(queue, buffer, COUNT, ROUNDS, LAUNCHES);
    puts("results are right");
    clReleaseKernel(kernel);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    clReleaseProgram(o.program);
    clReleaseContext(o.context);
    return 0;
}
