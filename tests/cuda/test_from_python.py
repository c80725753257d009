#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The driver API as libraries of other languages use it: opened by its short name, every function found by name and version, a device
chosen by its attributes, the primary context retained and pushed, PTX linked with messages, kernels launched with packed arguments,
memory and events freed late, from another thread.

    test_from_python.py           under `corun exec`
"""
import ctypes
import threading

KERNEL = b""".version 6.3
.target sm_50
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .f64 a, .param .u32 n)
{
.reg .pred %p; .reg .b32 %r<5>; .reg .b64 %d<6>; .reg .f64 %f<4>;
mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %r3, %r0, %r1, %r2;
ld.param.u32 %r4, [n]; setp.ge.u32 %p, %r3, %r4; @%p ret;
ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; ld.param.f64 %f0, [a];
mul.wide.u32 %d2, %r3, 8; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
ld.global.f64 %f1, [%d3]; ld.global.f64 %f2, [%d4]; fma.rn.f64 %f3, %f0, %f1, %f2; st.global.f64 [%d4], %f3;
ret;
}
"""
COUNT = 1000
NOT_FOUND, INVALID_CONTEXT = 500, 201
driver = ctypes.CDLL("libcuda.so")


class Functions:
    """As a binding does it: by name and version; a function that is not there is None."""

    def __init__(self, version):
        self.version = version

    def __getattr__(self, name):
        entry, status = ctypes.c_void_p(), ctypes.c_int()
        result = driver.cuGetProcAddress_v2(name.encode(), ctypes.byref(entry), self.version, ctypes.c_uint64(0), ctypes.byref(status))
        assert result == 0 and (entry.value is None) == (status.value != 0)
        return ctypes.CFUNCTYPE(ctypes.c_int)(entry.value) if entry.value else None


def good(result):
    assert result == 0, result


def attribute(cuda, number):
    value = ctypes.c_int()
    good(cuda.cuDeviceGetAttribute(ctypes.byref(value), number, 0))
    return value.value


def link(cuda):
    """PTX through the linker to a module, with both buffers for messages."""
    info, errors = ctypes.create_string_buffer(512), ctypes.create_string_buffer(512)
    options = (ctypes.c_int * 4)(3, 4, 5, 6)
    values = (ctypes.c_void_p * 4)(ctypes.addressof(info), 512, ctypes.addressof(errors), 512)
    state, image, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    good(cuda.cuLinkCreate(4, options, values, ctypes.byref(state)))
    good(cuda.cuLinkAddData(state, 1, KERNEL, ctypes.c_size_t(len(KERNEL)), b"axpy", 0, None, None))
    good(cuda.cuLinkComplete(state, ctypes.byref(image), ctypes.byref(size)))
    assert size.value > 0
    good(cuda.cuModuleLoadDataEx(ctypes.byref(module), image, 0, None, None))
    good(cuda.cuLinkDestroy(state))
    good(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"axpy"))
    assert cuda.cuModuleGetFunction(ctypes.byref(ctypes.c_void_p()), module, b"nothing") == NOT_FOUND
    bad = ctypes.c_void_p()
    good(cuda.cuLinkCreate(4, options, values, ctypes.byref(bad)))
    cuda.cuLinkAddData(bad, 1, b".version 6.3\n.nonsense", ctypes.c_size_t(22), b"bad", 0, None, None)
    values[1] = values[3] = 512  # told how much was written
    assert cuda.cuModuleLoadDataEx(ctypes.byref(ctypes.c_void_p()), b".version 6.3\n.nonsense", 4, options, values) != 0
    assert errors.value
    good(cuda.cuLinkDestroy(bad))
    return module, function


def axpy(cuda, function):
    x, y = (ctypes.c_double * COUNT)(*range(COUNT)), (ctypes.c_double * COUNT)(*([1.0] * COUNT))
    at_x, at_y, stream = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_void_p()
    start, end, milliseconds = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
    size = ctypes.c_size_t(ctypes.sizeof(x))
    good(cuda.cuMemAlloc(ctypes.byref(at_x), size))
    good(cuda.cuMemAlloc(ctypes.byref(at_y), size))
    good(cuda.cuStreamCreate(ctypes.byref(stream), 0))
    good(cuda.cuEventCreate(ctypes.byref(start), 0))
    good(cuda.cuEventCreate(ctypes.byref(end), 0))
    good(cuda.cuMemcpyHtoDAsync(at_x, x, size, stream))
    good(cuda.cuMemcpyHtoDAsync(at_y, y, size, stream))
    values = [at_x, at_y, ctypes.c_double(2.0), ctypes.c_uint32(COUNT)]
    arguments = (ctypes.c_void_p * 4)(*[ctypes.addressof(value) for value in values])
    good(cuda.cuEventRecord(start, stream))
    good(cuda.cuLaunchKernel(function, (COUNT + 127) // 128, 1, 1, 128, 1, 1, 0, stream, arguments, None))
    good(cuda.cuEventRecord(end, stream))
    good(cuda.cuMemcpyDtoHAsync(y, at_y, size, stream))
    good(cuda.cuStreamSynchronize(stream))
    good(cuda.cuEventElapsedTime(ctypes.byref(milliseconds), start, end))
    assert list(y) == [2.0 * i + 1 for i in range(COUNT)] and milliseconds.value > 0
    return at_x, at_y, stream, start, end


def finish(cuda, context, left):
    """A garbage collector's thread: no context of its own."""
    at_x, at_y, stream, start, end = left
    assert cuda.cuCtxGetDevice(ctypes.byref(ctypes.c_int())) in (0, INVALID_CONTEXT)
    good(cuda.cuCtxPushCurrent(context))
    for event in (start, end):
        good(cuda.cuEventDestroy(event))
    good(cuda.cuStreamDestroy(stream))
    good(cuda.cuMemFree(at_x))
    good(cuda.cuMemFree(at_y))
    good(cuda.cuCtxPopCurrent(ctypes.byref(ctypes.c_void_p())))


def main(version):
    cuda = Functions(version)
    assert cuda.cuThereIsNoSuchFunction is None
    installed, count, name = ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(100)
    good(cuda.cuDriverGetVersion(ctypes.byref(installed)))
    good(cuda.cuInit(0))
    good(cuda.cuDeviceGetCount(ctypes.byref(count)))
    good(cuda.cuDeviceGetName(name, 100, 0))
    assert installed.value >= 12000 and count.value >= 1 and name.value
    assert attribute(cuda, 10) == 32 and attribute(cuda, 75) >= 1 and attribute(cuda, 41) == 1
    good(cuda.cuDeviceGetUuid(ctypes.create_string_buffer(16), 0))
    context, popped = ctypes.c_void_p(), ctypes.c_void_p()
    good(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    good(cuda.cuCtxPushCurrent(context))
    device = ctypes.c_int(-1)
    good(cuda.cuCtxGetDevice(ctypes.byref(device)))
    assert device.value == 0
    module, function = link(cuda)
    registers, grid, block = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    good(cuda.cuFuncGetAttribute(ctypes.byref(registers), 4, function))
    good(cuda.cuOccupancyMaxPotentialBlockSize(ctypes.byref(grid), ctypes.byref(block), function, None, ctypes.c_size_t(0), 0))
    assert registers.value > 0 and grid.value > 0 and block.value % 32 == 0
    left = axpy(cuda, function)
    thread = threading.Thread(target=finish, args=(cuda, context, left))
    thread.start()
    thread.join()
    good(cuda.cuModuleUnload(module))
    good(cuda.cuCtxSynchronize())
    good(cuda.cuCtxPopCurrent(ctypes.byref(popped)))
    assert popped.value == context.value
    good(cuda.cuDevicePrimaryCtxRelease(0))


for asked in (11020, 12000, 12080, 13000):
    main(asked)
print("from Python: good")
