/* SPDX-License-Identifier: MIT */
/* Arrays, textures and surfaces of the driver API, from a module of PTX text. */
#include "check.h"
#include "../include/driver_texture.h"

#include <cmath>
#include <vector>

static const char text[] =
    ".version 6.3\n.target sm_50\n.address_size 64\n"
    ".visible .entry fetch(.param .u64 out, .param .u64 texture, .param .u32 width)\n{\n"
    "    .reg .u64 %p<5>;\n    .reg .u32 %r<5>;\n    .reg .f32 %f<8>;\n"
    "    ld.param.u64 %p1, [out];\n    ld.param.u64 %p2, [texture];\n    ld.param.u32 %r4, [width];\n"
    "    cvta.to.global.u64 %p1, %p1;\n"
    "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %ctaid.x;\n    mad.lo.u32 %r3, %r2, %r4, %r1;\n"
    "    mul.wide.u32 %p3, %r3, 4;\n    add.u64 %p4, %p1, %p3;\n"
    "    cvt.rn.f32.u32 %f1, %r1;\n    cvt.rn.f32.u32 %f2, %r2;\n"
    "    add.f32 %f1, %f1, 0f3F000000;\n    add.f32 %f2, %f2, 0f3F000000;\n"
    "    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%p2, {%f1, %f2}];\n"
    "    st.global.f32 [%p4], %f3;\n    ret;\n}\n"
    ".visible .entry store(.param .u64 surface)\n{\n"
    "    .reg .u64 %p<2>;\n    .reg .u32 %r<4>;\n"
    "    ld.param.u64 %p1, [surface];\n    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, %ctaid.x;\n"
    "    add.u32 %r3, %r1, %r2;\n    sust.b.2d.b8.trap [%p1, {%r1, %r2}], %r3;\n    ret;\n}\n";

#define SUCCEED(call) EXPECT_ERROR(CUDA_SUCCESS, call)

static const int width = 24, height = 10;

/* The picture is 255 times what a texture that normalizes gives. */
static void check_texture(CUmodule module, CUtexObject texture, const std::vector<unsigned char> &picture)
{
    CUfunction fetch;
    CUdeviceptr out;
    std::vector<float> result(width * height);
    unsigned columns = width;
    SUCCEED(cuModuleGetFunction(&fetch, module, "fetch"));
    SUCCEED(cuMemAlloc(&out, result.size() * sizeof(float)));
    void *arguments[] = {&out, &texture, &columns};
    SUCCEED(cuLaunchKernel(fetch, height, 1, 1, width, 1, 1, 0, 0, arguments, 0));
    SUCCEED(cuMemcpyDtoH(result.data(), out, result.size() * sizeof(float)));
    for (int i = 0; i < width * height; i++)
        EXPECT(std::fabs(result[i] - picture[i] / 255.0) < 1e-6);
    SUCCEED(cuMemFree(out));
}

static void copy_box(CUarray array, std::vector<unsigned char> &host, bool to_array)
{
    CUDA_MEMCPY2D copy = {};
    if (to_array) {
        copy.srcMemoryType = CU_MEMORYTYPE_HOST;
        copy.srcHost = host.data();
        copy.srcPitch = width;
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = array;
    } else {
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = array;
        copy.dstMemoryType = CU_MEMORYTYPE_HOST;
        copy.dstHost = host.data();
        copy.dstPitch = width;
    }
    copy.WidthInBytes = width;
    copy.Height = height;
    SUCCEED(cuMemcpy2D(&copy));
    copy.WidthInBytes = width + 1;
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&copy));
}

static void pictures(CUmodule module)
{
    std::vector<unsigned char> picture(width * height), back(width * height);
    for (int i = 0; i < width * height; i++)
        picture[i] = (unsigned char)(i * 31);
    CUDA_ARRAY3D_DESCRIPTOR descriptor = {}, told = {};
    descriptor.Width = width;
    descriptor.Height = height;
    descriptor.Format = CU_AD_FORMAT_UNSIGNED_INT8;
    descriptor.NumChannels = 1;
    descriptor.Flags = CUDA_ARRAY3D_SURFACE_LDST;
    CUarray array;
    SUCCEED(cuArray3DCreate(&array, &descriptor));
    SUCCEED(cuArray3DGetDescriptor(&told, array));
    EXPECT(told.Width == (size_t)width && told.Height == (size_t)height && told.Depth == 0 &&
           told.Format == CU_AD_FORMAT_UNSIGNED_INT8 && told.NumChannels == 1 &&
           told.Flags == CUDA_ARRAY3D_SURFACE_LDST);
    descriptor.NumChannels = 3;
    CUarray none;
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&none, &descriptor));
    copy_box(array, picture, true);

    CUDA_RESOURCE_DESC resource = {};
    CUDA_TEXTURE_DESC reading = {}, same;
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    reading.addressMode[0] = reading.addressMode[1] = CU_TR_ADDRESS_MODE_CLAMP;
    CUtexObject texture;
    CUsurfObject surface;
    SUCCEED(cuTexObjectCreate(&texture, &resource, &reading, 0));
    SUCCEED(cuTexObjectGetTextureDesc(&same, texture));
    EXPECT(same.addressMode[1] == CU_TR_ADDRESS_MODE_CLAMP && same.flags == 0);
    check_texture(module, texture, picture);
    SUCCEED(cuTexObjectDestroy(texture));

    CUfunction store;
    SUCCEED(cuModuleGetFunction(&store, module, "store"));
    SUCCEED(cuSurfObjectCreate(&surface, &resource));
    void *arguments[] = {&surface};
    SUCCEED(cuLaunchKernel(store, height, 1, 1, width, 1, 1, 0, 0, arguments, 0));
    copy_box(array, back, false);
    for (int i = 0; i < width * height; i++)
        EXPECT(back[i] == i % width + i / width);
    SUCCEED(cuSurfObjectDestroy(surface));
    SUCCEED(cuArrayDestroy(array));
    EXPECT_ERROR(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));

    /* The same picture in pitched memory. */
    CUdeviceptr memory;
    size_t pitch;
    SUCCEED(cuMemAllocPitch(&memory, &pitch, width, height, 4));
    for (int y = 0; y < height; y++)
        SUCCEED(cuMemcpyHtoD(memory + y * pitch, &picture[y * width], width));
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = memory;
    resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    CUDA_RESOURCE_DESC again = {};
    SUCCEED(cuTexObjectCreate(&texture, &resource, &reading, 0));
    SUCCEED(cuTexObjectGetResourceDesc(&again, texture));
    EXPECT(again.resType == CU_RESOURCE_TYPE_PITCH2D && again.res.pitch2D.devPtr == memory &&
           again.res.pitch2D.format == CU_AD_FORMAT_UNSIGNED_INT8 && again.res.pitch2D.pitchInBytes == pitch);
    check_texture(module, texture, picture);
    SUCCEED(cuTexObjectDestroy(texture));
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(texture));
    SUCCEED(cuMemFree(memory));
}

static void lines_and_boxes()
{
    const int count = 100;
    std::vector<float> line(count), back(count);
    for (int i = 0; i < count; i++)
        line[i] = (float)i;
    CUDA_ARRAY_DESCRIPTOR descriptor = {}, told = {};
    descriptor.Width = count;
    descriptor.Format = CU_AD_FORMAT_FLOAT;
    descriptor.NumChannels = 1;
    CUarray array, other;
    SUCCEED(cuArrayCreate(&array, &descriptor));
    SUCCEED(cuArrayCreate(&other, &descriptor));
    SUCCEED(cuArrayGetDescriptor(&told, array));
    EXPECT(told.Width == (size_t)count && told.Height == 0 && told.Format == CU_AD_FORMAT_FLOAT);
    SUCCEED(cuMemcpyHtoA(array, 40, line.data(), 200)); /* 10 … 59 */
    SUCCEED(cuMemcpyAtoA(other, 0, array, 80, 80));     /* 20 … 39 */
    SUCCEED(cuMemcpyAtoH(back.data(), other, 40, 40));
    for (int i = 0; i < 10; i++)
        EXPECT(back[i] == (float)(i + 20));
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA(array, 396, line.data(), 8));
    SUCCEED(cuArrayDestroy(array));
    SUCCEED(cuArrayDestroy(other));

    CUDA_ARRAY3D_DESCRIPTOR box = {};
    box.Width = 5;
    box.Height = 4;
    box.Depth = 5;
    box.Format = CU_AD_FORMAT_FLOAT;
    box.NumChannels = 1;
    SUCCEED(cuArray3DCreate(&array, &box));
    CUDA_MEMCPY3D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = line.data();
    copy.srcPitch = 20;
    copy.srcHeight = 4;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = 20;
    copy.Height = 4;
    copy.Depth = 5;
    SUCCEED(cuMemcpy3D(&copy));
    CUDA_MEMCPY3D some = {};
    some.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    some.srcArray = array;
    some.srcXInBytes = 4;
    some.srcY = 2;
    some.srcZ = 3;
    some.dstMemoryType = CU_MEMORYTYPE_HOST;
    some.dstHost = back.data();
    some.dstPitch = 12;
    some.dstHeight = 2;
    some.WidthInBytes = 12;
    some.Height = 2;
    some.Depth = 2;
    SUCCEED(cuMemcpy3D(&some));
    for (int i = 0; i < 12; i++)
        EXPECT(back[i] == (float)(1 + i % 3 + 5 * (2 + i / 3 % 2) + 20 * (3 + i / 6)));
    SUCCEED(cuArrayDestroy(array));
}

/* What is missing or was never made is an error and nothing more. */
static void wild()
{
    CUarray array, no_array = (CUarray)(size_t)0x1230;
    CUtexObject texture;
    CUsurfObject surface;
    CUDA_RESOURCE_DESC resource = {};
    CUDA_TEXTURE_DESC reading = {};
    CUDA_ARRAY_DESCRIPTOR huge = {};
    CUDA_MEMCPY2D copy = {};
    char byte = 0;
    huge.Width = huge.Height = (size_t)1 << 30;
    huge.Format = CU_AD_FORMAT_FLOAT;
    huge.NumChannels = 4;
    EXPECT(cuArrayCreate(&array, &huge) != CUDA_SUCCESS);
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuArrayCreate(&array, 0));
    EXPECT_ERROR(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(no_array));
    EXPECT_ERROR(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(0));
    EXPECT_ERROR(CUDA_ERROR_INVALID_HANDLE, cuMemcpyHtoA(no_array, 0, &byte, 1));
    EXPECT_ERROR(CUDA_ERROR_INVALID_HANDLE, cuMemcpyAtoH(&byte, 0, 0, 1));
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = no_array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = &byte;
    copy.WidthInBytes = copy.Height = 1;
    EXPECT_ERROR(CUDA_ERROR_INVALID_HANDLE, cuMemcpy2D(&copy));
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, 0, &reading, 0));
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, &resource, 0, 0));
    resource.res.array.hArray = no_array;
    EXPECT_ERROR(CUDA_ERROR_INVALID_HANDLE, cuTexObjectCreate(&texture, &resource, &reading, 0));
    EXPECT_ERROR(CUDA_ERROR_INVALID_HANDLE, cuSurfObjectCreate(&surface, &resource));
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = 0x1230;
    resource.res.linear.format = CU_AD_FORMAT_FLOAT;
    resource.res.linear.numChannels = 1;
    resource.res.linear.sizeInBytes = 64;
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, &resource, &reading, 0));
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(0x1230));
    EXPECT_ERROR(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetTextureDesc(&reading, 0x1230));
}

int main()
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    SUCCEED(cuInit(0));
    SUCCEED(cuDeviceGet(&device, 0));
    SUCCEED(cuCtxCreate_v2(&context, 0, device));
    SUCCEED(cuModuleLoadData(&module, text));
    pictures(module);
    lines_and_boxes();
    wild();
    SUCCEED(cuModuleUnload(module));
    SUCCEED(cuCtxDestroy(context));
    return 0;
}
