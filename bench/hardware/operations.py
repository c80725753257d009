# SPDX-License-Identifier: MIT
"""The instructions that conformance.py holds against a GPU: every operation, type, rounding and variant, one kernel each.

An operation is (name, family, text of the instruction, type of the result, types of the sources). In the text {d} is the
destination and {0}, {1}, {2}, {3} are sources. A type is how bits lie in a 64-bit word of the tables, and which register has them.
"""
from collections import namedtuple

Operation = namedtuple("Operation", "name family text result sources")

ROUNDINGS = ("rn", "rz", "rm", "rp")
WHOLE = ("rni", "rzi", "rmi", "rpi")
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
ALL_INTEGERS = ("u8", "s8") + INTEGERS
ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
FLOAT_COMPARISONS = ORDERED + ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
HALVES = ("f16", "f16x2", "bf16", "bf16x2")

# Register and bits of each type.
BITS = {"pred": 1, "u8": 8, "s8": 8, "u16": 16, "s16": 16, "b16": 16, "f16": 16, "bf16": 16, "e4m3x2": 16, "e5m2x2": 16,
        "u32": 32, "s32": 32, "b32": 32, "f32": 32, "f16x2": 32, "bf16x2": 32, "tf32": 32, "n32": 32, "u64": 64, "s64": 64, "b64": 64,
        "f64": 64}


class Table:
    """Operations in the order in which they were added."""

    def __init__(self):
        self.operations = []
        self.names = set()

    def add(self, family, name, result, sources, text=None):
        """The instruction NAME {d}, {0}, …; or another text."""
        if text is None:
            text = f"{name} {{d}}, " + ", ".join(f"{{{i}}}" for i in range(len(sources))) + ";"
        assert name not in self.names, name
        self.names.add(name)
        self.operations.append(Operation(name, family, text, result, tuple(sources)))


def flags(*each):
    """All ways to have or not to have each flag."""
    ways = [""]
    for flag in each:
        ways = [way + more for way in ways for more in ("", "." + flag)]
    return ways


def add_floats(table):
    for operation in ("add", "sub", "mul"):
        for rounding in ROUNDINGS:
            for flag in flags("ftz", "sat"):
                table.add("f32", f"{operation}.{rounding}{flag}.f32", "f32", ("f32",) * 2)
            table.add("f64", f"{operation}.{rounding}.f64", "f64", ("f64",) * 2)
    for rounding in ROUNDINGS:
        for flag in flags("ftz", "sat"):
            table.add("f32", f"fma.{rounding}{flag}.f32", "f32", ("f32",) * 3)
        table.add("f64", f"fma.{rounding}.f64", "f64", ("f64",) * 3)
        for operation, count in (("div", 2), ("rcp", 1), ("sqrt", 1)):
            for flag in flags("ftz"):
                table.add("f32", f"{operation}.{rounding}{flag}.f32", "f32", ("f32",) * count)
            table.add("f64", f"{operation}.{rounding}.f64", "f64", ("f64",) * count)
    for operation in ("min", "max"):
        for flag in flags("ftz", "NaN"):
            table.add("f32", f"{operation}{flag}.f32", "f32", ("f32",) * 2)
        table.add("f64", f"{operation}.f64", "f64", ("f64",) * 2)
    for operation in ("abs", "neg"):
        for flag in flags("ftz"):
            table.add("f32", f"{operation}{flag}.f32", "f32", ("f32",))
        table.add("f64", f"{operation}.f64", "f64", ("f64",))
    for kind in ("f32", "f64"):
        table.add(kind, f"copysign.{kind}", kind, (kind,) * 2)
        for test in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            table.add("test", f"testp.{test}.{kind}", "pred", (kind,))


def add_approximations(table):
    for operation in ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"):
        for flag in flags("ftz"):
            table.add("approximate", f"{operation}.approx{flag}.f32", "f32", ("f32",))
    table.add("approximate", "tanh.approx.f32", "f32", ("f32",))
    for flag in flags("ftz"):
        table.add("approximate", f"div.approx{flag}.f32", "f32", ("f32",) * 2)
        table.add("approximate", f"div.full{flag}.f32", "f32", ("f32",) * 2)
    table.add("approximate", "rcp.approx.ftz.f64", "f64", ("f64",))
    table.add("approximate", "rsqrt.approx.f64", "f64", ("f64",))
    table.add("approximate", "rsqrt.approx.ftz.f64", "f64", ("f64",))
    for kind in HALVES:
        table.add("approximate", f"tanh.approx.{kind}", kind, (kind,))
        flag = ".ftz" if kind.startswith("bf") else ""
        table.add("approximate", f"ex2.approx{flag}.{kind}", kind, (kind,))


def add_halves(table):
    for kind in HALVES:
        brain = kind.startswith("bf")
        for operation in ("add", "sub", "mul"):
            for rounding in ("", ".rn"):
                for flag in [""] if brain else flags("ftz", "sat"):
                    table.add("half", f"{operation}{rounding}{flag}.{kind}", kind, (kind,) * 2)
        for flag in ("", ".relu") if brain else ("", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu"):
            table.add("half", f"fma.rn{flag}.{kind}", kind, (kind,) * 3)
        for operation in ("neg", "abs"):
            for flag in [""] if brain else flags("ftz"):
                table.add("half", f"{operation}{flag}.{kind}", kind, (kind,))
        for operation in ("min", "max"):
            for flag in flags("NaN") if brain else flags("ftz", "NaN"):
                table.add("half", f"{operation}{flag}.{kind}", kind, (kind,) * 2)


def add_integers(table):
    for kind in INTEGERS:
        for operation in ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"):
            table.add("integer", f"{operation}.{kind}", kind, (kind,) * 2)
        table.add("integer", f"sad.{kind}", kind, (kind,) * 3)
        for half in ("lo", "hi"):
            table.add("integer", f"mad.{half}.{kind}", kind, (kind,) * 3)
        if kind[0] == "s":
            table.add("integer", f"abs.{kind}", kind, (kind,))
            table.add("integer", f"neg.{kind}", kind, (kind,))
        if kind[1:] != "64":
            wide = kind[0] + str(2 * BITS[kind])
            table.add("integer", f"mul.wide.{kind}", wide, (kind,) * 2)
            table.add("integer", f"mad.wide.{kind}", wide, (kind, kind, wide))
    for operation in ("add", "sub"):
        table.add("integer", f"{operation}.sat.s32", "s32", ("s32",) * 2)
    table.add("integer", "mad.hi.sat.s32", "s32", ("s32",) * 3)
    for kind in ("u32", "s32"):
        for half in ("lo", "hi"):
            table.add("integer", f"mul24.{half}.{kind}", kind, (kind,) * 2)
            table.add("integer", f"mad24.{half}.{kind}", kind, (kind,) * 3)
        for other in ("u32", "s32"):
            signed = "s32" if "s32" in (kind, other) else "u32"
            table.add("integer", f"dp4a.{kind}.{other}", signed, ("b32", "b32", signed))
            for half in ("lo", "hi"):
                table.add("integer", f"dp2a.{half}.{kind}.{other}", signed, ("b32", "b32", signed))
    table.add("integer", "mad24.hi.sat.s32", "s32", ("s32",) * 3)
    for kind in ("u32", "s32", "u64", "s64"):
        add_carries(table, kind)


def add_carries(table, kind):
    """The carry of a first addition goes into a second one; the result has both."""
    names = {"add": "addc", "sub": "subc"}
    for first, second in names.items():
        text = f"{{{{ .reg .{kind} %low; {first}.cc.{kind} %low, {{0}}, {{1}}; {second}.{kind} {{d}}, {{2}}, %low; }}}}"
        table.add("integer", f"{first}.cc+{second}.{kind}", kind, (kind,) * 3, text)
        text = f"{{{{ .reg .{kind} %low; {first}.cc.{kind} %low, {{0}}, {{1}}; {second}.cc.{kind} %low, {{2}}, {{0}};" \
               f" {second}.{kind} {{d}}, %low, {{1}}; }}}}"
        table.add("integer", f"{first}.cc+{second}.cc+{second}.{kind}", kind, (kind,) * 3, text)
    for half in ("lo", "hi"):
        text = f"{{{{ .reg .{kind} %low; mad.{half}.cc.{kind} %low, {{0}}, {{1}}, {{2}}; madc.{half}.{kind} {{d}}, {{1}}, {{2}}, %low; }}}}"
        table.add("integer", f"mad.{half}.cc+madc.{half}.{kind}", kind, (kind,) * 3, text)


def add_bits(table):
    for bits in ("32", "64"):
        table.add("bits", f"popc.b{bits}", "u32", (f"b{bits}",))
        table.add("bits", f"clz.b{bits}", "u32", (f"b{bits}",))
        table.add("bits", f"brev.b{bits}", f"b{bits}", (f"b{bits}",))
        table.add("bits", f"bfi.b{bits}", f"b{bits}", (f"b{bits}", f"b{bits}", "n32", "n32"))
        for sign in "us":
            kind = sign + bits
            table.add("bits", f"bfind.{kind}", "u32", (kind,))
            table.add("bits", f"bfind.shiftamt.{kind}", "u32", (kind,))
            table.add("bits", f"bfe.{kind}", kind, (kind, "n32", "n32"))
    for mode in ("clamp", "wrap"):
        table.add("bits", f"bmsk.{mode}.b32", "b32", ("n32", "n32"))
        for kind in ("u32", "s32"):
            table.add("bits", f"szext.{mode}.{kind}", kind, (kind, "n32"))
        for direction in "lr":
            table.add("bits", f"shf.{direction}.{mode}.b32", "b32", ("b32", "b32", "n32"))
    for kind in ("b16", "b32", "b64"):
        for operation in ("and", "or", "xor"):
            table.add("bits", f"{operation}.{kind}", kind, (kind,) * 2)
        for operation in ("not", "cnot"):
            table.add("bits", f"{operation}.{kind}", kind, (kind,))
        table.add("bits", f"shl.{kind}", kind, (kind, "n32"))
    for kind in INTEGERS:
        table.add("bits", f"shr.{kind}", kind, (kind, "n32"))
    for truth in (0x00, 0x01, 0x17, 0x1b, 0x2d, 0x80, 0x96, 0xca, 0xe8, 0xfe, 0xff):
        table.add("bits", f"lop3.b32 {truth:#04x}", "b32", ("b32",) * 3, f"lop3.b32 {{d}}, {{0}}, {{1}}, {{2}}, {truth:#x};")
    table.add("bits", "prmt.b32", "b32", ("b32", "b32", "b32"))
    for mode in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        table.add("bits", f"prmt.b32.{mode}", "b32", ("b32", "b32", "n32"))
    table.add("bits", "fns.b32", "b32", ("b32", "n32", "s32"),
              "{{ .reg .u32 %base; and.b32 %base, {1}, 31; fns.b32 {d}, {0}, %base, {2}; }}")


def add_video(table):
    for count, operations in ((2, ("vadd2", "vsub2", "vavrg2", "vabsdiff2", "vmin2", "vmax2")),
                              (4, ("vadd4", "vsub4", "vavrg4", "vabsdiff4", "vmin4", "vmax4"))):
        for operation in operations:
            for d in ("u32", "s32"):
                for a in ("u32", "s32"):
                    for b in ("u32", "s32"):
                        for flag in ("", ".sat", ".add"):
                            table.add("video", f"{operation}.{d}.{a}.{b}{flag}", d, (a, b, d))
    assert count == 4


def comparable(kind):
    return FLOAT_COMPARISONS if kind[0] in "f" or kind.startswith("bf") else ORDERED[:2] if kind[0] == "b" else ORDERED


def add_comparisons(table):
    for kind in INTEGERS + ("b16", "b32", "b64", "f32", "f64", "f16", "bf16"):
        for comparison in comparable(kind) + (("lo", "ls", "hi", "hs") if kind[0] == "u" else ()):
            for flag in flags("ftz") if kind in ("f32", "f16") else [""]:
                table.add("compare", f"setp.{comparison}{flag}.{kind}", "pred", (kind,) * 2)
    for kind in INTEGERS + ("b32", "f32", "f64", "f16"):
        for to in ("u32", "s32") if kind == "f16" else ("u32", "s32", "f32"):
            for comparison in ("lt", "ge", "neu", "nan") if kind[0] == "f" else ("eq", "ne") if kind[0] == "b" else ("lt", "ge"):
                table.add("compare", f"set.{comparison}.{to}.{kind}", to, (kind,) * 2)
    for kind in ("f16", "bf16"):
        for comparison in ("lt", "ge", "neu", "nan"):
            for to in (kind, "u16", "s16"):
                table.add("compare", f"set.{comparison}.{to}.{kind}", to, (kind,) * 2)
            pair = kind + "x2"
            table.add("compare", f"set.{comparison}.{pair}.{pair}", pair, (pair,) * 2)
            for way in ("p", "q"):
                table.add("compare", f"setp.{comparison}.{pair} {way}", "pred", (pair,) * 2,
                          f"{{{{ .reg .pred %p, %q; setp.{comparison}.{pair} %p|%q, {{0}}, {{1}}; mov.pred {{d}}, %{way}; }}}}")
    for boolean in ("and", "or", "xor"):
        for kind in ("s32", "f32", "u64"):
            table.add("compare", f"setp.lt.{boolean}.{kind}", "pred", (kind, kind, "pred"))
            table.add("compare", f"setp.lt.{boolean}.{kind} !", "pred", (kind, kind, "pred"),
                      f"setp.lt.{boolean}.{kind} {{d}}, {{0}}, {{1}}, !{{2}};")
    for kind in ("b16", "b32", "b64", "f32", "f64", "u16", "s64"):
        table.add("compare", f"selp.{kind}", kind, (kind, kind, "pred"))
        table.add("compare", f"slct.{kind}.s32", kind, (kind, kind, "s32"))
        for flag in flags("ftz"):
            table.add("compare", f"slct{flag}.{kind}.f32", kind, (kind, kind, "f32"))


def holds(to, source):
    """Whether an integer type has all values of another: .sat has no meaning there and is refused."""
    return (to[0] == source[0] and BITS[to] >= BITS[source]) or (source[0] == "u" and BITS[to] > BITS[source])


def add_conversions(table):
    for to in ALL_INTEGERS:
        for source in ALL_INTEGERS:
            for flag in [""] if holds(to, source) else flags("sat"):
                table.add("convert", f"cvt{flag}.{to}.{source}", to, (source,))
        for source in ("f32", "f64", "f16") + (("bf16",) if BITS[to] > 8 else ()):
            for rounding in WHOLE:
                for flag in flags("ftz", "sat") if source == "f32" else flags("sat") if source == "f64" else [""]:
                    table.add("convert", f"cvt.{rounding}{flag}.{to}.{source}", to, (source,))
    for to in ("f32", "f64", "f16", "bf16"):
        for source in INTEGERS if to == "bf16" else ALL_INTEGERS:
            for rounding in ROUNDINGS:
                table.add("convert", f"cvt.{rounding}.{to}.{source}", to, (source,))
    for flag in flags("ftz", "sat"):
        for rounding in WHOLE:
            table.add("convert", f"cvt.{rounding}{flag}.f32.f32", "f32", ("f32",))
        table.add("convert", f"cvt{flag}.f32.f32", "f32", ("f32",))
        for rounding in ROUNDINGS:
            table.add("convert", f"cvt.{rounding}{flag}.f32.f64", "f32", ("f64",))
            table.add("convert", f"cvt.{rounding}{flag}.f16.f32", "f16", ("f32",))
        table.add("convert", f"cvt{flag}.f64.f32", "f64", ("f32",))
        table.add("convert", f"cvt{flag}.f32.f16", "f32", ("f16",))
    for flag in flags("sat"):
        table.add("convert", f"cvt{flag}.f64.f64", "f64", ("f64",))
        for rounding in WHOLE:
            table.add("convert", f"cvt.{rounding}{flag}.f64.f64", "f64", ("f64",))
        for rounding in WHOLE:
            table.add("convert", f"cvt.{rounding}{flag}.f16.f16", "f16", ("f16",))
        for rounding in ROUNDINGS:
            table.add("convert", f"cvt.{rounding}{flag}.f16.f64", "f16", ("f64",))
        table.add("convert", f"cvt{flag}.f64.f16", "f64", ("f16",))
    for rounding in WHOLE:
        table.add("convert", f"cvt.{rounding}.bf16.bf16", "bf16", ("bf16",))
    for rounding in ROUNDINGS:
        table.add("convert", f"cvt.{rounding}.bf16.f64", "bf16", ("f64",))
    table.add("convert", "cvt.f32.bf16", "f32", ("bf16",))
    table.add("convert", "cvt.f64.bf16", "f64", ("bf16",))
    for rounding in ("rn", "rz"):
        for flag in flags("relu"):
            table.add("convert", f"cvt.{rounding}{flag}.bf16.f32", "bf16", ("f32",))
            if flag:
                table.add("convert", f"cvt.{rounding}{flag}.f16.f32", "f16", ("f32",))
            for pair in ("f16x2", "bf16x2"):
                table.add("convert", f"cvt.{rounding}{flag}.{pair}.f32", pair, ("f32",) * 2)
            table.add("convert", f"cvt.{rounding}{flag}.tf32.f32", "tf32", ("f32",))
    table.add("convert", "cvt.rna.tf32.f32", "tf32", ("f32",))
    for pair in ("e4m3x2", "e5m2x2"):
        for flag in flags("relu"):
            table.add("convert", f"cvt.rn.satfinite{flag}.{pair}.f32", pair, ("f32",) * 2)
            table.add("convert", f"cvt.rn.satfinite{flag}.{pair}.f16x2", pair, ("f16x2",))
            table.add("convert", f"cvt.rn{flag}.f16x2.{pair}", "f16x2", (pair,))


def add_lanes(table):
    """Operations over the lanes of a warp, with all lanes there."""
    for mode in ("up", "down", "bfly", "idx"):
        table.add("lanes", f"shfl.sync.{mode}.b32", "b32", ("b32", "n32", "n32"),
                  f"shfl.sync.{mode}.b32 {{d}}, {{0}}, {{1}}, {{2}}, 0xffffffff;")
        table.add("lanes", f"shfl.sync.{mode}.b32 p", "pred", ("b32", "n32", "n32"),
                  f"{{{{ .reg .b32 %x; shfl.sync.{mode}.b32 %x|{{d}}, {{0}}, {{1}}, {{2}}, 0xffffffff; }}}}")
    for mode in ("all", "any", "uni"):
        table.add("lanes", f"vote.sync.{mode}.pred", "pred", ("pred",), f"vote.sync.{mode}.pred {{d}}, {{0}}, 0xffffffff;")
    table.add("lanes", "vote.sync.ballot.b32", "b32", ("pred",), "vote.sync.ballot.b32 {d}, {0}, 0xffffffff;")
    for kind in ("b32", "b64"):
        few = f"{{{{ .reg .{kind} %few; and.{kind} %few, {{0}}, 3; "
        table.add("lanes", f"match.any.sync.{kind}", "b32", (kind,), few + f"match.any.sync.{kind} {{d}}, %few, 0xffffffff; }}}}")
        table.add("lanes", f"match.all.sync.{kind}", "b32", (kind,), f"match.all.sync.{kind} {{d}}, {{0}}, 0xffffffff;")
    for operation in ("add", "min", "max"):
        for kind in ("u32", "s32"):
            table.add("lanes", f"redux.sync.{operation}.{kind}", kind, (kind,),
                      f"redux.sync.{operation}.{kind} {{d}}, {{0}}, 0xffffffff;")
    for operation in ("and", "or", "xor"):
        table.add("lanes", f"redux.sync.{operation}.b32", "b32", ("b32",), f"redux.sync.{operation}.b32 {{d}}, {{0}}, 0xffffffff;")


ATOMICS = {"and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"), "exch": ("b32", "b64"), "cas": ("b16", "b32", "b64"),
           "add": ("u32", "s32", "u64", "f32", "f64", "noftz.f16", "noftz.f16x2", "noftz.bf16", "noftz.bf16x2"),
           "inc": ("u32",), "dec": ("u32",), "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64")}


def add_atomics(table):
    """On a word of each thread's own, in global and in shared memory: what is there afterwards, and what atom says was there."""
    for operation, kinds in ATOMICS.items():
        for kind in kinds:
            plain = kind.split(".")[-1]
            store = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}.get(plain, plain)
            sources = (plain,) * (3 if operation == "cas" else 2)
            last = ", {2}" if operation == "cas" else ""
            for space, address in (("global", "%out"), ("shared", "%own")):
                begin = f"{{{{ .reg .b{BITS[plain]} %old; st.{space}.{store} [{address}], {{0}}; "
                after = f"ld.{space}.{store} {{d}}, [{address}]; }}}}"
                table.add("atomic", f"atom.{space}.{operation}.{kind}", plain, sources,
                          begin + f"atom.{space}.{operation}.{kind} %old, [{address}], {{1}}{last}; " + after)
                table.add("atomic", f"atom.{space}.{operation}.{kind} old", plain, sources,
                          begin + f"atom.{space}.{operation}.{kind} {{d}}, [{address}], {{1}}{last}; }}}}")
                if operation not in ("exch", "cas") and space == "global":
                    table.add("atomic", f"red.{space}.{operation}.{kind}", plain, sources,
                              begin + f"red.{space}.{operation}.{kind} [{address}], {{1}}; " + after)


MEET = "barrier.cluster.arrive; barrier.cluster.wait; "
HEARD = "hear: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %heard, [bar], 0; @!%heard bra hear; "


def add_clusters(table):
    """On a word of the next thread block of a cluster of four; %own is the thread's own word, %far that of the thread with its number there."""
    for operation, kinds in ATOMICS.items():
        for kind in kinds:
            plain = kind.split(".")[-1]
            store = {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}.get(plain, plain)
            sources = (plain,) * (3 if operation == "cas" else 2)
            last = ", {2}" if operation == "cas" else ""
            begin = f"{{{{ .reg .b{BITS[plain]} %old; st.shared.{store} [%own], {{0}}; " + MEET
            after = MEET + f"ld.shared.{store} {{d}}, [%own]; }}}}"
            table.add("cluster", f"atom.shared::cluster.{operation}.{kind}", plain, sources,
                      begin + f"atom.shared::cluster.{operation}.{kind} %old, [%far], {{1}}{last}; " + after)
            table.add("cluster", f"atom.shared::cluster.{operation}.{kind} old", plain, sources,
                      begin + f"atom.shared::cluster.{operation}.{kind} {{d}}, [%far], {{1}}{last}; " + MEET + "}}")
            if operation not in ("exch", "cas"):
                table.add("cluster", f"red.shared::cluster.{operation}.{kind}", plain, sources,
                          begin + f"red.shared::cluster.{operation}.{kind} [%far], {{1}}; " + after)
    for operation, kinds in {"add": ("u32", "s32", "u64"), "min": ("u32", "s32"), "max": ("u32", "s32"), "inc": ("u32",), "dec": ("u32",), "and": ("b32",),
                             "or": ("b32",), "xor": ("b32",)}.items():
        for kind in kinds:
            size = BITS[kind] // 8 * 128
            table.add("cluster", f"red.async.{operation}.{kind}", kind, (kind, kind),
                      f"st.shared.{kind} [%own], {{0}}; @%leads mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size}; " + MEET +
                      f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{operation}.{kind} [%far], {{1}}, [%farbar]; " +
                      HEARD + f"ld.shared.{kind} {{d}}, [%own]; " + MEET)
    for kind in ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"):
        size = BITS[kind] // 8 * 128
        table.add("cluster", f"st.async.{kind}", kind, (kind,),
                  f"st.shared.u64 [%own], 0; @%leads mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {size}; " + MEET +
                  f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{kind} [%far], {{0}}, [%farbar]; " + HEARD +
                  f"ld.shared.{kind} {{d}}, [%own]; " + MEET)
    for kind in ("b16", "b32", "b64"):
        table.add("cluster", f"ld.shared::cluster.{kind}", kind, (kind,),
                  f"st.shared.{kind} [%own], {{0}}; " + MEET + f"ld.shared::cluster.{kind} {{d}}, [%far]; " + MEET)
        table.add("cluster", f"st.shared::cluster.{kind}", kind, (kind,),
                  MEET + f"st.shared::cluster.{kind} [%far], {{0}}; " + MEET + f"ld.shared.{kind} {{d}}, [%own]; ")
        table.add("cluster", f"ld.{kind} of another thread block", kind, (kind,),
                  f"st.shared.{kind} [%own], {{0}}; " + MEET +
                  "{{ .reg .b64 %g; .reg .b32 %r; cvt.u64.u32 %g, %own; cvta.shared.u64 %g, %g; mov.u32 %r, %cluster_ctarank; add.u32 %r, %r, 1; and.b32 %r, %r, 3; "
                  f"mapa.u64 %g, %g, %r; ld.{kind} {{d}}, [%g]; }}}} " + MEET)
    for number in range(4):  # of each kind of address: which thread block, and in which space
        ask = ("getctarank.shared::cluster.u32 {d}, %far;", "getctarank.shared::cluster.u32 {d}, %own;",
               "{{ .reg .b64 %g; .reg .pred %y, %z; .reg .b32 %v; cvt.u64.u32 %g, %far; cvta.shared::cluster.u64 %g, %g; isspacep.shared::cluster %y, %g; "
               "isspacep.shared %z, %g; selp.b32 {d}, 1, 0, %y; selp.b32 %v, 2, 0, %z; or.b32 {d}, {d}, %v; getctarank.u64 %v, %g; shl.b32 %v, %v, 4; or.b32 {d}, {d}, %v; }}",
               "{{ .reg .b64 %g; .reg .pred %y, %z; .reg .b32 %v; cvt.u64.u32 %g, %own; cvta.shared.u64 %g, %g; isspacep.shared::cluster %y, %g; "
               "isspacep.shared %z, %g; selp.b32 {d}, 1, 0, %y; selp.b32 %v, 2, 0, %z; or.b32 {d}, {d}, %v; getctarank.u64 %v, %g; shl.b32 %v, %v, 4; or.b32 {d}, {d}, %v; }}")[number]
        table.add("cluster", f"space and thread block of an address {number}", "b32", ("b32",), ask)
    for name in ("cluster_ctaid.x", "cluster_ctaid.y", "cluster_nctaid.x", "cluster_nctaid.z", "cluster_ctarank", "cluster_nctarank", "clusterid.x", "clusterid.y",
                 "nclusterid.x", "nclusterid.y", "ctaid.x"):
        table.add("cluster", f"mov.u32 {name}", "b32", ("b32",), f"mov.u32 {{d}}, %{name};")
    table.add("cluster", "mov.pred is_explicit_cluster", "pred", ("b32",), "mov.pred {d}, %is_explicit_cluster;")
    table.add("cluster", "mbarrier.arrive in another thread block", "b32", ("b32",),
              "@%leads mbarrier.init.shared::cta.b64 [bar], 128; @%leads fence.mbarrier_init.release.cluster; st.shared.b32 [%own], {0}; " + MEET +
              "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%farbar]; " + HEARD + "ld.shared::cluster.b32 {d}, [%far]; " + MEET)
    table.add("cluster", "mbarrier.pending_count after arrivals", "b32", ("b32",),
              "@%leads mbarrier.init.shared::cta.b64 [bar], 1000; @%leads fence.mbarrier_init.release.cluster; " + MEET +
              "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%farbar], 3; mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%farbar], 64; " + MEET +
              "{{ .reg .b64 %g; bar.sync 0; @%leads mbarrier.arrive.shared::cta.b64 %g, [bar], 1; @%leads st.shared.b64 [bar], %g; bar.sync 0; ld.shared.b64 %g, [bar]; "
              "mbarrier.pending_count.b64 {d}, %g; }} " + MEET)


def all_operations():
    table = Table()
    for fill in (add_floats, add_approximations, add_halves, add_integers, add_bits, add_video, add_comparisons, add_conversions,
                 add_lanes, add_atomics, add_clusters):
        fill(table)
    return table.operations
