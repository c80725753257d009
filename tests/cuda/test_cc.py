#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corun cc`: programs and PTX with clang alone. Usage: test_cc.py CORUN FOLDER [TEST...], where FOLDER is that of this file."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

CORUN, HERE = sys.argv[1:3]
PROGRAMS, ROOT = os.path.join(HERE, "programs"), os.path.join(HERE, "../..")


class Compile(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.folder = self.temporary.name
        os.mkdir(os.path.join(self.folder, "tmp"))

    def tearDown(self):
        self.assertEqual(os.listdir(os.path.join(self.folder, "tmp")), [])
        self.temporary.cleanup()

    def corun(self, *words, status=0, **settings):
        done = subprocess.run([CORUN, *words], capture_output=True, text=True, timeout=120, check=False, cwd=self.folder,
                              env=dict(os.environ, TMPDIR=os.path.join(self.folder, "tmp"), **settings))
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_page(self):
        with open(os.path.join(ROOT, "docs/cuda-cc.md"), encoding="utf-8") as file:
            page = file.read()
        self.write("saxpy.cu", re.search(r"```cuda\n(.*?)```", page, re.S)[1])
        for command in re.findall(r"^    corun (.*)$", page, re.M):
            done = self.corun(*command.split())
        self.assertIn(f"prints, before the table of its kernels:\n\n    {done.stdout}", page)
        self.assertIn("1 launch\n", done.stderr)

    def test_programs_of_ours(self):
        """Those of other tests: symbols, streams, cooperative launches, and math in the kernels."""
        for name in ("symbols", "streams", "cooperative", "heat"):
            self.assertEqual(self.corun("cc", os.path.join(PROGRAMS, f"{name}.cu"), "-o", name, "-I",
                                        os.path.join(HERE, "include")).stderr, "", name)
            self.corun("exec", "-q", "--", f"./{name}")

    def test_ordinary_programs(self):
        """Headers of the C++ library, templates, double precision: what was refused, or was computed in single precision without a word."""
        wanted = {"templates": "1008\n2016\n1008000000000000\n1108307720798208\n", "double_math": "1 100\n28 92 220\n"}
        for name, printed in wanted.items():
            self.assertEqual(self.corun("cc", os.path.join(PROGRAMS, f"{name}.cu"), "-o", name).stderr, "", name)
            self.assertEqual(self.corun("exec", "-q", "--", f"./{name}").stdout, printed)

    def test_headers_of_ours(self):
        """Floats of 16 bits, groups of threads, textures and surfaces; also with both sides not optimised, as are device functions and forms of the API."""
        both = ("halves", "groups", "textures", "surfaces", "texels")
        further = ("roundings", "math", "atomics", "warp_functions", "half_pairs") if int(os.environ.get("CORUN_TEST_RUNS", "0")) >= 10 else ()
        for name in both + ("integers", "api_forms") + further:
            for level in ("3", "0") if name in both else ("0",):
                self.assertEqual(self.corun("cc", os.path.join(PROGRAMS, f"{name}.cu"), "-O", level, "-o", name, "-I",
                                            os.path.join(HERE, "include")).stderr, "", name)
                self.corun("exec", "-q", "--functional", "--", f"./{name}")

    def test_asserts(self):
        """With assert.h of the system: what fails is named with its place."""
        self.corun("cc", os.path.join(PROGRAMS, "asserts.cu"), "-o", "asserts", "-I", os.path.join(HERE, "include"))
        self.assertRegex(self.corun("exec", "-q", "--", "./asserts").stderr, r"assertion `value % 2 == 0' failed at \S*asserts\.cu:10 in int half_of\(int\)")

    def test_what_is_read_is_not_replaced(self):
        text = "__global__ void k(int *to)\n{\n    *to = 1;\n}\nint main()\n{\n    return 0;\n}\n"
        self.write("one.cu", text)
        os.symlink("one.cu", os.path.join(self.folder, "link"))
        for words in (("one.cu", "-o", "one.cu"), ("-c", "one.cu", "-o", "./one.cu"), ("one.cu", "-o", "link")):
            self.assertIn("one.cu" if "link" not in words else "link", self.corun("cc", *words, status=2).stderr)
            with open(os.path.join(self.folder, "one.cu"), encoding="utf-8") as file:
                self.assertEqual(file.read(), text)
        for _ in range(2):  # what it has made itself is replaced
            self.corun("cc", "one.cu", "-o", "one")
            self.corun("cc", "one.cu", "-o", "one.ptx")

    def test_what_cannot_be_written_or_means_nothing(self):
        """Known before clang begins; an empty word would become another option of clang's."""
        self.write("one.cu", "int main()\n{\n    return 0;\n}\n")
        self.assertEqual(self.corun("cc", "one.cu", "-o", "tmp", status=13).stderr, "corun: tmp: cannot be written: Is a directory\n")
        self.assertEqual(self.corun("cc", "one.cu", "-o", "none/one", status=13).stderr,
                         "corun: none/one: cannot be written: No such file or directory\n")
        for option in ("-l", "-L", "-I", "-D", "-O", "--std"):
            self.assertIn(f"{option}: its value is missing", self.corun("cc", "one.cu", option, "", status=2).stderr)
        self.assertEqual(self.corun("cc", "", status=5).stderr, "corun: ``: the name of a file is missing\n")

    def test_words_of_the_user(self):
        """What follows -- comes last, and wins."""
        self.write("fused.cu", 'extern "C" __global__ void fused(float *x) { x[0] = x[1] * x[2] + x[3]; }\n')
        for words, fused in (((), True), (("--", "-ffp-contract=off"), False)):
            self.corun("cc", "fused.cu", "-o", "fused.ptx", *words)
            with open(os.path.join(self.folder, "fused.ptx"), encoding="utf-8") as file:
                self.assertEqual("fma.rn.f32" in file.read(), fused)

    def test_rotations(self):
        """Numbers of places that go beyond the width: what clang 14 makes of these shifts does not go round. Lists need no header."""
        self.write("rotations.cu", """
            #include <stdio.h>
            #define WORDS 64
            typedef unsigned long long u64;
            struct words { u64 wide[2]; unsigned narrow[2]; };
            __host__ __device__ words rotate(u64 x, u64 n)
            {
                unsigned y = x, m = n;
                return {{x << (n & 63) | x >> (-n & 63), x >> (n & 63) | x << (-n & 63)}, {y << (m & 31) | y >> (-m & 31), y >> (m & 31) | y << (-m & 31)}};
            }
            __global__ void all(words *to, u64 step) { to[threadIdx.x] = rotate(0x123456789abcdef1ull, threadIdx.x * step); }
            int main()
            {
                words *got;
                int wrong = 0;
                if (cudaMallocManaged(&got, WORDS * sizeof *got))
                    return 1;
                for (u64 step : {1ull, 3ull, 8ull, 0x123456789ull, 0xfffffffffffffff9ull}) {
                    all<<<1, WORDS>>>(got, step);
                    if (cudaDeviceSynchronize())
                        return 1;
                    for (int i = 0; i < WORDS; i++) {
                        words want = rotate(0x123456789abcdef1ull, i * step);
                        for (int j = 0; j < 2; j++)
                            wrong += (got[i].wide[j] != want.wide[j]) + (got[i].narrow[j] != want.narrow[j]);
                    }
                }
                printf("%d wrong\\n", wrong);
            }
            """)
        for arch in ("sm_30", "sm_52"):
            self.corun("cc", "rotations.cu", "-o", "rotations", "--arch", arch)
            self.assertEqual(self.corun("exec", "-q", "--", "./rotations").stdout, "0 wrong\n")
            self.corun("cc", "rotations.cu", "-o", "rotations.ptx", "--arch", arch)
            with open(os.path.join(self.folder, "rotations.ptx"), encoding="utf-8") as file:
                text = file.read()
            self.assertGreater(text.count("32 %amt2;"), 0)
            self.assertEqual(text.count("and.b32 \t%amt2, "), text.count("32 %amt2;"))
        self.corun("cc", "rotations.cu", "-o", "none.ptx", "--", "-fsyntax-only")

    def test_files_that_are_not_cuda(self):
        """C and C++ files of a program have the headers of the host."""
        text = ("#include <cuda.h>\n#include <cuda_runtime.h>\n#include <stdio.h>\n#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid NAME(void)\n{\n"
                "    struct cudaDeviceProp p;\n    dim3 one = {1, 1, 1};\n    void *memory;\n    int warp = 0;\n    CUdevice device;\n"
                "    if (cudaMalloc(&memory, 4) || cudaGetDeviceProperties(&p, 0) || cuDeviceGet(&device, 0)\n"
                "        || cuDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device))\n        return;\n"
                '    printf("%d %d %u\\n", p.warpSize, warp, one.x);\n}\n')
        self.write("one.c", text.replace("NAME", "one"))
        self.write("two.cpp", text.replace("NAME", "two"))
        self.write("main.cu", 'extern "C" void one(void);\nextern "C" void two(void);\nint main() { cudaFree(0); one(); two(); }\n')
        self.corun("cc", "main.cu", "one.c", "two.cpp", "-o", "mixed")
        self.assertEqual(self.corun("exec", "-q", "--", "./mixed").stdout, "32 32 1\n" * 2)

    def test_own_function_of_a_name(self):
        """atomicAdd of doubles as programs for older GPUs bring it: their own counts."""
        self.write("older.cu", "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 600\n__device__ double atomicAdd(double *p, double v)\n{\n"
                               "    double before = *p;\n    *p = before + 2 * v;\n    return before;\n}\n#endif\n"
                               "__global__ void add(double *p) { atomicAdd(p, 1.5); }\n#include <stdio.h>\nint main()\n{\n    double *p;\n"
                               "    if (cudaMallocManaged(&p, 8))\n        return 1;\n    *p = 1;\n    add<<<1, 1>>>(p);\n"
                               '    printf("%d %g\\n", cudaDeviceSynchronize(), *p);\n}\n')
        for arch, wanted in (("sm_52", "0 4\n"), ("sm_70", "0 2.5\n")):
            self.corun("cc", "older.cu", "-o", "older", "--arch", arch)
            self.assertEqual(self.corun("exec", "-q", "--", "./older").stdout, wanted)

    def test_variables_that_no_other_file_can_name(self):
        """The program writes constants of a namespace and of a type without a name; those that are declared alone are no matter. NaN has the sign of nvcc's."""
        self.write("unnamed.cu", """
#include <cstdio>
extern __constant__ int later;
struct has { static __constant__ int member; };
namespace { __constant__ int hidden = 1; template <class T> __constant__ T of_type = T(2); }
__constant__ struct { int first, second; } unnamed = {3, 4};
__constant__ int later = 5, has::member = 6;
__global__ void k(int *out)
{
    out[0] = hidden + of_type<int> + unnamed.second + later + has::member;
    out[1] = __float_as_int(nanf("")) == 0x7fc00000 && __double_as_longlong(nan("")) == 0x7ff8000000000000;
}
int main()
{
    int add = 1000, result[2], *out;
    cudaMalloc(&out, sizeof result);
    cudaMemcpyToSymbol(hidden, &add, sizeof add);
    cudaMemcpyToSymbol(of_type<int>, &add, sizeof add);
    cudaMemcpyToSymbol(unnamed, &add, sizeof add, sizeof add);
    cudaMemcpyToSymbol(has::member, &add, sizeof add);
    k<<<1, 1>>>(out);
    cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost);
    printf("%s %d %d\\n", cudaGetErrorString(cudaGetLastError()), result[0], result[1]);
    return 0;
}
""")
        self.assertEqual(self.corun("cc", "unnamed.cu", "-o", "unnamed", "--std", "c++17").stderr, "")
        self.assertEqual(self.corun("exec", "-q", "--", "./unnamed").stdout, "no error 4005 1\n")

    def test_variables_that_are_left_out(self):
        """clang 14 takes a variable of a namespace without a name for its own: the program is told, once for each."""
        self.write("left.cu", """
namespace { __device__ int first, second; }
__global__ void k() { first = second = 1; }
int main()
{
    int value = 1, errors = 0;
    k<<<1, 1>>>();
    for (int i = 0; i < 3; i++)
        errors += cudaMemcpyToSymbol(first, &value, sizeof value) + cudaMemcpyFromSymbol(&value, second, sizeof value);
    return errors != 6 * cudaErrorInvalidSymbol;
}
""")
        self.corun("cc", "left.cu", "-o", "left")
        told = re.findall(r"^corun: note: the device code has no variable (\S+): the compiler has left it out$",
                          self.corun("exec", "-q", "--", "./left").stderr, re.M)
        self.assertEqual(sorted(told), ["_ZN12_GLOBAL__N_15firstE", "_ZN12_GLOBAL__N_16secondE"])

    def test_vector_types(self):
        """All that CUDA C++ has up to four elements, with their alignments, on host and device."""
        size = {"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "float": 4, "long": 8, "ulong": 8, "longlong": 8,
                "ulonglong": 8, "double": 8}
        rows = [f"{kind}{count}" for kind in size for count in range(1, 5)]
        store = "".join(f"    (({row} *)to)[{i * 4}] = make_{row}({', '.join(str(k + 1) for k in range(int(row[-1])))});\n"
                        for i, row in enumerate(rows))
        look = "".join(f"    look<{row}>(make_{row}({', '.join(str(k + 1) for k in range(int(row[-1])))}), ({row} *)from + {i * 4});\n"
                       for i, row in enumerate(rows))
        self.write("vectors.cu", "#include <stdio.h>\n#include <string.h>\n__global__ void store(char *to)\n{\n" + store + "}\n"
                                 "template <typename T> void look(T wanted, const T *found)\n{\n"
                                 '    printf("%zu %zu %d\\n", sizeof(T), alignof(T), !memcmp(&wanted, found, sizeof(T)));\n}\n'
                                 "int main()\n{\n    void *from;\n    if (cudaMallocManaged(&from, 8192))\n        return 1;\n"
                                 "    store<<<1, 1>>>((char *)from);\n    if (cudaDeviceSynchronize())\n        return 2;\n" + look + "}\n")
        self.corun("cc", "vectors.cu", "-o", "vectors")
        lines = self.corun("exec", "-q", "--functional", "--", "./vectors").stdout.split("\n")
        for row, line in zip(rows, lines):
            one, count = size[row[:-1]], int(row[-1])
            align = {1: one, 2: 2 * one, 3: one, 4: min(4 * one, 16)}[count]
            self.assertEqual(line.split()[:2], [str(one * count), str(align)], row)
        self.assertEqual(len(lines), len(rows) + 1)
        self.assertEqual(lines[-2].split()[2], "1")  # what is stored later lies over what was before

    def test_source_lines(self):
        """A profile by lines of the CUDA source, inlined calls too."""
        self.write("steps.h", "__device__ static inline float\ndouble_of(float x)\n{\n    return x * 2.0f + sqrtf(x);\n}\n")
        self.write("lines.cu", '#include <cuda_runtime.h>\n#include "steps.h"\n__global__ void step(float *to)\n{\n'
                               "    to[threadIdx.x] = double_of(to[threadIdx.x]);\n}\nint main()\n{\n    void *to;\n"
                               "    if (cudaMalloc(&to, 4096))\n        return 1;\n    step<<<4, 256>>>((float *)to);\n"
                               "    return cudaDeviceSynchronize();\n}\n")
        self.corun("cc", "lines.cu", "-o", "lines", "--", "-gline-tables-only")
        done = self.corun("exec", "--profile", "--", "./lines")
        sources = re.findall(r"^((?:lines\.cu|steps\.h|device\.h):\d+(?:, inlined at \S+:\d+)*) +\d+\.\d %", done.stderr, re.M)
        self.assertTrue(any(source.startswith("lines.cu:5") for source in sources), done.stderr)
        self.assertTrue(any(source.startswith("steps.h:4") for source in sources), done.stderr)
        shares = [float(share) for share in re.findall(r"^\S.*? +(\d+\.\d) %  +\d+ +\d+ +\d+ +\d+ +\d+ +\d+ +\d+$", done.stderr, re.M)]
        self.assertAlmostEqual(sum(shares), 100, delta=1)
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.corun("exec", "-q", "--timeline", "lines.json", "--", "./lines")
        with open(os.path.join(self.folder, "lines.json"), encoding="utf-8") as file:
            launches = [event["args"] for event in json.load(file)["traceEvents"] if "grid" in event["args"]]
        self.assertEqual(len(launches), 1)
        self.assertRegex(launches[0]["source"], r"^lines\.cu:[345]$")
        self.assertRegex(launches[0]["PTX"], r"^lines.*\.ptx:\d+$")
        self.check_captured_lines(launches[0])

    def check_captured_lines(self, begins):
        """What is captured of it tells the same lines."""
        self.corun("capture", "-o", "lines.corun", "--", "./lines")
        done = self.corun("run", "--cycles", "20K", "--no-baselines", "--profile", "--timeline", "run.json", "lines.corun")
        rows = re.findall(r"^ +\d+  .*\S  +((?:lines\.cu|steps\.h):\d+(?:, inlined at \S+:\d+)*)$", done.stdout, re.M)
        self.assertTrue(any(row.startswith("lines.cu:5") for row in rows), done.stdout)
        self.assertTrue(any(row.startswith("steps.h:4") for row in rows), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^ +\d+  .*  ld\.global\.f32 .*  lines\.cu:5$")
        with open(os.path.join(self.folder, "run.json"), encoding="utf-8") as file:
            launches = [event["args"] for event in json.load(file)["traceEvents"] if event.get("cat") == "launch"]
        self.assertTrue(launches)
        for launch in launches:
            self.assertEqual((launch["PTX"], launch["source"]), (begins["PTX"], begins["source"]))

    def test_several_files(self):
        self.write("kernel.cu", "#include <cuda_runtime.h>\n__global__ void set(float *to) { to[threadIdx.x] = sinf(0.5f) * FACTOR; }\n"
                                "void launch(float *to) { set<<<1, 32>>>(to); }\n")
        self.write("main.cpp", "#include <cmath>\n#include <cstdio>\nvoid launch(float *to);\n"
                               'extern "C" int cudaMallocManaged(void **pointer, unsigned long bytes, unsigned flags);\n'
                               'extern "C" int cudaDeviceSynchronize();\n'
                               "int main() { void *to; if (cudaMallocManaged(&to, 128, 1)) return 1; launch((float *)to);\n"
                               "if (cudaDeviceSynchronize()) return 2;\n"
                               'printf("%d\\n", std::fabs(((float *)to)[31] - 3 * std::sin(0.5)) < 1e-6); }\n')
        self.corun("cc", "kernel.cu", "main.cpp", "-DFACTOR=3", "-O1", "-lm", "--", "-Wall")
        self.assertEqual(self.corun("exec", "-q", "--", "./a.out").stdout, "1\n")
        self.corun("cc", "-c", "kernel.cu", "-DFACTOR=3", "-o", "kernel.o")
        self.corun("cc", "kernel.o", "main.cpp", "-o", "other")
        self.assertEqual(self.corun("exec", "-q", "--", "./other").stdout, "1\n")

    def test_ptx(self):
        self.write("add.cu", 'extern "C" __global__ void add(int *to) { to[threadIdx.x] = atomicAdd(to, 0) + threadIdx.x; }\n')
        self.corun("cc", "add.cu", "-o", "add.ptx", "--arch", "sm_70")
        with open(os.path.join(self.folder, "add.ptx"), encoding="utf-8") as file:
            self.assertIn(".target sm_70", file.read())
        self.corun("launch", "-q", "add.ptx", "--block", "32", "--arg", "buf=128", "--save", "0=out")
        with open(os.path.join(self.folder, "out"), "rb") as file:
            self.assertEqual(list(file.read()[::4]), list(range(32)))

    def test_what_is_wrong(self):
        self.write("wrong.cu", "__global__ void wrong() { nothing(); }\n")
        self.write("alone.cu", "__global__ void alone() {}\n")
        done = self.corun("cc", "wrong.cu", status=3)
        self.assertIn("wrong.cu:1:27: error: use of undeclared identifier", done.stderr)
        self.assertIn("corun: wrong.cu: ", done.stderr)
        self.assertIn("main", self.corun("cc", "alone.cu", "-o", "alone", status=3).stderr)
        self.assertIn("no.cu", self.corun("cc", "no.cu", status=5).stderr)
        self.assertIn("libclc", self.corun("cc", "alone.cu", status=5, CORUN_LIBCLC="/no/such.bc").stderr)
        self.assertIn("clang-14", self.corun("cc", "alone.cu", status=5, CORUN_CLANG="no-such-clang").stderr)
        for words in ((), ("-c", "alone.cu"), ("alone.cu", "wrong.cu", "-o", "x.ptx"), ("--arch", "52", "alone.cu"),
                      ("-c", "-o", "x.o", "alone.cu", "wrong.cu"), ("-o", "", "alone.cu")):
            self.corun("cc", *words, status=2)
        self.assertEqual(sorted(os.listdir(self.folder)), ["alone.cu", "tmp", "wrong.cu"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
