/* SPDX-License-Identifier: MIT */
/* Several devices, chosen by CUDA_VISIBLE_DEVICES: run with three GPUs of which 2 and 0 are visible. */
#include "check.h"

#include <cstring>

__global__ void write(int *p, int value)
{
    *p = value;
}

__global__ void add_to(int *total, const int *p)
{
    atomicAdd(total, *p);
}

/* Memory that the host sees is every device's, whichever was current when it was allocated, and whenever that was first used. */
static void host_memory()
{
    static int registered[1024];
    int *managed, *pinned, *total;
    CHECK(cudaMallocManaged(&managed, sizeof *managed));
    CHECK(cudaHostAlloc(&pinned, sizeof *pinned, 0));
    CHECK(cudaMallocManaged(&total, sizeof *total));
    CHECK(cudaHostRegister(registered, sizeof registered, 0));
    *managed = 100, *pinned = 20, *total = 0, registered[1000] = 3;
    for (int i = 0; i < 4; i++) {
        CHECK(cudaSetDevice(i % 2));
        if (i == 3)
            CHECK(cudaDeviceReset()); /* its own goes, that of the other one is still there */
        add_to<<<1, 1>>>(total, managed);
        add_to<<<1, 1>>>(total, pinned);
        add_to<<<1, 1>>>(total, registered + 1000);
        CHECK(cudaDeviceSynchronize());
        EXPECT(*total == (i + 1) * 123);
    }
    CHECK(cudaHostUnregister(registered));
    CHECK(cudaFreeHost(pinned));
    add_to<<<1, 1>>>(total, managed);
    CHECK(cudaFree(managed)); /* of the other device: waits for this one, too */
    EXPECT(*total == 4 * 123 + 100);
    add_to<<<1, 1>>>(total, managed);
    EXPECT_ERROR(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    CHECK(cudaDeviceReset());
}

/* Boxes of arrays and of other memory go from device to device. */
static void copy_boxes()
{
    const int columns = 6, rows = 4, slices = 2, texels = columns * rows * slices;
    int from[texels], to[texels] = {0};
    const cudaExtent extent = make_cudaExtent(columns, rows, slices);
    cudaChannelFormatDesc texel = cudaCreateChannelDesc<int>();
    cudaArray_t array[2];
    for (int i = 0; i < texels; i++)
        from[i] = 7 * i;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaMalloc3DArray(&array[i], &texel, extent));
    }
    cudaMemcpy3DParms in = {};
    in.srcPtr = make_cudaPitchedPtr(from, columns * sizeof *from, columns, rows);
    in.dstArray = array[0];
    in.extent = extent;
    in.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&in));
    cudaMemcpy3DPeerParms across = {};
    across.srcArray = array[0];
    across.srcDevice = 0;
    across.dstArray = array[1];
    across.dstDevice = 1;
    across.extent = extent;
    CHECK(cudaMemcpy3DPeer(&across));
    cudaMemcpy3DParms out = {};
    out.srcArray = array[1];
    out.dstPtr = make_cudaPitchedPtr(to, columns * sizeof *to, columns, rows);
    out.extent = extent;
    out.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&out));
    EXPECT(!memcmp(from, to, sizeof from));
    for (int i = 0; i < 2; i++)
        CHECK(cudaFreeArray(array[i]));
}

/* Time between events of two devices is no time of either. A stream that would join another device's capture is told that it cannot, and so is who ends that. */
static void events()
{
    cudaStream_t stream[2];
    cudaEvent_t event[2];
    cudaGraph_t graph;
    float time;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaStreamCreate(&stream[i]));
        CHECK(cudaEventCreate(&event[i]));
        CHECK(cudaEventRecord(event[i], stream[i]));
        CHECK(cudaEventSynchronize(event[i]));
        CHECK(cudaEventElapsedTime(&time, event[i], event[i]));
    }
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, event[0], event[1]));
    CHECK(cudaStreamWaitEvent(stream[1], event[0], 0));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamBeginCapture(stream[0], cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(event[0], stream[0]));
    EXPECT_ERROR(cudaErrorNotSupported, cudaStreamWaitEvent(stream[1], event[0], 0));
    EXPECT_ERROR(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream[0], &graph));
    for (int i = 0; i < 2; i++) {
        CHECK(cudaStreamDestroy(stream[i]));
        CHECK(cudaEventDestroy(event[i]));
    }
    (void)cudaGetLastError();
}

__global__ void wait_and_write(int *p, int value)
{
    for (int i = 0; i < 200; i++)
        __nanosleep(1000);
    *p = value;
}

/* Memory of a device is filled in a stream of another one, in its order, and without one behind what its own device has to do with it. */
static void fills()
{
    int *there, *here, value;
    cudaStream_t stream;
    CHECK(cudaSetDevice(1));
    CHECK(cudaMalloc(&there, 4 * sizeof *there));
    CHECK(cudaMemset(there, 0, 4 * sizeof *there));
    wait_and_write<<<1, 1>>>(there, 77);
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemset(there, 1, sizeof *there));
    CHECK(cudaMemcpy(&value, there, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 0x01010101);
    CHECK(cudaMalloc(&here, sizeof *here));
    CHECK(cudaStreamCreate(&stream));
    wait_and_write<<<1, 1, 0, stream>>>(here, 55);
    CHECK(cudaMemcpyAsync(there, here, sizeof *here, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemsetAsync(there, 2, 2, stream));
    CHECK(cudaMemset2DAsync(there + 1, 2 * sizeof *there, 3, 4, 2, stream));
    CHECK(cudaStreamSynchronize(stream));
    int values[4];
    CHECK(cudaMemcpy(values, there, sizeof values, cudaMemcpyDeviceToHost));
    EXPECT(values[0] == 0x0202 && values[1] == 0x03030303 && values[2] == 0 && values[3] == 0x03030303);
    EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(there, 0, 5 * 4096 * sizeof *there));
    (void)cudaGetLastError();
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(here));
    CHECK(cudaFree(there));
}

/* What the host sees is filled when the call returns. */
static void fills_of_host_memory()
{
    unsigned *pinned, *managed;
    CHECK(cudaHostAlloc(&pinned, 64, 0));
    CHECK(cudaMallocManaged(&managed, 64));
    pinned[3] = managed[3] = 0;
    CHECK(cudaMemset(pinned, 4, 64));
    EXPECT(pinned[3] == 0x04040404);
    CHECK(cudaMemset(managed, 5, 64));
    EXPECT(managed[3] == 0x05050505);
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(managed));
}

int main()
{
    int count, current, value, *device[2];
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count == 2);
    cudaDeviceProp properties[2];
    for (int i = 0; i < 2; i++) {
        CHECK(cudaGetDeviceProperties(&properties[i], i));
        CHECK(cudaSetDevice(i));
        CHECK(cudaMalloc(&device[i], sizeof(int)));
        write<<<1, 1>>>(device[i], 10 + i);
    }
    EXPECT(!strcmp(properties[0].name, "quadro-v100") && !strcmp(properties[1].name, "gtx980"));
    CHECK(cudaGetDevice(&current));
    EXPECT(current == 1);
    CHECK(cudaMemcpy(&value, device[1], sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 11);
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpy(&value, device[0], sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 10);
    CHECK(cudaMemcpyPeer(device[0], 0, device[1], 1, sizeof value));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaMemcpyPeer(device[0], 0, device[1], 2, sizeof value));
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaMemcpyPeer(device[0], -1, device[1], 1, sizeof value));
    (void)cudaGetLastError();
    CHECK(cudaMemcpy(&value, device[0], sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 11);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, device[1]));
    EXPECT(attributes.device == 1);
    EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(2));
    copy_boxes();
    events();
    fills();
    fills_of_host_memory();
    CHECK(cudaSetDevice(0));
    host_memory();
    return 0;
}
