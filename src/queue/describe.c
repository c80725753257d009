/* SPDX-License-Identifier: MIT */
/* From the contract's words to the model's, and from residents of an SM to slices. */
#include "queue/describe.h"

void describe_device(const struct corun_queue_device *device, struct model_gpu *gpu)
{
    *gpu = (struct model_gpu){.sms = device->sm_count,
                              .schedulers = device->schedulers_per_sm,
                              .issue_rate = device->issue_rate,
                              .clock_khz = device->core_khz,
                              .capacity = {.threads = device->threads_per_sm,
                                           .tbs = device->tbs_per_sm,
                                           .registers = device->registers_per_sm,
                                           .shared_bytes = device->shared_bytes_per_sm,
                                           .barriers = device->barriers_per_sm},
                              .latency = {[MODEL_COALESCED] = {device->coalesced.slope, device->coalesced.base},
                                          [MODEL_UNCOALESCED] = {device->uncoalesced.slope, device->uncoalesced.base}}};
}

void describe_kernel(const struct corun_queue_profile *profile, struct model_kernel *kernel)
{
    *kernel = (struct model_kernel){.memory_share = profile->memory_share,
                                    .uncoalesced_share = profile->uncoalesced_share,
                                    .coalesced_requests = profile->coalesced_requests,
                                    .uncoalesced_requests = profile->uncoalesced_requests,
                                    .tb_instructions = profile->tb_instructions,
                                    .tbs = profile->tbs,
                                    .tb_warps = profile->tb_warps,
                                    .needs = {.threads = profile->tb_threads,
                                              .tbs = 1,
                                              .registers = profile->tb_registers,
                                              .shared_bytes = profile->tb_shared_bytes,
                                              .barriers = profile->tb_barriers},
                                    .ipc = profile->ipc,
                                    .pipeline_utilization = profile->pipeline_utilization,
                                    .memory_utilization = profile->memory_utilization};
}

static uint32_t smallest_slice(const struct corun_queue_view *view, const struct corun_queue_profile *profile)
{
    return profile->smallest_slice ? profile->smallest_slice : view->device->sm_count;
}

struct corun_queue_grant describe_grant(const struct corun_queue_view *view, uint32_t kind, uint32_t residents,
                                        uint32_t waiting)
{
    const struct corun_queue_kind *row = &view->kinds[kind];
    uint32_t places = residents * view->device->sm_count, slice = smallest_slice(view, &row->profile);
    if (!waiting && slice > places)
        slice = places;
    return (struct corun_queue_grant){
        .launch = row->first, .slice_tbs = slice, .in_flight_tbs = places + waiting * slice};
}

struct corun_queue_grant describe_alone(const struct corun_queue_view *view, uint32_t kind)
{
    const struct corun_queue_kind *row = &view->kinds[kind];
    uint32_t slice = smallest_slice(view, &row->profile);
    return (struct corun_queue_grant){.launch = row->first,
                                      .slice_tbs = slice,
                                      .in_flight_tbs = row->profile.tbs_per_sm * view->device->sm_count + slice};
}
