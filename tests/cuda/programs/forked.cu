/* SPDX-License-Identifier: MIT */
/* A child that was forked after CUDA was used is told so; one that was forked before may use it. */
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

__global__ void nothing()
{
}

static int in_child(int (*work)())
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(work());
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int use()
{
    nothing<<<1, 1>>>();
    return cudaDeviceSynchronize() == cudaSuccess ? 7 : 8;
}

static int refused()
{
    void *p;
    return cudaMalloc(&p, 16) == cudaErrorInitializationError ? 9 : 10;
}

int main()
{
    EXPECT(in_child(use) == 7);
    EXPECT(use() == 7);
    EXPECT(in_child(refused) == 9);
    EXPECT(use() == 7);
    return 0;
}
