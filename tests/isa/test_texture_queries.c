/* SPDX-License-Identifier: MIT */
/* What a kernel asks about textures and surfaces. */
#include "runner.h"

#include "corun/texture.h"

enum { WIDTH = 8, HEIGHT = 4, LAYERS = 3 };

/* The texture is what the reference is bound to, and its handle is at the end of the out buffer. */
static void bind(struct runner *runner, const struct corun_texture *texture, uint64_t variable)
{
    uint64_t handle;
    assert_int_equal(corun_texture_create(runner->memory, texture, &handle), CORUN_OK);
    assert_int_equal(corun_memory_write(runner->memory, variable, &handle, 8), CORUN_OK);
    assert_int_equal(corun_memory_write(runner->memory, runner->out + 65528, &handle, 8), CORUN_OK);
}

/* txq and suq: what a texture is, of a level of detail, by a register and by a reference. */
static void test_queries(void **state)
{
    (void)state;
    static const char *const words[] = {
        "width", "height", "depth", "array_size", "normalized_coords", "num_mipmap_levels"};
    static char text[4096];
    size_t used = (size_t)snprintf(
        text, sizeof text,
        HEAD ".global .texref image;\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %%rd<4>;\n.reg .b32 %%r<4>;\n"
             "ld.param.u64 %%rd2, [p];\nld.global.u64 %%rd1, [%%rd2+65528];\n");
    for (uint32_t i = 0; i < 6; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "txq.%s.b32 %%r1, [%s];\nst.global.u32 [%%rd2+%u], %%r1;\n", words[i],
                                 i % 2 ? "image" : "%rd1", 4 * i);
    for (uint32_t i = 0; i < 3; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "mov.u32 %%r2, %u;\ntxq.level.%s.b32 %%r1, [%%rd1], %%r2;\nst.global.u32 [%%rd2+%u], %%r1;\n", i + 1,
            words[i], 24 + 4 * i);
    for (uint32_t i = 0; i < 4; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "suq.%s.b32 %%r1, [%%rd1];\nst.global.u32 [%%rd2+%u], %%r1;\n", words[i], 36 + 4 * i);
    snprintf(text + used, sizeof text - used, "ret;\n}\n");
    struct runner runner;
    runner_load(&runner, text);
    uint64_t address;
    assert_int_equal(corun_memory_allocate(runner.memory, 4096, &address), CORUN_OK);
    struct corun_texture texture = {.address = address,
                                    .width = WIDTH,
                                    .height = HEIGHT,
                                    .depth = LAYERS,
                                    .row_bytes = 64,
                                    .slice_bytes = 256,
                                    .channels = 1,
                                    .channel_bits = 32,
                                    .kind = CORUN_TEXEL_FLOAT,
                                    .mode = {CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_CLAMP}};
    uint64_t bytes, variable = corun_module_instance_variable(runner.instance, "image", &bytes);
    bind(&runner, &texture, variable);
    assert_int_equal(runner_try(&runner, 1), CORUN_OK);
    const uint32_t solid[] = {WIDTH, HEIGHT, LAYERS, 0, 0, 1, 0, 0, 0, WIDTH, HEIGHT, LAYERS, 0};
    assert_memory_equal(runner_words(&runner), solid, sizeof solid);
    texture.layered = true;
    bind(&runner, &texture, variable);
    assert_int_equal(runner_try(&runner, 1), CORUN_OK);
    const uint32_t layered[] = {WIDTH, HEIGHT, 0, LAYERS, 0, 1, 0, 0, 0, WIDTH, HEIGHT, 0, LAYERS};
    assert_memory_equal(runner_words(&runner), layered, sizeof layered);
    runner_free(&runner);
}

/* Levels halve what they halve. */
static void test_levels(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("ld.global.u64 %rd1, [%out+65528];\ntxq.num_mipmap_levels.b32 %r1, [%rd1];\n"
                                "st.global.u32 [%mine], %r1;\ntxq.level.width.b32 %r1, [%rd1], %t;\n"
                                "st.global.u32 [%mine+256], %r1;\ntxq.level.height.b32 %r1, [%rd1], %t;\n"
                                "st.global.u32 [%mine+512], %r1;\ntxq.normalized_coords.b32 %r1, [%rd1];\n"
                                "st.global.u32 [%mine+768], %r1;"));
    uint64_t address, handle;
    assert_int_equal(corun_memory_allocate(runner.memory, 65536, &address), CORUN_OK);
    const struct corun_texture texture = {.address = address,
                                          .width = 32,
                                          .height = 8,
                                          .row_bytes = 256,
                                          .slice_bytes = 2048,
                                          .channels = 1,
                                          .channel_bits = 32,
                                          .kind = CORUN_TEXEL_FLOAT,
                                          .normalized_coordinates = true,
                                          .levels = 4,
                                          .level_highest = 3};
    assert_int_equal(corun_texture_create(runner.memory, &texture, &handle), CORUN_OK);
    assert_int_equal(corun_memory_write(runner.memory, runner.out + 65528, &handle, 8), CORUN_OK);
    assert_int_equal(runner_try(&runner, 6), CORUN_OK);
    const uint32_t *words = runner_words(&runner);
    for (uint32_t level = 0; level < 6; level++) {
        assert_int_equal(words[level], 4);
        assert_int_equal(words[64 + level], level < 4 ? 32u >> level : 0);
        assert_int_equal(words[128 + level], level < 4 ? 8u >> level : 0);
        assert_int_equal(words[192 + level], 1);
    }
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries),
        cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
