/* SPDX-License-Identifier: MIT */
/* What is said about PTX that is wrong: every message with its place, exactly. */
#include "ptx_text.h"

static const struct {
    const char *text;
    enum corun_status status;
    const char *messages;
} cases[] = {
    /* tokens */
    {ENTRY("add.u32 %r1, %r2, `;"), CORUN_SYNTAX, "9:19: '`': a character that has no place in PTX\n"},
    {ENTRY("mov.f32 %f1, 0f3F80;"), CORUN_SYNTAX, "9:14: '0f3F80': 0f needs eight hexadecimal digits\n"},
    {ENTRY("mov.u64 %rd1, 99999999999999999999;"), CORUN_SYNTAX,
     "9:15: '99999999999999999999': the number does not fit 64 bits\n"},
    {ENTRY("ret; /* and so on"), CORUN_SYNTAX,
     "9:6: '/*': a comment without end\n11:1: expected '}' at the end of a function, found the end of the file\n"},
    /* names */
    {ENTRY("add.u32 %r1, %r2, %r32;"), CORUN_SYNTAX, "9:19: expected a declared name, found '%r32'\n"},
    {ENTRY("ld.global.u32 %r1, [nowhere];"), CORUN_SYNTAX,
     "9:21: expected a register, variable or constant address, found 'nowhere'\n"},
    {ENTRY("bra AWAY;"), CORUN_SYNTAX, "9:5: there is no label 'AWAY' here\n"},
    {ENTRY("bra IN; { IN: ret; }"), CORUN_SYNTAX, "9:5: there is no label 'IN' here\n"},
    {ENTRY(".reg .u32 x; .reg .f32 x;"), CORUN_SYNTAX, "9:24: 'x' is declared already\n"},
    {ENTRY("L: L: ret;"), CORUN_SYNTAX, "9:4: 'L' is declared already\n"},
    {ENTRY("call f;"), CORUN_SYNTAX, "9:6: expected a declared function or a register with its address, found 'f'\n"},
    /* operations and suffixes */
    {ENTRY("frobnicate.u32 %r1;"), CORUN_SYNTAX, "9:1: expected an operation, found 'frobnicate'\n"},
    {ENTRY("add %r1, %r2, %r3;"), CORUN_SYNTAX, "9:1: 'add' needs a type\n"},
    {ENTRY("cvt.u32 %r1, %r2;"), CORUN_SYNTAX, "9:1: 'cvt.u32' needs a second type\n"},
    {ENTRY("add.b32 %r1, %r2, %r3;"), CORUN_SYNTAX, "9:4: 'add' does not take type .b32\n"},
    {ENTRY("add.u32.u32 %r1, %r2, %r3;"), CORUN_SYNTAX, "9:8: 'add' has too many types (.u32)\n"},
    {ENTRY("add.wide.u32 %r1, %r2, %r3;"), CORUN_SYNTAX, "9:4: '.wide' is not a suffix of 'add'\n"},
    {ENTRY("min.xorsign.f32 %f1, %f2, %f3;"), CORUN_SYNTAX,
     "9:1: 'min.xorsign.f32' has only one of .xorsign and .abs\n"},
    {ENTRY("ld.mmio.relaxed.gpu.global.u32 %r1, [%rd1];"), CORUN_SYNTAX,
     "9:1: 'ld.mmio.relaxed.gpu.global.u32' has .mmio without .relaxed.sys, or outside .global\n"},
    {ENTRY("cvt.bf16.f16 %h1, %h2;"), CORUN_SYNTAX, "9:1: 'cvt.bf16.f16' needs a rounding such as .rn\n"},
    {ENTRY("add.rn.rz.f32 %f1, %f2, %f3;"), CORUN_SYNTAX, "9:7: '.rz' is one suffix too many for 'add'\n"},
    {ENTRY("mul.u32 %r1, %r2, %r3;"), CORUN_SYNTAX, "9:1: 'mul.u32' needs .lo, .hi or .wide\n"},
    {ENTRY("add.ftz.f64 %fd1, %fd1, %fd1;"), CORUN_SYNTAX, "9:1: 'add.ftz.f64' has .ftz without type .f32\n"},
    {ENTRY("fma.f32 %f1, %f1, %f1, %f1;"), CORUN_SYNTAX, "9:1: 'fma.f32' needs a rounding such as .rn\n"},
    {ENTRY("cvt.rn.e4m3x2.f32 %h1, %f1, %f1;"), CORUN_SYNTAX,
     "9:1: 'cvt.rn.e4m3x2.f32' needs .satfinite with this type\n"},
    {ENTRY("cvt.rn.satfinite.f32.f64 %f1, %fd1;"), CORUN_SYNTAX,
     "9:1: 'cvt.rn.satfinite.f32.f64' has .satfinite without a destination of 16 bits or .tf32 and a source of type "
     ".f32\n"},
    {ENTRY("cvt.rn.sat.satfinite.f16.f32 %h1, %f1;"), CORUN_SYNTAX,
     "9:1: 'cvt.rn.sat.satfinite.f16.f32' has .satfinite beside .ftz or .sat\n"},
    {ENTRY("cvt.rm.satfinite.f16.f32 %h1, %f1;"), CORUN_SYNTAX,
     "9:1: 'cvt.rm.satfinite.f16.f32' needs .rn or .rz with .satfinite\n"},
    {ENTRY("cvt.rn.sat.f32.bf16 %f1, %h1;"), CORUN_SYNTAX,
     "9:1: 'cvt.rn.sat.f32.bf16' has a rounding where nothing is rounded\n"},
    {ENTRY("cvt.rn.satfinite.e5m2x2.f64 %h1, %fd1, %fd1;"), CORUN_SYNTAX,
     "9:1: 'cvt.rn.satfinite.e5m2x2.f64' converts this type from .f32 and .f16x2, and to .f16x2 only\n"},
    {ENTRY("cvt.u32.f32 %r1, %f1;"), CORUN_SYNTAX, "9:1: 'cvt.u32.f32' needs a rounding to an integer such as .rzi\n"},
    {ENTRY("setp.lo.s32 %p1, %r1, %r2;"), CORUN_SYNTAX,
     "9:1: 'setp.lo.s32' compares signed integers with a comparison of unsigned integers\n"},
    {ENTRY("atom.global.add.b32 %r1, [%rd1], %r2;"), CORUN_SYNTAX,
     "9:1: 'atom.global.add.b32' does not add this type\n"},
    {ENTRY("red.global.add.v2.u32 [%rd1], {%r2, %r2};"), CORUN_SYNTAX,
     "9:1: 'red.global.add.v2.u32' takes vectors of .f32, .f16, .bf16, .f16x2 and .bf16x2 only\n"},
    {ENTRY("red.shared.add.v2.f32 [%rd1], {%f2, %f2};"), CORUN_SYNTAX,
     "9:1: 'red.shared.add.v2.f32' takes vectors in .global only\n"},
    {ENTRY("red.global.add.v4.f32 [%rd1], {%f2, %f2};"), CORUN_SYNTAX,
     "9:31: expected a vector of 4 elements, found '{%f2, %f2}'\n"},
    {ENTRY("red.global.add.v2.f32 [%rd1];"), CORUN_SYNTAX, "9:29: 'red.global.add.v2.f32' takes 2 operands, found 1\n"},
    {ENTRY("atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {%f3, %rd1};"), CORUN_SYNTAX,
     "9:44: expected a floating point register of 32 bits for .f32 or a constant, found element 1 of '{%f3, %rd1}' of "
     "type .b64\n"},
    {ENTRY("atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {%f2, %f1};"), CORUN_UNSUPPORTED,
     "9:24: not supported: an atomic operation of a vector whose element 0 has its result where a later element has "
     "its source\n"},
    {ENTRY(".reg .b128 %q; mov.b128 %q, %rd1;"), CORUN_SYNTAX,
     "9:29: expected a register of 128 bits for .b128, found '%rd1' of type .b64\n"},
    {ENTRY(".reg .b128 %q; add.u64 %rd1, %q, %rd1;"), CORUN_SYNTAX,
     "9:30: expected a register of 64 bits for .u64 or a constant, found '%q' of type .b128\n"},
    {ENTRY(".reg .b128 %q; ld.u32 %q, [%rd1];"), CORUN_SYNTAX,
     "9:23: expected a register of at least 32 bits for .u32, found '%q' of type .b128\n"},
    {ENTRY(".reg .b128 %q; atom.global.add.b128 %q, [%rd1], %q;"), CORUN_SYNTAX,
     "9:16: 'atom.global.add.b128' takes type .b128 with .exch and .cas only\n"},
    {ENTRY(".reg .b128 %q; ld.global.v2.b128 {%q, %q}, [%rd1];"), CORUN_SYNTAX,
     "9:16: 'ld.global.v2.b128' takes no vectors of type .b128\n"},
    {ENTRY(".reg .b128 %q; mov.b128 %q, {%rd1, %r1};"), CORUN_SYNTAX,
     "9:29: expected a vector of 2 elements of 64 bits, found '{%rd1, %r1}'\n"},
    {ENTRY("red.global.add.noftz.v8.f16x2 [%rd1], {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1};"), CORUN_SYNTAX,
     "9:1: 'red.global.add.noftz.v8.f16x2' takes vectors of eight elements of 16 bits only\n"},
    {ENTRY("red.global.min.v2.f32 [%rd1], {%f1, %f1};"), CORUN_SYNTAX,
     "9:1: 'red.global.min.v2.f32' does not order this type\n"},
    {ENTRY("atom.global.max.v4.f16 {%h1, %h1, %h1, %h1}, [%rd1], {%h1, %h1, %h1, %h1};"), CORUN_SYNTAX,
     "9:1: 'atom.global.max.v4.f16' needs .noftz with this type\n"},
    {ENTRY("ld.global.v8.b32 {%r1, %r1, %r1, %r1, %r1, %r1, %r1, %r1}, [%rd1];"), CORUN_UNSUPPORTED,
     "9:1: not supported: ld.global.v8.b32\n"},
    {ENTRY("red.global.add.noftz.v8.f16 [%rd1], {%h1, %h1, %h1,\n%h1, %h1, %h1, %h1};"), CORUN_SYNTAX,
     "9:37: expected a vector of 8 elements, found '{%h1, %h1, %h1, %h1, %h1, %h1, %h1}'\n"},
    {ENTRY("st.const.u32 [%rd1], %r2;"), CORUN_SYNTAX, "9:1: 'st.const.u32' cannot store to .const\n"},
    /* operands */
    {ENTRY("add.u32 %r1, %r2;"), CORUN_SYNTAX, "9:1: 'add.u32' takes 3 operands, found 2\n"},
    {ENTRY("bar.sync 0, 32, 1;"), CORUN_SYNTAX, "9:1: 'bar.sync' takes 1 to 2 operands, found 3\n"},
    {ENTRY("add.u32 %r1, %r2 %r3;"), CORUN_SYNTAX, "9:18: expected ',' or ';', found '%r3'\n"},
    {ENTRY("add.f32 %f1, %f2, 1;"), CORUN_SYNTAX,
     "9:19: expected a floating point register of 32 bits for .f32 or a constant, found '1'\n"},
    {ENTRY("add.u32 %r1, %f2, 1;"), CORUN_SYNTAX,
     "9:14: expected a register of 32 bits for .u32 or a constant, found '%f2' of type .f32\n"},
    {ENTRY("add.u32 5, %r1, 1;"), CORUN_SYNTAX, "9:9: expected a register of 32 bits for .u32, found '5'\n"},
    {ENTRY("mov.u64 %rd1, %r1;"), CORUN_SYNTAX,
     "9:15: expected a register of 64 bits for .u64 or a constant, found '%r1' of type .b32\n"},
    {ENTRY("add.u32 %r1, %r2, %tid.x;"), CORUN_SYNTAX,
     "9:19: expected a register of 32 bits for .u32 or a constant, found '%tid.x'\n"},
    {ENTRY("mov.u32 %r1, %tid;"), CORUN_SYNTAX,
     "9:14: expected a vector of 2 or 4 elements that fill an untyped register, found '%tid'\n"},
    {ENTRY("mov.v2.u32 {%r1, %r2}, %tid;"), CORUN_SYNTAX, "9:24: expected a vector of 2 elements, found '%tid'\n"},
    {ENTRY("mov.v4.u32 {%r1, %r2, %r3, %r4}, %laneid;"), CORUN_SYNTAX,
     "9:34: expected a vector of 4 elements, found '%laneid'\n"},
    {ENTRY("mov.v4.u32 {_, _, _, _}, %tid;"), CORUN_SYNTAX,
     "9:12: expected a vector with a register, found '{_, _, _, _}'\n"},
    {ENTRY("mov.v4.u32 {%r1, %r2, %rd1, %r4}, %tid;"), CORUN_SYNTAX,
     "9:12: expected a register of 32 bits for .u32, found element 2 of '{%r1, %r2, %rd1, %r4}' of type "
     ".b64\n"},
    {ENTRY("mov.v4.f32 {%f1, %f2, %f3, %f4}, %tid;"), CORUN_SYNTAX,
     "9:34: expected a floating point register of 32 bits for .f32 or a constant, found '%tid.x'\n"},
    {ENTRY("mov.v2.b64 {%rd1, %rd2}, {%tid, %rd1};"), CORUN_SYNTAX,
     "9:27: expected an element of a vector, found '%tid'\n"},
    {ENTRY("mov.v4.u32 {%r1, %r2, %r3, %r4};"), CORUN_SYNTAX, "9:32: 'mov.v4.u32' takes 2 operands, found 1\n"},
    {ENTRY("mov.v2.pred {%p1, %p2}, {%p2, %p1};"), CORUN_SYNTAX, "9:1: 'mov.v2.pred' takes no vectors of type .pred\n"},
    {ENTRY("st.global.v4.u32 [%rd1], %tid;"), CORUN_SYNTAX,
     "9:26: expected elements that are a register of at least 32 bits for .u32 or a constant, found '%tid'\n"},
    {ENTRY("mov.u32 %r1, %tid.q;"), CORUN_SYNTAX, "9:14: expected a declared name, found '%tid'\n"},
    {ENTRY("@%r1 ret;"), CORUN_SYNTAX, "9:2: expected a predicate register, found '%r1'\n"},
    {ENTRY("ld.global.v2.u32 %r1, [%rd1];"), CORUN_SYNTAX,
     "9:18: expected a vector of 2 elements, found '%r1' of type .b32\n"},
    {ENTRY("ld.global.u32 %r1, [p];"), CORUN_SYNTAX,
     "9:20: expected an address in .global, not that of 'p' in .param, found '['\n"},
    {ENTRY("st.param.u64 [p], %rd1;"), CORUN_SYNTAX, "9:14: expected an address that can be stored to, found '['\n"},
    {ENTRY("shl.b32 %r1, %r2, %rd1;"), CORUN_SYNTAX,
     "9:19: expected a register of 32 bits for .u32 or a constant, found '%rd1' of type .b64\n"},
    {ENTRY("bar.sync 16;"), CORUN_SYNTAX, "9:10: expected a barrier from 0 to 15, found '16'\n"},
    {ENTRY("mov.u32 %r1, 1/0;"), CORUN_SYNTAX, "9:15: division by zero in a constant\n"},
    /* what we recognise and refuse */
    {ENTRY("mov.u32 %r1, %reserved_smem_offset_0;"), CORUN_UNSUPPORTED,
     "9:14: not supported: %reserved_smem_offset_0\n"},
    {ENTRY("fence.release.sync_restrict::shared::cluster.cluster;"), CORUN_SYNTAX,
     "9:1: 'fence.release.sync_restrict::shared::cluster.cluster' is .acquire.sync_restrict::shared::cluster.cluster "
     "or "
     ".release.sync_restrict::shared::cta.cluster\n"},
    {ENTRY("fence.proxy.async::generic.acquire.cluster;"), CORUN_SYNTAX,
     "9:1: 'fence.proxy.async::generic.acquire.cluster' needs .sync_restrict::shared::cluster or ::cta\n"},
    {ENTRY("brx.idx %r1, targets;"), CORUN_SYNTAX, "9:14: expected a list of .branchtargets, found 'targets'\n"},
    {ENTRY("add.f32x2 %rd1, %rd2, %rd3;"), CORUN_UNSUPPORTED, "9:1: not supported: add.f32x2\n"},
    {ENTRY("add.rz.f16 %h1, %h2, %h3;"), CORUN_SYNTAX, "9:1: 'add.rz.f16' rounds this type to nearest only\n"},
    {ENTRY("add.sat.bf16 %h1, %h2, %h3;"), CORUN_SYNTAX, "9:1: 'add.sat.bf16' has .sat on type .bf16\n"},
    {ENTRY("atom.global.add.f16 %h1, [%rd1], %h3;"), CORUN_SYNTAX,
     "9:1: 'atom.global.add.f16' needs .noftz with this type\n"},
    {ENTRY("tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [t, {%r1,%r2}];"), CORUN_SYNTAX,
     "9:39: expected a register, variable or constant address, found 't'\n"},
    {ENTRY("tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, {%r1}];"), CORUN_SYNTAX,
     "9:38: expected 2 coordinates, found '['\n"},
    {ENTRY("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1, %p1}];"), CORUN_SYNTAX,
     "9:38: expected a coordinate that is a floating point register of 32 bits for .f32 or a constant, found '['\n"},
    {ENTRY("tex.cube.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2,%f3}];"), CORUN_SYNTAX,
     "9:40: expected 4 coordinates, found '['\n"},
    {ENTRY("tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f1,%f2}], %f1, {%f3,%f4};"), CORUN_SYNTAX,
     "9:62: expected a vector of 2 elements, found '%f1' of type .f32\n"},
    {HEAD ".entry k() .explicitcluster .reqnctapercluster 2, 9 { ret; }", CORUN_UNSUPPORTED,
     "4:29: not supported: clusters of 2 x 9 x 1 thread blocks\n"},
    {HEAD ".entry k() .reqntid 32 .blocksareclusters { ret; }", CORUN_SYNTAX,
     "4:8: .blocksareclusters is for an .entry with .reqntid and .reqnctapercluster\n"},
    {ENTRY("barrier.cluster.arrive.acquire;"), CORUN_SYNTAX,
     "9:1: 'barrier.cluster.arrive.acquire' has .release or .relaxed only\n"},
    {ENTRY("barrier.cluster.wait.relaxed;"), CORUN_SYNTAX, "9:1: 'barrier.cluster.wait.relaxed' has .acquire only\n"},
    {ENTRY("st.async.shared::cluster.b32 [%r1], %r2, [%r1];"), CORUN_SYNTAX,
     "9:1: 'st.async.shared::cluster.b32' needs .mbarrier::complete_tx::bytes\n"},
    {ENTRY("mapa.global.u64 %rd1, %rd1, %r1;"), CORUN_SYNTAX,
     "9:1: 'mapa.global.u64' works on .shared::cluster only\n"},
    {ENTRY("cp.async.bulk.shared.global [%r1], [%rd1], 16;"), CORUN_UNSUPPORTED,
     "9:1: not supported: cp.async.bulk.shared.global\n"},
    {ENTRY("ld.global.L2::cache_hint.u32 %r1, [%rd1], %r1;"), CORUN_SYNTAX,
     "9:43: expected a cache policy in a 64-bit register, found '%r1'\n"},
    {ENTRY("st.global.L2::cache_hint.u32 [%rd1], %r1;"), CORUN_SYNTAX,
     "9:38: expected a cache policy in a 64-bit register, found '%r1'\n"},
    {ENTRY("add.L2::cache_hint.u32 %r1, %r1, %r1;"), CORUN_SYNTAX, "9:4: '.L2::cache_hint' is not a suffix of 'add'\n"},
    /* bulk copies of tensors */
    {ENTRY("cp.async.bulk.tensor.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];"),
     CORUN_SYNTAX,
     "9:1: 'cp.async.bulk.tensor.shared::cta.global.mbarrier::complete_tx::bytes' needs a number of dimensions such as "
     ".2d\n"},
    {ENTRY("cp.async.bulk.tensor.1d.shared::cta.global.bulk_group [%r1], [%rd1, {%r2}], [%r3];"), CORUN_SYNTAX,
     "9:1: 'cp.async.bulk.tensor.1d.shared::cta.global.bulk_group' needs .mbarrier::complete_tx::bytes\n"},
    {ENTRY("cp.async.bulk.tensor.2d.global.shared::cta.im2col_no_offs.bulk_group [%rd1, {%r2, %r2}], [%r3];"),
     CORUN_SYNTAX,
     "9:1: 'cp.async.bulk.tensor.2d.global.shared::cta.im2col_no_offs.bulk_group' has .im2col with fewer than three "
     "dimensions\n"},
    {ENTRY("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%rd1, {%r2, %r2}], [%r3];"), CORUN_SYNTAX,
     "9:55: expected [tensor map, {3 coordinates}], found '['\n"},
    {ENTRY("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%r1, {%r2}], [%r3];"), CORUN_SYNTAX,
     "9:55: expected the address of a tensor map in a 64-bit register, found '['\n"},
    {ENTRY("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%f2}], [%r3];"), CORUN_SYNTAX,
     "9:55: expected coordinates that are registers of 32 bits or constants, found '['\n"},
    {ENTRY("cp.async.bulk.prefetch.tensor.3d.L2.global.im2col [%rd1, {%r2, %r2, %r2}], {%h1, %h1};"), CORUN_SYNTAX,
     "9:76: expected a vector with an offset of 16 bits for each dimension but the first and the last, found '{%h1, "
     "%h1}'\n"},
    {ENTRY("cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%rd1, {%r2, %r2}];"), CORUN_SYNTAX,
     "9:43: '.tile::gather4' is not a suffix of 'cp.async.bulk.prefetch.tensor'\n"},
    {ENTRY("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%rd1], [%r1], 16;"), CORUN_SYNTAX,
     "9:1: 'cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64' does not do this with this type\n"},
    {ENTRY("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%rd1], [%r1], 16;"), CORUN_SYNTAX,
     "9:1: 'cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16' needs .noftz with this type\n"},
    {ENTRY("tensormap.replace.tile.rank.b1024.b64 [%rd1], %rd2;"), CORUN_SYNTAX,
     "9:1: 'tensormap.replace.tile.rank.b1024.b64' needs .b32 with this field\n"},
    {ENTRY("tensormap.replace.tile.global_stride.b1024.b64 [%rd1], 4, %rd2;"), CORUN_SYNTAX,
     "9:56: expected a dimension of a tensor, found '4'\n"},
    {ENTRY("fence.proxy.tensormap::generic.acquire.gpu [%rd1], 64;"), CORUN_SYNTAX,
     "9:52: expected 128 bytes, found '64'\n"},
    {ENTRY("tensormap.swap [%rd1];"), CORUN_UNSUPPORTED, "9:1: not supported: tensormap.swap\n"},
    {ENTRY("cp.async.cg.shared.global [%r1], [%rd1], 8;"), CORUN_SYNTAX, "9:42: expected 16 bytes, found '8'\n"},
    {ENTRY("wgmma.fence.aligned;"), CORUN_UNSUPPORTED, "9:1: not supported: wgmma.fence.aligned\n"},
    {ENTRY("wgmma.fence.sync;"), CORUN_SYNTAX, "9:1: 'wgmma.fence.sync' needs .aligned\n"},
    {ENTRY("wgmma.wait_group.sync.aligned %r1;"), CORUN_SYNTAX,
     "9:31: expected an integer constant, found '%r1' of type .b32\n"},
    {ENTRY("setmaxnreg.inc.sync.aligned.u32 250;"), CORUN_SYNTAX,
     "9:33: expected a multiple of 8 from 24 to 256, found '250'\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.f32.f16.f16 {%f1}, %rd1, %rd1, 1, 1, 1, 0, 0;"), CORUN_SYNTAX,
     "9:1: 'wgmma.mma_async.sync.aligned.f32.f16.f16' needs a shape\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16 {%f1}, %rd1, %rd1, 1, 1, 1, 0, 0;"), CORUN_SYNTAX,
     "9:1: 'wgmma.mma_async.sync.aligned.m64n12k16.f32.f16.f16' does not exist with this shape and these types\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n08k16.f32.f16.f16 {%f1}, %rd1, %rd1, 1, 1, 1, 0, 0;"), CORUN_SYNTAX,
     "9:29: '.m64n08k16' is not a suffix of 'wgmma.mma_async.sync'\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%r1}, %rd1, %rd1, 1;"), CORUN_SYNTAX,
     "9:1: 'wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8' does not exist with this shape and these types\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc {%r1,%r2,%r3,%r4}, %rd1, %rd1, 1;"), CORUN_SYNTAX,
     "9:1: 'wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.xor.popc' needs .and.popc with type .b1\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3}, %rd1, %rd1, 1, 1, 1, 0, 0;"), CORUN_SYNTAX,
     "9:51: expected a vector of 4 registers of 32 bits for .f32, found '{%f1,%f2,%f3}'\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %r1, %rd1, 1, 1, 1, 0, 0;"),
     CORUN_SYNTAX, "9:70: expected a register of 64 bits for .b64 or a constant, found '%r1' of type .b32\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, 5, 1, 1, 1, 0, 0;"),
     CORUN_SYNTAX, "9:76: expected the descriptor of a matrix, in a register of 64 bits, found '5'\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, %rd1, 1, 1, 1, 0, "
           "0;"),
     CORUN_SYNTAX, "9:107: expected 7 operands, with these types and a in registers, found '0'\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f1,%f2,%f3,%f4}, %rd1, %rd1, 1, 1, 2;"), CORUN_SYNTAX,
     "9:89: expected the sign of a matrix, 1 or -1, found '2'\n"},
    {ENTRY("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd1, 1, 1, 1, 0, 2;"),
     CORUN_SYNTAX, "9:94: expected 0, or 1 for a transposed matrix, found '2'\n"},
    {ENTRY(
         "wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd1, %r1, 0, 1, 1, 1, 0, 0;"),
     CORUN_SYNTAX,
     "9:1: 'wgmma.mma_async.sp.sync.aligned.m64n8k16.f32.f16.f16' does not exist with this shape and these types\n"},
    {ENTRY(
         "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd1, %r1, 2, 1, 1, 1, 0, 0;"),
     CORUN_SYNTAX, "9:90: expected a selector of 0 or 1, found '2'\n"},
    {ENTRY("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.s8 {%r1,%r2,%r3,%r4}, %rd1, %rd1, %r1, 1, 1;"),
     CORUN_SYNTAX, "9:88: expected the selector 0, found '1'\n"},
    {ENTRY("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%f1,%f2,%f3,%f4}, %rd1, %rd1, %r1, 0, 1, 1, 1, 0;"),
     CORUN_SYNTAX, "9:102: expected 10 operands, with these types and a in shared memory, found '0'\n"},
    {ENTRY("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1}, [%r1];"), CORUN_SYNTAX,
     "9:42: expected a vector of 2 registers of 32 bits for .b32, found '{%r1}'\n"},
    {ENTRY("ldmatrix.sync.aligned.m8n8.shared.b16 {%r1}, [%r1];"), CORUN_SYNTAX,
     "9:1: 'ldmatrix.sync.aligned.m8n8.shared.b16' needs .x1, .x2 or .x4\n"},
    {ENTRY("mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3}, {%f1,%f2,%f3,%f4};"),
     CORUN_SYNTAX, "9:1: 'mma.sync.aligned.m16n8k8.row.row.f32.f16.f16.f32' exists as .row.col only\n"},
    {ENTRY("mma.sync.aligned.m16n8k8.row.col.f32.bf16.tf32.f32 {%f1}, {%r1}, {%r3}, {%f1};"), CORUN_SYNTAX,
     "9:1: 'mma.sync.aligned.m16n8k8.row.col.f32.bf16.tf32.f32' has multiplicands of two types\n"},
    {ENTRY("mma.sync.aligned.m8n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r3}, {%f1};"), CORUN_SYNTAX,
     "9:17: '.m8n8k8' is not a suffix of 'mma.sync'\n"},
    {ENTRY("mma.sync.aligned.m16n8k8.row.col.f32.s8.s8.f32 {%f1}, {%r1}, {%r3}, {%f1};"), CORUN_SYNTAX,
     "9:1: 'mma.sync.aligned.m16n8k8.row.col.f32.s8.s8.f32' does not exist with this shape and these types\n"},
    {ENTRY("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r1,%r2}, {%r3,%r4}, {%r1,%r2}, %r5, 4;"),
     CORUN_SYNTAX, "9:103: expected a selector from 0 to 3, found '4'\n"},
    {ENTRY("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%f3}, {%f1,%f2,%f3};"),
     CORUN_SYNTAX, "9:87: expected a vector of 4 registers of 32 bits for .f32, found '{%f1,%f2,%f3}'\n"},
    {ENTRY(".reg .b1 %x;"), CORUN_UNSUPPORTED, "9:6: not supported: .b1 here\n"},
    {ENTRY("bar.red.u32 %r1, 0, %p1;"), CORUN_SYNTAX, "9:1: 'bar.red.u32' needs .popc, .and or .or\n"},
    {HEAD ".global .samplerref t;\n", CORUN_UNSUPPORTED, "4:9: not supported: .samplerref here\n"},
    /* several at once, each statement on its own */
    {ENTRY("add.u32 %r1;\nmov.u32 %r1, 1;\nsub.u32 %r1, %r2, %q;\nmul.lo.u32 %r1, {1, %r2}, %r3;\nret"), CORUN_SYNTAX,
     "9:1: 'add.u32' takes 3 operands, found 1\n"
     "11:19: expected a declared name, found '%q'\n"
     "12:17: expected a register of 32 bits for .u32 or a constant, found '{1, %r2}'\n"
     "14:1: expected ';', found '}'\n"},
    /* declarations */
    {"add", CORUN_SYNTAX, "1:1: expected .version at the start of a module, found 'add'\n"},
    {"{\"json\": [1,\n2]}\n{}\n", CORUN_SYNTAX, "1:1: expected .version at the start of a module, found '{'\n"},
    {"", CORUN_SYNTAX, "1:1: expected .version at the start of a module, found the end of the file\n"},
    {".version 7.0\n", CORUN_SYNTAX, "2:1: expected a .target directive, found none\n"},
    {HEAD ".global .u32 x[2] = {1, 2, 3};\n", CORUN_SYNTAX, "4:28: more initial values than 'x' has elements\n"},
    {HEAD ".shared .u32 x = 1;\n", CORUN_SYNTAX, "4:14: only .global and .const variables can have initial values\n"},
    {HEAD ".global .u32 x[];\n", CORUN_SYNTAX, "4:14: 'x' has no size\n"},
    {HEAD ".global .align 3 .u32 x;\n", CORUN_SYNTAX, "4:16: an alignment must be a power of two up to 1048576\n"},
    {HEAD ".global .b8 x[1099511627777];\n", CORUN_SYNTAX, "4:13: 'x' is larger than a tebibyte\n"},
    {HEAD ".func f(.param .b32 a);\n.func f(.param .b64 a) { ret; }\n", CORUN_SYNTAX,
     "5:7: 'f' was declared with other parameters at line 4\n"},
    {HEAD ".func f() { ret; }\n.func f() { ret; }\n", CORUN_SYNTAX, "5:7: 'f' is defined already\n"},
    {HEAD ".func f(.param .b32 a);\n.entry k() { .param .b64 x; call f, (x); }\n", CORUN_SYNTAX,
     "5:38: expected a .param variable of 4 bytes or a value of type .b32, found 'x' (.param, 8 bytes)\n"},
    {HEAD ".func f(.param .b32 a);\n.entry k() { call f; }\n", CORUN_SYNTAX, "5:19: 'f' takes 1 argument, found 0\n"},
    {HEAD ".entry k() {", CORUN_SYNTAX, "4:13: expected '}' at the end of a function, found the end of the file\n"},
    /* the next declaration is read although the one before it is broken */
    {HEAD ".global .u32 = 1;\n.entry k() .maxntid x { }\n.entry j() { add; }\n", CORUN_SYNTAX,
     "4:14: expected the name of a variable, found '='\n"
     "5:21: expected a number, found 'x'\n"
     "6:14: 'add' needs a type\n"},
    /* of a body that ends too early, the first line */
    {ENTRY("ret; }\nmov.u32 %r1, 1;\n{ add.u32 %r1, %r1, 1; }\nret; }") "\n.entry j() { add; }\n", CORUN_SYNTAX,
     "10:1: expected a directive such as .entry, .func or .global, found 'mov'\n"
     "15:14: 'add' needs a type\n"},
};

static void says_exactly_what_is_wrong(void **state)
{
    (void)state;
    uint32_t failures = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum corun_status status;
        char *messages = messages_of(cases[i].text, strlen(cases[i].text), &status);
        if (strcmp(messages, cases[i].messages) || status != cases[i].status) {
            print_message("%s\nsays:\n%sand should say:\n%s", cases[i].text, messages, cases[i].messages);
            failures++;
        }
        free(messages);
    }
    assert_int_equal(failures, 0);
}

static void every_refused_operation_is_named(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < PTX_OP_COUNT; i++) {
        if (ptx_opcodes[i].supported)
            continue;
        char text[256], wanted[128];
        enum corun_status status;
        snprintf(text, sizeof text, HEAD ".entry k() { .reg .u32 a; %s a; }", ptx_opcodes[i].word);
        snprintf(wanted, sizeof wanted, "not supported: %s\n", ptx_opcodes[i].word);
        char *messages = messages_of(text, strlen(text), &status);
        assert_int_equal(status, CORUN_UNSUPPORTED);
        assert_non_null(strstr(messages, wanted));
        free(messages);
    }
}

/* Any beginning of a file is an error or a shorter file, never a crash. */
static void truncated_input(void **state)
{
    (void)state;
    size_t bytes;
    char *text = read_corpus("hand_everything.ptx", &bytes);
    for (size_t length = 0; length < bytes; length += 1 + length % 7) {
        enum corun_status status;
        char *exact = malloc(length + 1); /* so that a sanitizer sees a read behind the end */
        memcpy(exact, text, length);
        free(messages_of(exact, length, &status));
        free(exact);
    }
    free(text);
}

static char *repeat(const char *head, const char *piece, size_t count, const char *tail)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    fputs(head, stream);
    for (size_t i = 0; i < count; i++)
        fputs(piece, stream);
    fputs(tail, stream);
    fclose(stream);
    return text;
}

static void check_hostile(char *text, const char *message)
{
    enum corun_status status;
    char *messages = messages_of(text, strlen(text), &status);
    if (message)
        assert_non_null(strstr(messages, message));
    else
        assert_string_equal(messages, "");
    free(messages);
    free(text);
}

static void hostile_sizes(void **state)
{
    (void)state;
    check_hostile(repeat(HEAD ".entry k() ", "{", 100000, ""), "scopes are nested more than 256 deep");
    check_hostile(repeat(HEAD ".entry k() { .reg .u32 a; mov.u32 a, ", "(", 100000, ""), "nested more than 200 deep");
    check_hostile(repeat(HEAD ".entry k() { .reg .u32 a; mov.u32 a, ", "-", 100000, "1; }"),
                  "nested more than 200 deep");
    check_hostile(repeat(HEAD ".entry k() { .reg .u32 a; mov.u32 a, 1", "+1", 100000, "; }"), NULL);
    check_hostile(repeat(HEAD ".entry k() { .reg .b32 %", "r", 300000, "<4000000000>; }"), NULL);
    check_hostile(repeat(HEAD ".entry k() { .reg .b32 %r<4000000000>; ", "mov.b32 %r399999999, 1;", 2000, "}"), NULL);
    check_hostile(repeat(HEAD ".entry k() { add", ".u32", 100000, "; }"), "expected operands, found '.u32'");
    check_hostile(repeat(HEAD ".entry k() { add.u32 1", ", 1", 100000, "; }"), "expected ';'");
    check_hostile(repeat(HEAD ".entry k(.param .u32 a", ", .param .u32 a", 20000, ") { }"), "'a' is declared already");
    check_hostile(repeat(HEAD ".global .u32 x[4000000000] = {", "1,", 100000, "1};"), NULL);
    check_hostile(repeat(HEAD ".global .u32 x[2][1000000000] = {{1}, {", "1,", 10, "1}};"),
                  "initial values reach beyond");
    check_hostile(repeat(HEAD ".entry k() { ", "q;", 100000, "}"), "expected an operation, found 'q'");
    check_hostile(repeat(HEAD ".section x ", "{", 100000, ""), "expected '}' at the end of a section");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_exactly_what_is_wrong),
        cmocka_unit_test(every_refused_operation_is_named),
        cmocka_unit_test(truncated_input),
        cmocka_unit_test(hostile_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
