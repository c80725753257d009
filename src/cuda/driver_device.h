/* SPDX-License-Identifier: MIT */
/* What files of the driver API share about devices. */
#ifndef CORUN_CUDA_DRIVER_DEVICE_H
#define CORUN_CUDA_DRIVER_DEVICE_H

struct call;
struct device;

/* Begins a call with a device by its number and a place for the result; NULL with the error if one is missing. */
struct device *driver_begin_device(struct call *call, int device, const void *result);

#endif
