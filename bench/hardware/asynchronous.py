# SPDX-License-Identifier: MIT
"""Micro-benchmarks of what sm_90 does beside its threads: products of warpgroups, bulk copies, and shared memory across a cluster.

Parts of microbenchmarks.py, which passes its GPU and its function `row`.
"""
import ctypes
import statistics
from ctypes import c_int, c_uint, c_ulonglong, c_void_p

import warpgroups
from matrices import BITS

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
NON_PORTABLE = 14  # CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
DYNAMIC_BYTES = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


ALONE_BYTES = 120 << 10  # of shared memory: one thread block on an SM


# ---- products of warpgroups ----

RATES = (("f32", "f16", 16), ("f16", "f16", 16), ("f32", "bf16", 16), ("f32", "tf32", 8), ("f32", "e4m3", 32), ("f16", "e4m3", 32), ("s32", "s8", 32),
         ("s32", "b1", 256))
WIDTHS = (8, 32, 64, 128, 256)


def product_kernel(d, kind, k, n, registers, count):
    """`count` products between a fence and a wait, `turns` times."""
    dense = warpgroups.dense(False, 8, 64)
    name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{d}.{kind}.{kind}" + (".and.popc" if kind == "b1" else "")
    product = warpgroups.Product(name, "", n, k, d, kind, kind, "", registers, "1", (1, 1), dense, dense, 1, 32)
    letter, type_ = warpgroups.bank(product)
    held = n * BITS[d] // 64
    lines = [warpgroups.HEADER + ".visible .entry products(.param .u64 out, .param .u64 turns)", "{", ".shared .align 1024 .b8 image[45056];",
             f".reg .{type_} %{letter}<{held}>; .reg .b32 %a<4>, %s, %w, %t, %image, %n, %e; .reg .b64 %da, %db, %o, %x, %t0, %t1; .reg .pred %q;",
             "mov.u32 %image, image; mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u32 %n, [turns]; mov.u32 %e, 0;", "mov.u32 %s, %t;",
             "clear: mad.lo.u32 %w, %s, 4, %image; st.shared.b32 [%w], 0; add.u32 %s, %s, 128; setp.lt.u32 %q, %s, 11264; @%q bra clear;"]
    lines += [f"mov.b32 %{letter}{i}, 0;" for i in range(held)] + [f"mov.b32 %a{i}, 0;" for i in range(4)]
    lines += [warpgroups.descriptor(product.layout_a, 0, "%da"), warpgroups.descriptor(product.layout_b, 8192, "%db"),
              "fence.proxy.async.shared::cta; bar.sync 0; mov.u64 %t0, %clock64;", "again: wgmma.fence.sync.aligned;"]
    lines += [warpgroups.operation(product)] * count
    lines += ["wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; add.u32 %e, %e, 1; setp.lt.u32 %q, %e, %n; @%q bra again;",
              "mov.u64 %t1, %clock64; mov.u32 %w, 0;"]
    lines += [f"mov.b32 %s, %{letter}{i}; xor.b32 %w, %w, %s;" for i in range(held)]
    lines += ["shr.u32 %s, %t, 7; mul.wide.u32 %x, %s, 16; add.u64 %o, %o, %x; st.global.u32 [%o+1024], %w; sub.u64 %t1, %t1, %t0; st.global.u64 [%o], %t1; ret;", "}"]
    return "\n".join(lines) + "\n"


def product_cycles(gpu, kernels, threads, turns):
    """(cycles of a turn with the first kernel, of what the second one does more)"""
    cycles = []
    for function in kernels:
        taken = []
        for count in (turns, 3 * turns):
            gpu.run(function, 1, threads, [gpu.out, count])
            taken.append(max(gpu.read(gpu.out, 2 * (threads // 128))[::2]))
        cycles.append((taken[1] - taken[0]) / (2 * turns))
    return cycles[0], cycles[1] - cycles[0]


def warpgroup_products(gpu, row):
    turns = 4 if gpu.quick else 16
    for d, kind, k in RATES:
        for n in WIDTHS:
            if n not in warpgroups.widths(kind) or (gpu.quick and (n not in (64, 256) or kind in ("bf16", "b1") or d == "f16")):
                continue
            for registers in (False, True):
                if registers and (kind not in ("f16", "e4m3") or d == "f16" or gpu.quick):
                    continue
                what = f"m64n{n}k{k}.{d}.{kind}" + (" a in registers" if registers else "")
                few, many = (gpu.kernel(product_kernel(d, kind, k, n, registers, count), "products") for count in (4, 12))
                values = [product_cycles(gpu, (few, many), 128, turns) for _ in range(gpu.repetitions)]
                row("product of a warpgroup", "cycles each", [value[1] / 8 for value in values], what)
                if n in (64, 256) and not gpu.quick:
                    two = [product_cycles(gpu, (few, many), 256, turns)[1] / 8 for _ in range(gpu.repetitions)]
                    row("product of a warpgroup, two warpgroups", "cycles each", two, what)
                one = gpu.kernel(product_kernel(d, kind, k, n, registers, 1), "products")
                alone = [product_cycles(gpu, (one, few), 128, turns)[0] for _ in range(gpu.repetitions)]
                row("fence, product, and wait", "cycles", alone, what)


# ---- clusters ----

CLUSTER = HEAD + """.visible .entry cluster(.param .u64 out, .param .u64 rank, .param .u64 steps)
.reqnctapercluster {size}
{{
    .shared .align 16 .b8 words[32768];
    .shared .align 8 .b64 bar;
    .reg .b64 %o, %t0, %t1, %n, %i, %state;
    .reg .b32 %own, %far, %rank, %mine, %x, %y, %v<4>, %phase, %c, %k, %sum;
    .reg .pred %q, %p;
    ld.param.u64 %o, [out];
    ld.param.u32 %rank, [rank];
    ld.param.u64 %n, [steps];
    mov.u32 %own, words;
    mov.u32 %x, %tid.x;
    mov.u32 %mine, %cluster_ctarank;
    mov.u32 %sum, 0;
{before}
    barrier.cluster.arrive;
    barrier.cluster.wait;
    mov.u64 %i, 0;
    mov.u64 %t0, %clock64;
{steps}
    mov.u64 %t1, %clock64;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    setp.ne.u32 %q, %x, 0;
    @%q bra over;
    sub.u64 %t1, %t1, %t0;
    mov.u32 %c, %ctaid.x;
    mul.wide.u32 %i, %c, 16;
    add.u64 %o, %o, %i;
    st.global.u64 [%o], %t1;
    st.global.u32 [%o+8], %sum;
over:
    ret;
}}
"""
ONLY_FIRST = "    or.b32 %y, %mine, %x;\n    setp.ne.u32 %q, %y, 0;\n    @%q bra idle;\n"
LOOP = "    add.u64 %i, %i, 1;\n    setp.lt.u64 %q, %i, %n;\n    @%q bra step;\n"
SELF = "    st.shared.u32 [%own], 0;\n    st.shared.u32 [%own+4], 0;\n    bar.sync 0;\n    mapa.shared::cluster.u32 %far, %own, %rank;\n" \
       "    st.shared.u32 [%own], %own;\n    barrier.cluster.arrive;\n    barrier.cluster.wait;\n" \
       "    setp.ne.u32 %q, %mine, 0;\n    @%q bra set;\n    st.shared::cluster.u32 [%far], %far;\nset:\n"
STEPS = {
    "latency of a load from another thread block": (SELF, ONLY_FIRST + "step:\n" + "    ld.shared::cluster.u32 %far, [%far];\n" * 8 + LOOP + "    mov.u32 %sum, %far;\nidle:\n", 8),
    "latency of an atomic in another thread block": (
        SELF, ONLY_FIRST + "step:\n" + "    atom.shared::cluster.add.u32 %y, [%far+4], %sum;\n    add.u32 %sum, %sum, %y;\n" * 8 + LOOP + "idle:\n", 8),
    "barrier of a cluster": ("", "step:\n" + "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n" * 8 + LOOP, 8),
    "barrier of a cluster, relaxed": ("", "step:\n" + "    barrier.cluster.arrive.relaxed;\n    barrier.cluster.wait;\n" * 8 + LOOP, 8),
    "arrival in another thread block and back": (
        "    mov.u32 %y, bar;\n    mapa.shared::cluster.u32 %far, %y, %rank;\n    setp.ne.u32 %q, %x, 0;\n    @%q bra set;\n    mbarrier.init.shared::cta.b64 [bar], 1;\n"
        "    fence.mbarrier_init.release.cluster;\nset:\n    mov.u32 %phase, 0;\n    setp.eq.u32 %p, %mine, 0;\n    @%p bra named;\n"
        "    mov.u32 %c, 0;\n    mapa.shared::cluster.u32 %far, %y, %c;\nnamed:\n",
        "    setp.ne.u32 %q, %x, 0;\n    @%q bra idle;\n    setp.ne.u32 %q, %mine, %rank;\n    @%p bra step;\n    @%q bra idle;\nstep:\n    @!%p bra listen;\n"
        "    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%far];\nlisten:\n"
        "    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [bar], %phase;\n    @!%q bra listen;\n    xor.b32 %phase, %phase, 1;\n    @%p bra heard;\n"
        "    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%far];\nheard:\n" + LOOP + "idle:\n", 1),
}
NEXT = "    mul.lo.u32 %y, %x, 16;\n    add.u32 %own, %own, %y;\n    mov.u32 %y, %cluster_nctarank;\n    add.u32 %rank, %mine, 1;\n    rem.u32 %rank, %rank, %y;\n" \
       "    mapa.shared::cluster.u32 %far, %own, %rank;\n    mov.b32 %v0, %x; mov.b32 %v1, %x; mov.b32 %v2, %x; mov.b32 %v3, %x;\n"
MOVES = {
    "loads from the next thread block": "ld.shared::cluster.v4.u32 {%v0, %v1, %v2, %v3}, [%far+#];\n    xor.b32 %sum, %sum, %v0;\n    xor.b32 %sum, %sum, %v3;",
    "stores to the next thread block": "st.shared::cluster.v4.u32 [%far+#], {%v0, %v1, %v2, %v3};",
}


def cluster_kernel(gpu, size, before, steps):
    function = gpu.kernel(CLUSTER.format(size=size, before=before, steps=steps), "cluster")
    library = gpu.driver.library
    if size > 8:
        library.cuFuncSetAttribute(function, c_int(NON_PORTABLE), c_int(1))
    library.cuFuncSetAttribute(function, c_int(DYNAMIC_BYTES), c_int(ALONE_BYTES))
    return function


def cluster_cycles(gpu, function, tbs, threads, rank, steps):
    """Cycles of so many steps, of each thread block."""
    taken = []
    for count in (steps, 3 * steps):
        gpu.run(function, tbs, threads, [gpu.out, rank, count], ALONE_BYTES)
        taken.append(gpu.read(gpu.out, 2 * tbs)[::2])
    return [(longer - shorter) / 2 for shorter, longer in zip(*taken)]


def clusters(gpu, row):
    steps = 4 if gpu.quick else 32
    sizes = (2, 4, 8) if gpu.quick else (1, 2, 4, 8, 16)
    for what, (before, body, count) in STEPS.items():
        for size in sizes:
            function = cluster_kernel(gpu, size, before, body)
            whole = what.startswith("barrier")
            for rank in (0,) if whole else sorted({1, size - 1}) if gpu.quick else range(size):
                if what.startswith("arrival") and rank == 0:
                    continue
                for threads in (32, 1024) if whole else (32,):
                    values = [cluster_cycles(gpu, function, size, threads, rank, steps)[0] / (steps * count) for _ in range(gpu.repetitions)]
                    row(what, "cycles", values, f"cluster of {size}, " + (f"{threads} threads" if whole else f"rank {rank}"))
    for what, move in MOVES.items():
        for size in (4,) if gpu.quick else sizes[1:]:
            body = "    add.u32 %y, %far, %far;\n    add.u32 %y, %y, 16384;\nstep:\n" + f"    {move.replace('#', '0')}\n    sub.u32 %far, %y, %far;\n" * 4 + LOOP
            function = cluster_kernel(gpu, size, NEXT, body)
            for clusters_ in (1,) if gpu.quick else (1, gpu.sms // size):
                values = []
                for _ in range(gpu.repetitions):
                    cycles = cluster_cycles(gpu, function, clusters_ * size, 1024, 0, steps)
                    values.append(1024 * 16 * 4 * steps / statistics.median(cycles))
                row(what, "bytes per cycle and SM", values, f"{clusters_} clusters of {size}")


# ---- bulk copies ----

STAGES = 4
STAGE_BYTES = 49152
COPY = HEAD + """.extern .shared .align 1024 .b8 room[];
.visible .entry copies(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 from, .param .u64 mask, .param .u64 turns, .param .u64 bytes)
{{
    .shared .align 8 .b64 bar[4];
    .reg .b64 %m, %o, %f, %mask, %n, %i, %at, %a, %t0, %t1, %step, %state;
    .reg .b32 %bytes, %bar, %b, %r, %s, %c, %g, %phase, %x, %y, %k, %tx;
    .reg .pred %q, %p, %first;
    mov.b64 %m, map;
    cvta.param.u64 %m, %m;
    ld.param.u64 %o, [out];
    ld.param.u64 %f, [from];
    ld.param.u64 %mask, [mask];
    ld.param.u64 %n, [turns];
    ld.param.u32 %bytes, [bytes];
    mov.u32 %bar, bar;
    mov.u32 %r, room;
    mov.u32 %x, %tid.x;
    setp.ne.u32 %q, %x, 0;
    @%q bra over;
    mbarrier.init.shared::cta.b64 [bar], 1;
    mbarrier.init.shared::cta.b64 [bar+8], 1;
    mbarrier.init.shared::cta.b64 [bar+16], 1;
    mbarrier.init.shared::cta.b64 [bar+24], 1;
    fence.mbarrier_init.release.cluster;
    fence.proxy.async.shared::cta;
    mov.u32 %c, %ctaid.x;
    mov.u32 %g, %nctaid.x;
    mul.wide.u32 %at, %c, %bytes;
    mul.wide.u32 %step, %g, %bytes;
    mov.u64 %i, 0;
    mov.u32 %phase, 0;
    mov.u64 %t0, %clock64;
again:
{body}
    xor.b32 %phase, %phase, 1;
    add.u64 %i, %i, 1;
    setp.lt.u64 %q, %i, %n;
    @%q bra again;
{end}
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    mul.wide.u32 %a, %c, 8;
    add.u64 %o, %o, %a;
    st.global.u64 [%o], %t1;
over:
    ret;
}}
"""
PLACE = "    and.b64 %a, %at, %mask;\n    add.u64 %a, %a, %f;\n    add.u64 %at, %at, %step;\n"
EXPECT = "    mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar+{bar}], %bytes;\n"
FETCH = "    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%a], %bytes, [bar+{bar}];\n"
# a tile of 64 elements of 16 bits by as many rows as the box has
TILE = "    mov.u32 %x, 0;\n    shr.u64 %a, %at, 7;\n    cvt.u32.u64 %y, %a;\n    cvt.u32.u64 %k, %mask;\n    shr.u32 %k, %k, 7;\n    and.b32 %y, %y, %k;\n" \
       "    add.u64 %at, %at, %step;\n"
FETCH_TILE = "    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%m, {{%x, %y}}], [bar+{bar}];\n"
AWAIT = "await{label}:\n    mbarrier.try_wait.parity.shared::cta.b64 %q, [bar+{bar}], %{phase};\n    @!%q bra await{label};\n"
PUT = "    cp.async.bulk.global.shared::cta.bulk_group [%a], [%s], %bytes;\n    cp.async.bulk.commit_group;\n"
PUT_TILE = "    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%m, {{%x, %y}}], [%s];\n    cp.async.bulk.commit_group;\n"


def stage(k):
    return f"    add.u32 %s, %r, {k * STAGE_BYTES};\n"


def one_at_a_time(tile):
    return stage(0) + (TILE if tile else PLACE) + (EXPECT + (FETCH_TILE if tile else FETCH) + AWAIT).format(bar=0, label=0, phase="phase"), ""


def many_loads(tile):
    """Four under way: a turn waits for each of those of the turn before and replaces it."""
    body = ""
    for k in range(STAGES):
        body += f"    setp.eq.u64 %p, %i, 0;\n    xor.b32 %tx, %phase, 1;\n    @%p bra fresh{k};\n" + AWAIT.format(bar=8 * k, label=k, phase="tx") + f"fresh{k}:\n"
        body += stage(k) + (TILE if tile else PLACE) + (EXPECT + (FETCH_TILE if tile else FETCH)).format(bar=8 * k)
    end = "    xor.b32 %tx, %phase, 1;\n" + "".join(AWAIT.format(bar=8 * k, label=f"last{k}", phase="tx") for k in range(STAGES))
    return body, end


def many_stores(tile):
    body = ""
    for k in range(STAGES):
        body += stage(k) + (TILE if tile else PLACE) + (PUT_TILE if tile else PUT).format() + f"    cp.async.bulk.wait_group.read {STAGES - 1};\n"
    return body, "    cp.async.bulk.wait_group 0;\n"


def one_store(tile):
    return stage(0) + (TILE if tile else PLACE) + (PUT_TILE if tile else PUT).format() + "    cp.async.bulk.wait_group 0;\n", ""


def one_store_read(tile):
    return stage(0) + (TILE if tile else PLACE) + (PUT_TILE if tile else PUT).format() + "    cp.async.bulk.wait_group.read 0;\n", "    cp.async.bulk.wait_group 0;\n"


class Copies:
    """Memory, and tensor maps of it: rows of 64 elements of 16 bits."""

    def __init__(self, gpu, size):
        self.gpu, self.size = gpu, size
        self.memory = gpu.allocate(size, not gpu.quick)
        self.room = ctypes.create_string_buffer(192)
        self.map = ctypes.addressof(self.room) + (-ctypes.addressof(self.room)) % 64

    def encode(self, rows):
        code = self.gpu.driver.library.cuTensorMapEncodeTiled(
            c_void_p(self.map), c_int(6), c_uint(2), c_void_p(self.memory), (c_ulonglong * 2)(64, self.size // 128), (c_ulonglong * 1)(128),
            (c_uint * 2)(64, rows), (c_uint * 2)(1, 1), c_int(0), c_int(3), c_int(0), c_int(0))
        if code:
            raise ValueError(f"cuTensorMapEncodeTiled: {code}")

    def run(self, function, tbs, size, turns, region):
        gpu = self.gpu
        values = [c_ulonglong(value) for value in (gpu.out, self.memory, region - 1, turns, size)]
        pointers = (c_void_p * 6)(self.map, *[ctypes.addressof(value) for value in values])
        gpu.driver("cuLaunchKernel", function, tbs, 1, 1, 32, 1, 1, STAGES * STAGE_BYTES, None, pointers, None)
        gpu.driver("cuCtxSynchronize")
        return statistics.mean(gpu.read(gpu.out, tbs))

    def cycles(self, function, tbs, size, turns, region):
        """Of a turn."""
        self.run(function, tbs, size, 3 * turns, region)
        return [(self.run(function, tbs, size, 3 * turns, region) - self.run(function, tbs, size, turns, region)) / (2 * turns)
                for _ in range(self.gpu.repetitions)]


def bulk_copies(gpu, row):
    copies = Copies(gpu, (16 << 20) if gpu.quick else (1 << 30))
    few = (16, 1024, 16384) if gpu.quick else (16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
    for tile in (False, True):
        kind = "tensor copy" if tile else "bulk copy"
        for what, make in (("load and wait", one_at_a_time), ("store and wait", one_store), ("store until it has been read", one_store_read)):
            body, end = make(tile)
            function = kernel(gpu, body, end)
            for size in few:
                if tile and not 128 <= size <= 32768:
                    continue
                copies.encode(max(1, size // 128))
                row(f"{kind}: {what}", "cycles", copies.cycles(function, 1, size, 2 if gpu.quick else 16, 1 << 16), f"{size} bytes")
        for what, make in (("loads", many_loads), ("stores", many_stores)):
            body, end = make(tile)
            function = kernel(gpu, body, end)
            for size in (4096, 16384) if gpu.quick else (512, 1024, 2048, 4096, 8192, 16384, 32768):
                copies.encode(size // 128)
                for tbs in (1,) if gpu.quick else (1, gpu.sms):
                    turns = 2 if gpu.quick else 32
                    values = [tbs * STAGES * size / cycles for cycles in copies.cycles(function, tbs, size, turns, 1 << 20 if tbs == 1 else 16 << 20)]
                    row(f"{kind}: {what} in the L2", "bytes per cycle", values, f"{size} bytes, {tbs} TBs")
                if size == 16384 and not gpu.quick:
                    values = [gpu.sms * STAGES * size / cycles for cycles in copies.cycles(function, gpu.sms, size, 40, 1 << 30)]
                    row(f"{kind}: {what} in the DRAM", "bytes per cycle", values, f"{size} bytes, {gpu.sms} TBs")
    gpu.free(copies.memory)


def kernel(gpu, body, end):
    function = gpu.kernel(COPY.format(body=body, end=end), "copies")
    gpu.driver.library.cuFuncSetAttribute(function, c_int(DYNAMIC_BYTES), c_int(STAGES * STAGE_BYTES))
    return function
