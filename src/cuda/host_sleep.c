/* SPDX-License-Identifier: MIT */
/* The host sleeps in simulated time. */
#include "cuda/host_sleep.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/engine.h"

int corun_host_sleep(unsigned long long nanoseconds)
{
    const uint64_t most = UINT64_C(1000000000000); /* a quarter of an hour */
    struct call call;
    corun_driver_call = true; /* nobody has come through libcuda's table of jumps */
    if (driver_begin(&call))
        call.error = nanoseconds <= most ? engine_host_sleeps(call.process, call.context, nanoseconds)
                                         : CUDA_ERROR_INVALID_VALUE;
    return call_end(&call);
}
