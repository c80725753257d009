/* SPDX-License-Identifier: MIT */
#include "shim/lanes.h"

#include "shim/below.h"

/* A driver with green contexts that cannot tell a stream's two contexts apart names the green one, whose end is the device's own one's. */
struct lanes_driver lanes_driver(void)
{
    bool has_green = below_called(CALLED_cuGreenCtxCreate);
    struct lanes_driver driver = {(int (*)(void **))below_called(CALLED_cuCtxGetCurrent),
                                  {(int (*)(void *, void **, void **))below_called(CALLED_cuStreamGetCtx_v2),
                                   (int (*)(void *, void **, void **))below_called(CALLED_cuStreamGetCtx_v2_ptsz)},
                                  {NULL, NULL}};
    if (!has_green) {
        driver.context[false] = (int (*)(void *, void **))below_called(CALLED_cuStreamGetCtx);
        driver.context[true] = (int (*)(void *, void **))below_called(CALLED_cuStreamGetCtx_ptsz);
    }
    return driver;
}

const void *lanes_context(const struct lanes_driver *driver, void *stream, bool per_thread)
{
    void *context = NULL, *green = NULL;
    int error = BELOW_NOT_SUPPORTED;
    if (driver->contexts[per_thread])
        error = driver->contexts[per_thread](stream, &context, &green);
    else if (driver->context[per_thread])
        error = driver->context[per_thread](stream, &context);
    return error == BELOW_OK ? context : NULL;
}

static struct lane_key key_of(const struct lanes_driver *driver, void *stream, bool per_thread)
{
    static _Thread_local char thread;
    struct lane_key key = {stream, NULL};
    if ((uintptr_t)stream > 2)
        return key;
    if (driver->current && driver->current((void **)(uintptr_t)&key.context) != BELOW_OK)
        key.context = NULL;
    bool own = (uintptr_t)stream == 2 || (!stream && per_thread);
    key.stream = own ? (void *)&thread : (void *)(uintptr_t)1;
    return key;
}

struct board_lane *lanes_of(struct lanes *lanes, const struct lanes_driver *driver, struct board *board, void *stream,
                            bool per_thread, const void *context)
{
    const struct lane_key key = key_of(driver, stream, per_thread);
    uint32_t chosen = BOARD_LANES;
    for (uint32_t i = 0; i < BOARD_LANES; i++) {
        if (lanes->keys[i].stream == key.stream && lanes->keys[i].context == key.context) {
            chosen = i;
            break;
        }
        if (chosen == BOARD_LANES && board_lane_under_way(&board->lanes[i]) == 0)
            chosen = i;
    }
    if (chosen == BOARD_LANES)
        return NULL;
    lanes->keys[chosen] = key;
    lanes->contexts[chosen] = context;
    return &board->lanes[chosen];
}

void lanes_end(const struct lanes *lanes, struct board *board, const void *context)
{
    for (uint32_t i = 0; i < BOARD_LANES; i++)
        if (!context || !lanes || !lanes->contexts[i] || lanes->contexts[i] == context)
            atomic_store(&board->lanes[i].ended, atomic_load(&board->lanes[i].asked));
}
