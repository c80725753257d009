/* SPDX-License-Identifier: MIT */
/* Kernels that wait for what the program does while they run: a store of the host, a function of it, a copy, another kernel. With an
   argument, only the first and the third of these. */
#include "check.h"

#include <pthread.h>

__global__ void wait_for(volatile int *flag, int value, int *seen)
{
    while (*flag != value)
        ;
    *seen = value;
}

__global__ void raise(volatile int *flag, int value)
{
    *flag = value;
}

/* Answers each number that the host writes, until it writes 0. The last word counts how often it has looked. */
__global__ void serve(volatile int *asked, volatile int *answered, volatile int *looks)
{
    int last = -1;
    while (last) {
        (*looks)++;
        int now = *asked;
        if (now != last) {
            __threadfence();
            *answered = 2 * now + 1;
            last = now;
        }
    }
}

struct mailbox {
    volatile int *flag;
    int *device_flag;
    cudaStream_t stream;
};

static void raise_by_host(void *user)
{
    *((mailbox *)user)->flag = 2;
}

/* While the other thread is in a call that waits. */
static void *raise_by_copy(void *user)
{
    const mailbox *box = (const mailbox *)user;
    static int value;
    value = 6;
    CHECK(cudaMemcpyAsync(box->device_flag, &value, sizeof value, cudaMemcpyHostToDevice, box->stream));
    return NULL;
}

static void store_of_host(const mailbox *box, cudaStream_t waiting, int *seen)
{
    wait_for<<<1, 32, 0, waiting>>>(box->flag, 1, seen);
    EXPECT(cudaStreamQuery(waiting) == cudaErrorNotReady);
    *box->flag = 1;
    CHECK(cudaStreamSynchronize(waiting));
}

int main(int argc, char **)
{
    mailbox box;
    int *seen, *pinned, got[7] = {0};
    cudaStream_t waiting;
    CHECK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&box.stream, cudaStreamNonBlocking));
    CHECK(cudaHostAlloc((void **)&box.flag, 4 * sizeof *box.flag, cudaHostAllocMapped));
    CHECK(cudaHostAlloc((void **)&pinned, sizeof *pinned, cudaHostAllocDefault));
    CHECK(cudaMalloc(&box.device_flag, sizeof *box.device_flag));
    CHECK(cudaMalloc(&seen, sizeof got));
    CHECK(cudaMemset(seen, 0, sizeof got));
    CHECK(cudaMemset(box.device_flag, 0, sizeof *box.device_flag));
    CHECK(cudaDeviceSynchronize());
    *box.flag = 0;

    store_of_host(&box, waiting, &seen[1]);

    *pinned = 3;
    wait_for<<<1, 1, 0, waiting>>>(box.device_flag, 3, &seen[3]);
    CHECK(cudaMemcpyAsync(box.device_flag, pinned, sizeof *pinned, cudaMemcpyHostToDevice, box.stream));
    CHECK(cudaStreamSynchronize(waiting));
    if (argc > 1) {
        CHECK(cudaMemcpy(got, seen, sizeof got, cudaMemcpyDeviceToHost));
        EXPECT(got[1] == 1 && got[3] == 3);
        return 0;
    }

    wait_for<<<2, 64, 0, waiting>>>(box.flag, 2, &seen[2]);
    CHECK(cudaLaunchHostFunc(box.stream, raise_by_host, &box));
    CHECK(cudaDeviceSynchronize());

    /* one waits for another one that waits, too */
    wait_for<<<1, 1, 0, waiting>>>(box.device_flag, 5, &seen[5]);
    wait_for<<<1, 1, 0, box.stream>>>(box.flag, 4, &seen[4]);
    raise<<<1, 1, 0, box.stream>>>(box.device_flag, 5);
    EXPECT(cudaStreamQuery(box.stream) == cudaErrorNotReady);
    *box.flag = 4;
    CHECK(cudaStreamSynchronize(waiting));
    CHECK(cudaStreamSynchronize(box.stream));

    pthread_t thread;
    wait_for<<<1, 1, 0, waiting>>>(box.device_flag, 6, &seen[6]);
    EXPECT(pthread_create(&thread, NULL, raise_by_copy, &box) == 0);
    CHECK(cudaStreamSynchronize(waiting));
    pthread_join(thread, NULL);
    CHECK(cudaDeviceSynchronize());

    CHECK(cudaMemcpy(got, seen, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 1; i < 7; i++)
        EXPECT(got[i] == i);

    /* a kernel that stays and works for the host, which calls nothing meanwhile */
    box.flag[0] = -1, box.flag[1] = 0, box.flag[2] = 0;
    serve<<<1, 1, 0, waiting>>>(&box.flag[0], &box.flag[1], &box.flag[2]);
    EXPECT(cudaStreamQuery(waiting) == cudaErrorNotReady);
    for (int i = 20; i >= 0; i--) {
        box.flag[0] = i;
        while (box.flag[1] != 2 * i + 1)
            ;
    }
    CHECK(cudaStreamSynchronize(waiting));
    EXPECT(box.flag[2] > 20);
    return 0;
}
