# SPDX-License-Identifier: MIT
"""The products of warpgroups (wgmma.mma_async of sm_90a) that conformance.py holds against a GPU.

A thread block of four warps copies bytes into shared memory, of which descriptors make matrices: whatever a layout says, both sides read the same
bytes. Sixteen thread blocks for each product, in the flavours of matrices.py.
"""
import random
from collections import namedtuple

from matrices import BITS, FLAVOURS, FLOATS, draw_float

HEADER = ".version 8.4\n.target sm_90a\n.address_size 64\n"
TBS = 16
THREADS = 128
CHUNK = 2048  # words of 32 bits of a table that a thread block uses
IMAGE = 8192  # bytes of A; four times as many of B follow

# k in elements, pairs of a and b, types of d
EIGHTHS = [(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
BYTES = [(a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
KINDS = [(16, [("f16", "f16")], ("f16", "f32")), (16, [("bf16", "bf16")], ("f32",)), (8, [("tf32", "tf32")], ("f32",)), (32, EIGHTHS, ("f16", "f32")),
         (32, BYTES, ("s32",)), (256, [("b1", "b1")], ("s32",))]
SWIZZLES = {1: 0, 8: 1, 4: 2, 2: 3}  # pieces of 16 bytes: code of a descriptor

Layout = namedtuple("Layout", "transposed pieces start leading stride base")
Product = namedtuple("Product", "name family n k d a b sat registers scale_d negative layout_a layout_b chain result_bits")


def widths(a):
    """Of integers those that are multiples of 16, and 8 and 24."""
    return [n for n in range(8, 257, 8) if a not in ("s8", "u8", "b1") or n % 16 == 0 or n in (8, 24)]


def dense(transposed, pieces, lines):
    """A layout without gaps; lines are rows of A or columns of B."""
    if not transposed:
        return Layout(False, pieces, 0, 128 if pieces == 1 else 16, 256 if pieces == 1 else 128 * pieces, 0)
    if pieces == 1:
        return Layout(True, 1, 0, lines * 16, 128, 0)
    across = (lines // 8 + pieces - 1) // pieces
    return Layout(True, pieces, 0, 128 * pieces, across * 128 * pieces, 0)


def fits(layout, lines, room):
    """Whether all of a matrix is within so many bytes, whatever the swizzle does."""
    if not layout.transposed:
        last = (lines - 1) // 8 * layout.stride + 7 * layout.pieces * 16 + (layout.leading if layout.pieces == 1 else 16) + 16
    elif layout.pieces == 1:
        last = lines // 8 * layout.stride + layout.leading + 128
    else:
        last = (lines // 8 - 1) // layout.pieces * layout.leading + layout.stride + 128 * layout.pieces
    return layout.start + last + 128 * layout.pieces <= room


def drawn_layout(generator, transposed, lines, room):
    """Any descriptor whose matrix is within its room."""
    while True:
        pieces = generator.choice((1, 2, 4, 8))
        unit = 128 * pieces if pieces > 1 else 16
        layout = Layout(transposed, pieces, generator.randrange(room // 2 // unit) * unit, generator.randrange(1, 40) * 16 * generator.choice((1, 8)),
                        generator.randrange(1, 40) * 16 * generator.choice((1, 8)), 0)
        if fits(layout, lines, room):
            return layout


def all_products():
    found = []

    def add(n, k, a, b, d, sat="", registers=False, scale_d="1", negative=(1, 1), layouts=None, chain=1, note=""):
        layout_a, layout_b = layouts or (dense(False, 1, 64), dense(False, 1, n))
        name = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}{sat}.{d}.{a}.{b}" + (".and.popc" if a == "b1" else "")
        full = f"{name} {'registers' if registers else 'shared'} {scale_d} {negative[0]} {negative[1]} " \
               f"{layout_a.pieces}{'t' * layout_a.transposed} {layout_b.pieces}{'t' * layout_b.transposed} {chain}{note}"
        found.append(Product(full, "warpgroup", n, k, d, a, b, sat, registers, scale_d, negative, layout_a, layout_b, chain, 32))

    for k, pairs, results in KINDS:
        for a, b in pairs:
            wide, floating = BITS[a] == 16, a in FLOATS
            for d in results:
                for n in widths(a):
                    generator = random.Random(f"{n} {k} {a} {b} {d}")
                    turned = [wide and generator.randrange(2) == 1 for _ in "ab"]
                    pieces = [generator.choice((1, 2, 4, 8)) for _ in "ab"]
                    add(n, k, a, b, d, ".satfinite" if a in ("s8", "u8") and n % 32 else "", generator.randrange(2) == 1,
                        layouts=(dense(turned[0], pieces[0], 64), dense(turned[1], pieces[1], n)))
                for registers in (False, True):  # every form
                    for scale_d in ("0", "p", "!p"):
                        add(16, k, a, b, d, "", registers, scale_d)
                    for negative in ((-1, 1), (1, -1), (-1, -1)) if floating else ():
                        add(16, k, a, b, d, "", registers, negative=negative)
                    for chain in (2, 5):
                        add(16, k, a, b, d, "", registers, chain=chain)
                    for pieces in SWIZZLES:
                        for way_a in (False, True) if wide and not registers else (False,):
                            for way_b in (False, True) if wide else (False,):
                                add(32, k, a, b, d, "", registers, layouts=(dense(way_a, pieces, 64), dense(way_b, pieces, 32)), note=" form")
    for number in range(120):
        generator = random.Random(f"layout {number}")
        wide = number % 3 == 0
        a = b = "f16" if wide else generator.choice(("tf32", "s8"))
        n = generator.choice((8, 16, 64, 128))
        turned = [wide and generator.randrange(2) == 1 for _ in "ab"]
        layouts = (drawn_layout(generator, turned[0], 64, IMAGE), drawn_layout(generator, turned[1], n, 4 * IMAGE))
        add(n, {"f16": 16, "tf32": 8, "s8": 32}[a], a, b, "s32" if a == "s8" else "f32", layouts=layouts, note=f" drawn {number}")
    return found


def registers_of_d(product):
    return product.n * BITS[product.d] // 64


def results_of(product):
    return TBS * THREADS * registers_of_d(product)


def tables_of(product):
    return [(product.a, "a"), (product.b, "b"), (product.d, "c")]


def table_of(key):
    """Words of 32 bits, two in each of 64."""
    kind, role = key
    generator = random.Random(f"warpgroup {kind} {role}")
    words = []
    for tb in range(TBS):
        flavour = tb % len(FLAVOURS)
        for _ in range(CHUNK):
            word = generator.getrandbits(32)
            if kind in FLOATS:
                word = 0
                for shift in range(0, 32, BITS[kind]):
                    word |= draw_float(generator.getrandbits, kind, flavour, role) << shift
            elif role == "c" and tb % 2 == 0:
                word = generator.choice((0x7fffff00, 0x80000100, 0)) ^ generator.getrandbits(7)
            words.append(word)
    return [words[i] | words[i + 1] << 32 for i in range(0, len(words), 2)]


def descriptor(layout, image, to):
    """Code that puts the descriptor of a matrix in shared memory into a register."""
    bits = (layout.leading >> 4) << 16 | (layout.stride >> 4) << 32 | layout.base << 49 | SWIZZLES[layout.pieces] << 62
    return f"add.u32 %s, %image, {image + layout.start}; shr.u32 %s, %s, 4; and.b32 %s, %s, 0x3fff; cvt.u64.u32 {to}, %s; or.b64 {to}, {to}, {bits:#x};"


def bank(product):
    return {"f32": ("f", "f32"), "s32": ("i", "s32"), "f16": ("r", "b32")}[product.d]


def operation(product):
    name, count = bank(product)[0], registers_of_d(product)
    text = product.name.split(" ")[0] + " {" + ", ".join(f"%{name}{i}" for i in range(count)) + "}, "
    text += "{%a0, %a1, %a2, %a3}, %db" if product.registers else "%da, %db"
    text += ", " + {"p": "%adds", "!p": "!%adds"}.get(product.scale_d, product.scale_d)
    if product.a in FLOATS:
        text += f", {product.negative[0]}, {product.negative[1]}"
    if BITS[product.a] == 16:
        text += ("" if product.registers else f", {int(product.layout_a.transposed)}") + f", {int(product.layout_b.transposed)}"
    return text + ";"


def kernel_of(product, name):
    letter, kind = bank(product)
    count = registers_of_d(product)
    lines = [f".visible .entry {name}(.param .u64 out, .param .u64 in0, .param .u64 in1, .param .u64 in2)", "{",
             f".shared .align 1024 .b8 image[{5 * IMAGE}];", f".reg .{kind} %{letter}<{count}>; .reg .b32 %a<4>, %t, %s, %v, %u, %w, %c, %image;",
             ".reg .b64 %from, %x, %da, %db, %out; .reg .pred %q, %adds;",
             "mov.u32 %t, %tid.x; mov.u32 %c, %ctaid.x; mov.u32 %image, image; setp.lt.u32 %adds, %c, 8;"]
    for i, to, bytes_ in ((0, 0, IMAGE), (1, IMAGE, 4 * IMAGE)):  # B has the chunk of the thread block and that of another one, in turns
        lines += [f"ld.param.u64 %from, [in{i}]; cvta.to.global.u64 %from, %from; mov.u32 %u, %t;",
                  f"copy{i}: shr.u32 %v, %u, {(CHUNK - 1).bit_length()}; mad.lo.u32 %v, %v, 8, %c; and.b32 %v, %v, {TBS - 1}; and.b32 %s, %u, {CHUNK - 1};",
                  f"mad.lo.u32 %v, %v, {CHUNK}, %s; mul.wide.u32 %x, %v, 4; add.u64 %x, %x, %from; ld.global.b32 %w, [%x];",
                  f"mad.lo.u32 %s, %u, 4, %image; st.shared.b32 [%s+{to}], %w; add.u32 %u, %u, {THREADS};",
                  f"setp.lt.u32 %q, %u, {bytes_ // 4}; @%q bra copy{i};"]
    lines += ["ld.param.u64 %from, [in0]; cvta.to.global.u64 %from, %from;"]
    for i in range(4):
        lines += [f"mad.lo.u32 %v, %c, {CHUNK}, %t; mul.wide.u32 %x, %v, 4; add.u64 %x, %x, %from; ld.global.b32 %a{i}, [%x+{i * THREADS * 4}];"]
    lines += ["ld.param.u64 %from, [in2]; cvta.to.global.u64 %from, %from;"]
    for i in range(count):
        lines += [f"add.u32 %v, %t, {i * THREADS}; and.b32 %v, %v, {CHUNK - 1}; mad.lo.u32 %v, %c, {CHUNK}, %v; mul.wide.u32 %x, %v, 4;",
                  f"add.u64 %x, %x, %from; ld.global.{kind} %{letter}{i}, [%x];"]
    lines += [descriptor(product.layout_a, 0, "%da"), descriptor(product.layout_b, IMAGE, "%db"),
              "fence.proxy.async.shared::cta; bar.sync 0; wgmma.fence.sync.aligned;"]
    lines += [operation(product)] * product.chain
    lines += ["wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
              f"ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; mad.lo.u32 %v, %c, {THREADS * count}, %t; mul.wide.u32 %x, %v, 8;",
              "add.u64 %out, %out, %x;"]
    for i in range(count):
        lines += [f"mov.b32 %w, %{letter}{i}; cvt.u64.u32 %x, %w; st.global.b64 [%out+{i * THREADS * 8}], %x;"]
    return "\n".join([*lines, "ret;", "}"]) + "\n"
