# SPDX-License-Identifier: MIT
"""The matrix products that conformance.py holds against a GPU: mma and mma.sp in every shape and type, and wmma by way of memory.

Each warp computes one product: 256 products a shape, in flavours (see FLAVOURS) that change with the warp.
"""
import functools
import random
import re
from collections import namedtuple

WARPS = 256
HEADER = ".version 8.7\n.target sm_90\n.address_size 64\n"
MOST_REGISTERS = 8
FLOATS = {"f16": (5, 10), "bf16": (8, 7), "tf32": (8, 23), "f32": (8, 23), "f64": (11, 52), "e4m3": (4, 3), "e5m2": (5, 2)}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "s32": 32}
FLAVOURS = ("whole", "near one", "wide", "any bits", "tiny", "cancel", "few specials", "narrow")

Product = namedtuple("Product", "name family m n k d a b c sparse suffix layouts result_bits")

EIGHTHS = ("e4m3", "e5m2")
BYTES = ("s8", "u8")
NIBBLES = ("s4", "u4")
SHAPES = [
    ("m8n8k4", ("f16",), ("f16", "f32")), ("m8n8k4", ("f64",), ("f64",)), ("m8n8k16", BYTES, ("s32",)), ("m8n8k32", NIBBLES, ("s32",)),
    ("m8n8k128", ("b1",), ("s32",)), ("m16n8k4", ("tf32",), ("f32",)), ("m16n8k4", ("f64",), ("f64",)),
    ("m16n8k8", ("f16",), ("f16", "f32")), ("m16n8k8", ("bf16",), ("f32",)), ("m16n8k8", ("tf32",), ("f32",)), ("m16n8k8", ("f64",), ("f64",)),
    ("m16n8k16", ("f16",), ("f16", "f32")), ("m16n8k16", ("bf16",), ("f32",)), ("m16n8k16", ("f64",), ("f64",)),
    ("m16n8k16", EIGHTHS, ("f16", "f32")), ("m16n8k16", BYTES, ("s32",)), ("m16n8k32", EIGHTHS, ("f16", "f32")), ("m16n8k32", BYTES, ("s32",)),
    ("m16n8k32", NIBBLES, ("s32",)), ("m16n8k64", NIBBLES, ("s32",)), ("m16n8k128", ("b1",), ("s32",)), ("m16n8k256", ("b1",), ("s32",))]
SPARSE = [
    ("m16n8k8", ("tf32",), ("f32",)), ("m16n8k16", ("f16",), ("f16", "f32")), ("m16n8k16", ("bf16",), ("f32",)), ("m16n8k16", ("tf32",), ("f32",)),
    ("m16n8k32", ("f16",), ("f16", "f32")), ("m16n8k32", ("bf16",), ("f32",)), ("m16n8k32", BYTES, ("s32",)), ("m16n8k64", EIGHTHS, ("f32",)),
    ("m16n8k64", BYTES, ("s32",)), ("m16n8k64", NIBBLES, ("s32",)), ("m16n8k128", NIBBLES, ("s32",))]

# wmma: registers of a and b (PTX ISA, "Matrix Fragments for WMMA"); those of c and d follow from their types
LARGE = ("m16n16k16", "m8n32k16", "m32n8k16")
WMMA = [(shape, ("f16",), ("f16", "f32"), {"m16n16k16": (8, 8), "m8n32k16": (8, 8), "m32n8k16": (8, 8)}[shape]) for shape in LARGE] + \
       [(shape, ("bf16",), ("f32",), {"m16n16k16": (4, 4), "m8n32k16": (2, 8), "m32n8k16": (8, 2)}[shape]) for shape in LARGE] + \
       [(shape, BYTES, ("s32",), {"m16n16k16": (2, 2), "m8n32k16": (1, 4), "m32n8k16": (4, 1)}[shape]) for shape in LARGE] + \
       [("m16n16k8", ("tf32",), ("f32",), (4, 4)), ("m8n8k4", ("f64",), ("f64",), (1, 1)), ("m8n8k32", NIBBLES, ("s32",), (1, 1)),
        ("m8n8k128", ("b1",), ("s32",), (1, 1))]
WARP_BYTES = 1024  # of each matrix in memory


ZERO = " on zero"  # c is 0


def shape_of(text):
    return tuple(int(number) for number in re.findall(r"\d+", text))


def all_products():
    found = []
    for sparse, shapes in ((False, SHAPES), (True, SPARSE)):
        for shape, multiplicands, accumulators in shapes:
            m, n, k = shape_of(shape)
            for a in multiplicands:
                for b in multiplicands:
                    for d in accumulators:
                        quad = not sparse and (m, a) == (8, "f16")
                        for c in accumulators if quad and d == "f32" else (d,):
                            suffixes = (".xor.popc", ".and.popc") if a == "b1" else ("",)
                            saturates = ("", ".satfinite") if d == "s32" and a != "b1" else ("",)
                            layouts = ("row.col", "row.row", "col.col", "col.row") if quad else ("row.col",)
                            for suffix in suffixes:
                                for satfinite in saturates:
                                    for layout in layouts:
                                        name = f"mma{'.sp' if sparse else ''}.sync.aligned.{shape}.{layout}{satfinite}.{d}.{a}.{b}.{c}{suffix}"
                                        bits = 64 if d == "f64" else 32
                                        found.append(Product(name, "matrix", m, n, k, d, a, b, c, sparse, suffix, layout, bits))
    return found + all_wmma() + [product._replace(name=product.name + ZERO) for product in found if product.a in FLOATS and not product.sparse and
                                 product.layouts == "row.col" and product.a == product.b and product.c == product.d != "f64"]


def all_wmma():
    found = []
    for shape, multiplicands, accumulators, counts in WMMA:
        m, n, k = shape_of(shape)
        for a in multiplicands:
            for d in accumulators:
                for c in accumulators:
                    small = BITS[a] < 8
                    for layout in ("row.col",) if small else ("row.col", "row.row", "col.col", "col.row"):
                        for satfinite in ("", ".satfinite") if d == "s32" and a != "b1" else ("",):
                            operation = ".xor.popc" if a == "b1" else ""
                            types = f"{d}.{c}" if a == "f16" else f"{d}.{a}.{a}.{c}"
                            name = f"wmma.mma{operation}.sync.aligned.{layout}.{shape}.{types}{satfinite}"
                            found.append(Product(name, "matrix wmma", m, n, k, d, a, a, c, False, counts, layout, 64))
    return found


def registers(product, role):
    if product.family == "matrix wmma":
        if role in "ab":
            return product.suffix[role == "b"]
        kind = product.c if role == "c" else product.d
        return product.m * product.n // 32 // (2 if kind == "f16" else 1)
    kind = {"a": product.a, "b": product.b, "c": product.c, "d": product.d}[role]
    elements = {"a": product.m * product.k // (2 if product.sparse else 1), "b": product.k * product.n,
                "c": product.m * product.n, "d": product.m * product.n}[role]
    lanes = 8 if (product.m, product.a, product.sparse) == (8, "f16", False) else 32
    return max(1, elements * BITS[kind] // lanes // (64 if kind == "f64" else 32))


def results_of(product):
    """Words that a warp writes."""
    if product.family == "matrix wmma":
        return product.m * product.n * BITS[product.d] // 64
    return 32 * registers(product, "d")


def tables_of(product):
    """Keys of the tables of a, b, c and of the metadata."""
    if product.family == "matrix wmma":
        return [(product.a, "a", "packed"), (product.b, "b", "packed"), (product.c, "c", "packed")]
    return [(product.a, "a"), (product.b, "b"), (product.c, "zero" if product.name.endswith(ZERO) else "c")] + ([("sparse", product.a)] if product.sparse else [])


def draw_below(bits, count):
    """A number less than count from a generator's getrandbits: what its randrange and the index of its choice are, without what these look at first."""
    length = count.bit_length()
    drawn = bits(length)
    while drawn >= count:
        drawn = bits(length)
    return drawn


def draw_float(draw_bits, kind, flavour, role):
    exponent_bits, fraction_bits = FLOATS[kind]
    bias, top = (1 << exponent_bits - 1) - 1, (1 << exponent_bits) - 1
    if kind in EIGHTHS:
        top += kind == "e4m3"  # its largest exponent is not that of infinities
    bits = draw_bits(1 + exponent_bits + fraction_bits)
    fraction = bits & (1 << fraction_bits) - 1
    sign = bits >> exponent_bits + fraction_bits
    way = FLAVOURS[flavour]
    if way == "any bits":
        return bits
    if way == "few specials" and draw_below(draw_bits, 40) == 0:
        last = (1 << exponent_bits) - 1
        exponent, fraction = ((last, 0), (last, fraction), (0, fraction), (0, 0), (last - 1, (1 << fraction_bits) - 1))[draw_below(draw_bits, 5)]
    elif way == "whole":
        exponent, fraction = bias + draw_below(draw_bits, 3), fraction >> max(0, fraction_bits - 2) << max(0, fraction_bits - 2)
    elif way == "wide":
        spread = min(bias - 1, 24)
        exponent = bias - spread + draw_below(draw_bits, 2 * spread + 1)
    elif way == "tiny":
        exponent = draw_below(draw_bits, max(2, bias // 2)) if role == "a" else bias // 2 + draw_below(draw_bits, 3)
    elif way == "cancel":
        exponent = bias + (0, 0, 0, 6 if bias > 7 else 3, -6 if bias > 7 else -3)[draw_below(draw_bits, 5)]
        fraction = fraction >> fraction_bits // 2 << fraction_bits // 2
    elif way == "narrow":
        exponent = bias - 1 + draw_below(draw_bits, 3)
    else:
        exponent = bias - 3 + draw_below(draw_bits, 5)
    if role == "c" and way in ("cancel", "near one", "wide"):
        exponent += draw_below(draw_bits, 9) - 4 if bias > 20 else 0
    exponent = max(0, min(exponent, top - 1 if way != "few specials" else (1 << exponent_bits) - 1))
    return sign << exponent_bits + fraction_bits | exponent << fraction_bits | fraction


@functools.cache
def table_of(key):
    """Words of MOST_REGISTERS registers of all lanes of all warps; packed: whole words of elements."""
    if len(key) == 3:
        words = table_of(key[:2])
        step = 32 * MOST_REGISTERS
        if key[0] == "f64":
            return [word for warp in range(WARPS) for word in words[warp * step:warp * step + WARP_BYTES // 8]]
        return [words[warp * step + i] | words[warp * step + i + 1] << 32 for warp in range(WARPS) for i in range(0, WARP_BYTES // 4, 2)]
    kind, role = key
    generator = random.Random(f"{kind} {role}")
    words = []
    for warp in range(WARPS):
        flavour = warp % len(FLAVOURS)
        for _ in range(32 * MOST_REGISTERS):
            if role == "zero":
                words.append(0)
                continue
            if kind == "sparse":
                words.append(metadata(generator.getrandbits, role))
                continue
            if kind not in FLOATS:
                words.append(generator.getrandbits(32) if role != "c" or flavour % 2 else generator.choice([0x7fffff00, 0x80000100, 0]) ^ generator.getrandbits(7))
                continue
            bits, word = BITS[kind], 0
            for shift in range(0, max(bits, 32), bits):
                word |= draw_float(generator.getrandbits, kind, flavour, role) << shift
            words.append(word)
    return words


def metadata(draw_bits, kind):
    """Of each four (of tf32: two) elements, which are there; indices rise, as PTX asks."""
    word = 0
    for shift in range(0, 32, 4):
        nibble = (0x4, 0xe)[draw_below(draw_bits, 2)] if kind == "tf32" else (0x4, 0x8, 0xc, 0x9, 0xd, 0xe)[draw_below(draw_bits, 6)]
        word |= nibble << shift
    return word


def register_kind(kind, role):
    return "f64" if kind == "f64" else "f32" if kind == "f32" and role in "cd" else "b32"


def wmma_kernel(product, name):
    """Matrices lie densely in memory, one a warp in WARP_BYTES bytes; d is by rows."""
    lines = [f".visible .entry {name}(.param .u64 out, .param .u64 in0, .param .u64 in1, .param .u64 in2)", "{",
             ".reg .b32 %c; .reg .b64 %o, %at;", "mov.u32 %c, %ctaid.x;", f"mul.wide.u32 %o, %c, {WARP_BYTES};"]
    shape = f"m{product.m}n{product.n}k{product.k}"
    layouts = {**dict(zip("ab", product.layouts.split("."))), "c": "row"}
    strides = {"a": (product.k, product.m), "b": (product.n, product.k), "c": (product.n, product.m)}
    kinds = {"a": product.a, "b": product.b, "c": product.c, "d": product.d}
    groups = {role: "{" + ", ".join(f"%{role}{r}" for r in range(registers(product, role))) + "}" for role in "abcd"}
    for role, kind in kinds.items():
        lines.append(f".reg .{register_kind(kind, role)} %{role}<{MOST_REGISTERS}>;")
    for i, role in enumerate("abc"):
        stride = strides[role][layouts[role] == "col"]
        lines += [f"ld.param.u64 %at, [in{i}]; cvta.to.global.u64 %at, %at; add.u64 %at, %at, %o;",
                  f"wmma.load.{role}.sync.aligned.{layouts[role]}.{shape}.global.{kinds[role]} {groups[role]}, [%at], {stride};"]
    lines += [f"{product.name} {groups['d']}, {groups['a']}, {groups['b']}, {groups['c']};",
              f"mul.wide.u32 %o, %c, {8 * results_of(product)};",
              "ld.param.u64 %at, [out]; cvta.to.global.u64 %at, %at; add.u64 %at, %at, %o;",
              f"wmma.store.d.sync.aligned.row.{shape}.global.{product.d} [%at], {groups['d']}, {product.n};"]
    return "\n".join([*lines, "ret;", "}"]) + "\n"


def kernel_of(product, name):
    """Lane l of warp w reads word (w * MOST_REGISTERS + r) * 32 + l of each table."""
    if product.family == "matrix wmma":
        return wmma_kernel(product, name)
    roles = {"a": product.a, "b": product.b, "c": product.c}
    count = 4 if product.sparse else 3
    lines = [f".visible .entry {name}(.param .u64 out, " + ", ".join(f".param .u64 in{i}" for i in range(count)) + ")", "{",
             ".reg .b32 %t, %c, %e; .reg .b64 %o, %at, %w, %out;"]
    for role, kind in (*roles.items(), ("d", product.d)):
        lines.append(f".reg .{register_kind(kind, role)} %{role}<{MOST_REGISTERS}>;")
    lines += ["mov.u32 %t, %tid.x;", "mov.u32 %c, %ctaid.x;", f"mad.lo.u32 %c, %c, {32 * MOST_REGISTERS}, %t;", "mul.wide.u32 %o, %c, 8;"]
    for i, (role, kind) in enumerate(roles.items()):
        lines.append(f"ld.param.u64 %at, [in{i}]; cvta.to.global.u64 %at, %at; add.u64 %at, %at, %o;")
        for r in range(registers(product, role)):
            lines.append(f"ld.global.{register_kind(kind, role)} %{role}{r}, [%at+{r * 256}];")
    if product.sparse:
        lines.append("ld.param.u64 %at, [in3]; cvta.to.global.u64 %at, %at; add.u64 %at, %at, %o; ld.global.b32 %e, [%at];")
    fragments = ["{" + ", ".join(f"%{role}{r}" for r in range(registers(product, role))) + "}" for role in "dabc"]
    lines.append(product.name.split(" ")[0] + " " + ", ".join(fragments) + (", %e, 0x0;" if product.sparse else ";"))
    words = results_of(product)
    lines += ["mov.u32 %c, %ctaid.x;", f"mad.lo.u32 %c, %c, {words}, %t;", "mul.wide.u32 %o, %c, 8;",
              "ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; add.u64 %out, %out, %o;"]
    for r in range(registers(product, "d")):
        lines.append(f"mov.b64 %w, %d{r};" if product.d == "f64" else f"cvt.u64.u32 %w, %d{r};" if product.d != "f32" else
                     f"{{ .reg .b32 %x; mov.b32 %x, %d{r}; cvt.u64.u32 %w, %x; }}")
        lines.append(f"st.global.b64 [%out+{r * 256}], %w;")
    return "\n".join([*lines, "ret;", "}"]) + "\n"
