# SPDX-License-Identifier: MIT
"""Bulk copies of tensors, tensor maps, and launches of clusters, that conformance.py holds against a GPU.

A case is a tensor map with drawn sizes, and eight copies at drawn places, some of them outside of the tensor: loads, stores and reductions of tiles, loads
of pixels (im2col). Calls are the driver's answers to arguments of which many are wrong.
"""
import ctypes
import random
from collections import namedtuple
from ctypes import byref, c_int, c_uint, c_ulonglong, c_void_p

HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n"
MEMORY = 1 << 16  # bytes of the tensor
ROOM = 8192  # of shared memory
COPIES = 8
THREADS = 64
TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz")
TYPE_BYTES = (1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4)
FLOATING = range(6, 13)
WORDS = {"add": (2, 3, 4, 6, 7, 8, 9, 10), "min": (2, 3, 4, 5, 6, 9), "max": (2, 3, 4, 5, 6, 9), "inc": (2,), "dec": (2,), "and": (2, 3, 4, 5), "or": (2, 3, 4, 5),
         "xor": (2, 3, 4, 5)}

Case = namedtuple("Case", "name family kind rank tensor")
Calls = namedtuple("Calls", "name family rows")


class Tensor:
    """A tensor map and its copies, drawn."""

    def __init__(self, seed, rank, im2col, kind=None, interleave=0):
        generator = random.Random(seed)
        self.rank, self.im2col, self.interleave = rank, im2col, interleave
        self.type = generator.randrange(13) if kind is None else kind
        self.element = TYPE_BYTES[self.type]
        self.swizzle = generator.randrange(4) if interleave < 2 else 1
        self.promotion = generator.randrange(4)
        self.fill = int(self.type in FLOATING and generator.randrange(2))
        self.base = 32 * generator.randrange(32)
        unit = 32 if interleave == 2 else 16
        row = min(16 * generator.randrange(1, ((16 << self.swizzle) if self.swizzle else 128) // 16 + 1) // self.element, 256)
        self.sizes, self.box, self.steps, self.strides = [], [], [], []
        for i in range(rank):
            self.sizes.append(generator.randrange(1, 7) if i else generator.randrange(1, 2 * row + 5))
            self.box.append(generator.randrange(1, 5 if rank < 5 else 3) if i else row)
            self.steps.append(1 if interleave or im2col and i == rank - 1 else generator.randrange(1, 4))
            if i + 1 < rank:
                size = self.strides[-1] * self.sizes[i] if i else self.sizes[0] * self.element
                self.strides.append((size + unit - 1) // unit * unit + unit * generator.randrange(3))
        self.channels, self.pixels = row, generator.randrange(1, 40)
        self.lower, self.upper = [], []
        for i in range(rank - 2 if im2col else 0):
            last = self.sizes[i + 1] - 1
            self.lower.append(generator.randrange(-3, last + 1))
            self.upper.append(generator.randrange(self.lower[-1] - last, 4))
        self.beside = 0  # bytes from a multiple of 1024 to the box in shared memory
        self.places = [self.place(generator) for _ in range(COPIES)]

    def place(self, generator):
        """Five coordinates and three offsets.

        The first coordinate is a multiple of 16 bytes (of 32 with 32 interleaved bytes). From any other one the copy ends with an illegal instruction on an
        H100: all 220 cases did, each had at least one such place, and nothing else in their machine code is unlike the copies that run there. The places as
        they are now have not met a GPU.
        """
        at = [generator.randrange(-self.box[i] - 1, self.sizes[i] + 2) for i in range(self.rank)]
        unit = (32 if self.interleave == 2 else 16) // self.element
        at[0] -= at[0] % unit
        shift = [0, 0, 0]
        for i in range(1, self.rank - 1 if self.im2col else 0):
            at[i] = generator.randrange(self.lower[i - 1], self.sizes[i] + self.upper[i - 1])
            shift[i - 1] = generator.randrange(4)
        return at + [0] * (5 - self.rank) + shift

    def bytes(self):
        if self.im2col:
            return self.channels * self.pixels * self.element
        count = self.box[0]
        for i in range(1, self.rank):
            count *= (self.box[i] + self.steps[i] - 1) // self.steps[i]
        return count * self.element

    def encode(self, library, address):
        """(answer of the driver, 128 bytes aligned to 64)"""
        room = ctypes.create_string_buffer(192)
        start = (-ctypes.addressof(room)) % 64
        tensor_map = c_void_p(ctypes.addressof(room) + start)
        sizes, strides = (c_ulonglong * 5)(*self.sizes), (c_ulonglong * 5)(*self.strides)
        box, steps = (c_uint * 5)(*self.box), (c_uint * 5)(*self.steps)
        begin = [tensor_map, c_int(self.type), c_uint(self.rank), c_void_p(address + self.base), sizes, strides]
        end = [steps, c_int(self.interleave), c_int(self.swizzle), c_int(self.promotion), c_int(self.fill)]
        if self.im2col:
            code = library.cuTensorMapEncodeIm2col(*begin, (c_int * 5)(*self.lower), (c_int * 5)(*self.upper), c_uint(self.channels), c_uint(self.pixels), *end)
        else:
            code = library.cuTensorMapEncodeTiled(*begin, box, *end)
        return code, room.raw[start:start + 128]


def fits(tensor):
    last = tensor.strides[-1] * tensor.sizes[-1] if tensor.rank > 1 else tensor.sizes[0] * tensor.element
    return tensor.bytes() <= ROOM - 1024 and tensor.base + last <= MEMORY - 64


def drawn_tensor(seed, *arguments, **more):
    for turn in range(1000):
        tensor = Tensor(f"{seed} {turn}", *arguments, **more)
        if fits(tensor):
            return tensor
    raise ValueError(seed)


def all_cases():
    found = []

    def add(kind, rank, number, im2col=False, type_=None, interleave=0):
        tensor = drawn_tensor(f"{kind} {rank} {number} {im2col} {interleave}", rank, im2col, type_, interleave)
        name = f"cp.async.bulk.tensor.{rank}d {kind} {TYPES[tensor.type]} {'im2col ' if im2col else ''}" \
               f"{'interleaved %d ' % interleave if interleave else ''}{number}"
        found.append(Case(name, "bulk interleaved" if interleave else "bulk", kind, rank, tensor))

    for number in range(12):  # the pattern of a swizzle begins elsewhere
        add("load", 2, number + 100)
        found[-1].tensor.beside = 128 * (1 + number % 7)
    for rank in range(1, 6):
        for number in range(16):
            add("load", rank, number)
            if rank > 2:
                add("load", rank, number, True)
        for number in range(6):
            add("store", rank, number)
    for change, types in WORDS.items():
        for type_ in types:
            add(change, 1 + (type_ + len(change)) % 3, type_, type_=type_)
    for interleave in (1, 2):
        for rank in (3, 4):
            for number in range(4):
                add("load", rank, number, interleave=interleave)
    return found


def image(seed, size):
    return random.Random(seed).randbytes(size)


def kernel_of(case, name):
    """One copy. The room of a load goes to out, from data come the bytes of a store."""
    coordinates = ", ".join(f"%c{i}" for i in range(case.rank))
    load = case.kind == "load"
    lines = [f".visible .entry {name}(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 data, .param .u32 bytes, .param .u32 beside, .param .align 4 .b8 place[32])",
             "{", f".shared .align 1024 .b8 room[{ROOM}]; .shared .align 8 .b64 bar; .reg .pred %p, %q; .reg .b32 %c<8>, %t, %r, %s, %w, %n, %at, %to;",
             ".reg .b64 %m, %o, %d, %a; .reg .b16 %h<3>;",
             "mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %o, [out]; cvta.to.global.u64 %o, %o; ld.param.u64 %d, [data]; cvta.to.global.u64 %d, %d;",
             "ld.param.u32 %n, [bytes]; ld.param.u32 %to, [beside]; mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0; mov.u32 %r, room; add.u32 %to, %r, %to;",
             *[f"ld.param.b32 %c{i}, [place+{4 * i}];" for i in range(8)], *[f"cvt.u16.u32 %h{i}, %c{5 + i};" for i in range(3)], "mov.u32 %s, %t;",
             "fill: mul.wide.u32 %a, %s, 4; add.u64 %a, %a, %d; ld.global.b32 %w, [%a]; mad.lo.u32 %at, %s, 4, %r; st.shared.b32 [%at], %w;",
             f"add.u32 %s, %s, {THREADS}; setp.lt.u32 %q, %s, {ROOM // 4}; @%q bra fill; fence.proxy.async.shared::cta; bar.sync 0; @%p bra started;"]
    if load:
        offsets = ", {" + ", ".join(f"%h{i}" for i in range(case.rank - 2)) + "}" if case.tensor.im2col else ""
        lines += ["mbarrier.init.shared::cta.b64 [bar], 1; fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared::cta.b64 %a, [bar], %n;",
                  f"cp.async.bulk.tensor.{case.rank}d.shared::cluster.global{'.im2col' if case.tensor.im2col else '.tile'}.mbarrier::complete_tx::bytes "
                  f"[%to], [%m, {{{coordinates}}}], [bar]{offsets};", "started: bar.sync 0; mov.u32 %at, 0;",
                  "wait: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0, 1000; @%q bra done; add.u32 %at, %at, 1;",
                  "setp.lt.u32 %q, %at, 20000; @%q bra wait; bar.sync 0; @!%p st.shared.b32 [%r+" + str(ROOM - 4) + "], %n;", "done: bar.sync 0; mov.u32 %s, %t;",
                  "dump: mul.wide.u32 %a, %s, 4; add.u64 %a, %a, %o; mad.lo.u32 %at, %s, 4, %r; ld.shared.b32 %w, [%at];",
                  f"st.global.b32 [%a], %w; add.u32 %s, %s, {THREADS}; setp.lt.u32 %q, %s, {ROOM // 4}; @%q bra dump;"]
    else:
        kind = "cp.async" if case.kind == "store" else "cp.reduce.async"
        change = "" if case.kind == "store" else f".{case.kind}"
        lines += [f"{kind}.bulk.tensor.{case.rank}d.global.shared::cta{change}.tile.bulk_group [%m, {{{coordinates}}}], [%to];",
                  "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;", "started:"]
    return "\n".join([*lines, "ret;", "}"]) + "\n"


def run_case(case, gpu, module, name):
    """Words of 64 bits: for loads the rooms, for others the tensor afterwards; the first one is the driver's answer."""
    tensor = case.tensor
    size = COPIES * ROOM
    memory = gpu.table(("bulk memory",), lambda: [0] * (MEMORY // 8))
    data = gpu.table(("bulk data",), lambda: [int.from_bytes(image("data", size)[i:i + 8], "little") for i in range(0, size, 8)])
    out = gpu.table(("bulk out",), lambda: [0] * (size // 8))
    gpu.driver("cuMemcpyHtoD_v2", memory, image("memory", MEMORY), MEMORY)
    code, tensor_map = tensor.encode(gpu.driver.library, memory)
    if code:
        return [code]
    function = c_void_p()
    gpu.driver("cuModuleGetFunction", byref(function), module, name.encode())
    room = ctypes.create_string_buffer(192)
    start = (-ctypes.addressof(room)) % 64
    ctypes.memmove(ctypes.addressof(room) + start, tensor_map, 128)
    for i, place in enumerate(tensor.places):
        text = ctypes.create_string_buffer(b"".join((value & 0xffffffff).to_bytes(4, "little") for value in place), 32)
        values = [c_ulonglong(out + i * ROOM), c_ulonglong(data + i * ROOM), c_uint(tensor.bytes()), c_uint(tensor.beside)]
        pointers = (c_void_p * 6)(ctypes.addressof(room) + start, *[ctypes.addressof(value) for value in values], ctypes.addressof(text))
        gpu.driver("cuLaunchKernel", function, 1, 1, 1, THREADS, 1, 1, 0, None, pointers, None)
        gpu.driver("cuCtxSynchronize")
    result = ctypes.create_string_buffer(size)
    gpu.driver("cuMemcpyDtoH_v2", result, out if case.kind == "load" else memory, size)
    return [int.from_bytes(result.raw[i:i + 8], "little") for i in range(0, size, 8)]


# ---- what the driver says of wrong arguments ----

CALL_ROWS = 4096


def spoil(generator, tensor):
    """One thing is as it should not be, or at an edge."""
    i = generator.randrange(max(1, min(tensor.rank, 5)))
    j = generator.randrange(max(1, tensor.rank - 1))
    what = generator.randrange(14)
    if what == 0:
        tensor.rank = generator.choice((0, 1, 2, 3, 4, 5, 6))
        for values, other in ((tensor.sizes, 4), (tensor.box, 2), (tensor.steps, 1), (tensor.strides, 4096), (tensor.lower, 0), (tensor.upper, 0)):
            values += [other] * (5 - len(values))
    elif what == 1:
        tensor.type = generator.choice((-1, 12, 13, 14, 15, 16, 100))
    elif what == 2:
        tensor.base = generator.choice((1, 4, 8, 16, 24, 32, 48))
    elif what == 3:
        tensor.sizes[i] = generator.choice((0, 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1))
    elif what == 4 and tensor.strides:
        tensor.strides[j] = generator.choice((0, 8, 16, 32, 48, 4096, (1 << 40) - 16, 1 << 40, (1 << 40) + 16, 24))
    elif what == 5:
        tensor.box[i] = generator.choice((0, 1, 2, 4, 8, 16, 32, 255, 256, 257))
    elif what == 6:
        tensor.steps[i] = generator.choice((0, 1, 2, 7, 8, 9))
    elif what == 7:
        tensor.interleave = generator.choice((-1, 1, 2, 3))
    elif what == 8:
        tensor.swizzle = generator.choice((-1, 0, 1, 2, 3, 4, 5, 6, 7))
    elif what == 9:
        tensor.promotion = generator.choice((-1, 3, 4, 5))
    elif what == 10:
        tensor.fill = generator.choice((-1, 1, 2))
    elif what == 11 and tensor.lower:
        edge = {3: 32768, 4: 128, 5: 16}.get(tensor.rank, 16)
        (tensor.lower if generator.randrange(2) else tensor.upper)[i % len(tensor.lower)] = generator.choice((-edge - 1, -edge, edge - 1, edge, 0))
    elif what == 12:
        tensor.channels = generator.choice((0, 1, 2, 8, 16, 64, 255, 256, 257))
    elif what == 13:
        tensor.pixels = generator.choice((0, 1, 512, 1023, 1024, 1025))
    return what


def drawn_call(im2col, row):
    generator = random.Random(f"call {im2col} {row}")
    rank = generator.randrange(3, 6) if im2col else generator.randrange(1, 6)
    tensor = Tensor(f"call {im2col} {row}", rank, im2col)
    for _ in range(generator.randrange(3)):
        spoil(generator, tensor)
    return tensor


def answers(gpu, im2col):
    memory = gpu.table(("bulk memory",), lambda: [0] * (MEMORY // 8))
    return [drawn_call(im2col, row).encode(gpu.driver.library, memory)[0] & 0xffffffff for row in range(CALL_ROWS)]


class Attribute(ctypes.Structure):
    _fields_ = [("id", c_int), ("padding", c_int), ("value", c_uint * 16)]


class Config(ctypes.Structure):
    _fields_ = [("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint), ("stream", c_void_p), ("attributes", c_void_p), ("count", c_uint)]


CLUSTER, POLICY = 4, 5
CLUSTER_KERNELS = HEADER.replace("8.0", "8.1") + ".extern .shared .align 16 .b8 room[];\n" + "".join(
    f".visible .entry {name}(.param .u64 out) {directives} {{ ret; }}\n" for name, directives in (
        ("plain", ""), ("required", ".explicitcluster\n.reqnctapercluster 4, 2, 1\n"), ("explicit", ".explicitcluster\n"), ("few", ".maxclusterrank 2\n"),
        ("implied", ".reqnctapercluster 2, 1, 1\n")))


def configuration(grid, block, shared, cluster, policy):
    attributes = (Attribute * 2)()
    count = 0
    if cluster:
        attributes[count].id = CLUSTER
        attributes[count].value[0], attributes[count].value[1], attributes[count].value[2] = cluster
        count += 1
    if policy is not None:
        attributes[count].id = POLICY
        attributes[count].value[0] = policy
        count += 1
    config = Config((c_uint * 3)(*grid), (c_uint * 3)(*block), shared, None, ctypes.addressof(attributes), count)
    return config, attributes


def drawn_launch(row):
    generator = random.Random(f"launch {row}")
    name = generator.choice(("plain", "plain", "plain", "required", "explicit", "few", "implied"))
    cluster = generator.choice((None, (1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 1, 1), (4, 2, 1), (2, 2, 2), (16, 1, 1), (4, 4, 1), (32, 1, 1), (0, 1, 1), (3, 1, 1),
                                (7, 1, 1), (9, 1, 1), (1, 8, 1), (1, 1, 8), (0, 0, 0)))
    grid = tuple(generator.choice((1, 2, 3, 4, 8, 12, 16, 64)) for _ in range(3))
    block = (generator.choice((32, 128, 1024, 1025)), 1, 1)
    return name, grid, block, generator.choice((0, 0, 40000, 50000, 200 << 10)), cluster, generator.choice((None, 0, 1, 2, 3)), generator.randrange(2), generator.randrange(2)


def launches(gpu):
    """What cuLaunchKernelEx says; then clusters that an occupancy calculation finds, and the largest cluster."""
    driver, module, results = gpu.driver, c_void_p(), []
    driver("cuModuleLoadData", byref(module), CLUSTER_KERNELS.encode() + b"\0")
    out = c_ulonglong(0)
    arguments = (c_void_p * 1)(ctypes.addressof(out))
    for row in range(CALL_ROWS // 4):
        name, grid, block, shared, cluster, policy, wide, large = drawn_launch(row)
        function, number = c_void_p(), c_int(-1)
        driver("cuModuleGetFunction", byref(function), module, name.encode())
        driver.library.cuFuncSetAttribute(function, 14, wide)  # clusters that are not portable
        driver.library.cuFuncSetAttribute(function, 8, 200 << 10 if large else 0)
        config, _ = configuration(grid, block, shared, cluster, policy)
        results.append(driver.library.cuLaunchKernelEx(byref(config), function, arguments, None))
        results.append(driver.library.cuCtxSynchronize())
        results.append(driver.library.cuOccupancyMaxActiveClusters(byref(number), function, byref(config)))
        results.append(number.value & 0xffffffff)
        number = c_int(-1)
        results.append(driver.library.cuOccupancyMaxPotentialClusterSize(byref(number), function, byref(config)))
        results.append(number.value & 0xffffffff)
    driver("cuModuleUnload", module)
    return results


def all_calls():
    return [Calls("cuTensorMapEncodeTiled answers", "calls", lambda gpu: answers(gpu, False)),
            Calls("cuTensorMapEncodeIm2col answers", "calls", lambda gpu: answers(gpu, True)), Calls("cuLaunchKernelEx clusters", "calls", launches)]
