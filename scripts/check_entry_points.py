#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does src/cuda/entry_points.def have every function that a CUDA toolkit's headers declare?

    check_entry_points.py ROOT [INCLUDE_DIRECTORY]

Without a directory, those of the toolkits that are commonly installed are tried; where there is none, the check is skipped (exit
status 77). The headers are run through the C preprocessor twice, for the legacy and for the per-thread default stream, so that
what is looked for are the symbols that programs are linked against.
"""
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
PLACES = ("/usr/local/cuda/include", "/opt/cuda/include", "/usr/lib/cuda/include", "/usr/include")
ROW = re.compile(r"^([RNDM])\((\w+),\s*(?:(\d+),\s*(\d+),\s*)?(PLAIN|PTSZ|PTDS)")
# Headers, the prefix of what they declare, and what has to be defined for those that ask for the headers of others.
RUNTIME = ("cuda_runtime_api.h", "cuda_profiler_api.h", "cuda_gl_interop.h", "cuda_egl_interop.h")
DRIVER = ("cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h")
# Types of OpenGL, EGL and VDPAU that the declarations name; their headers need not be installed.
FOREIGN = {
    "GL/gl.h": "typedef unsigned GLuint, GLenum; typedef int GLsizei;",
    "EGL/egl.h": "",
    "EGL/eglext.h": "typedef void *EGLImageKHR, *EGLStreamKHR, *EGLSyncKHR; typedef int EGLint;",
    "vdpau/vdpau.h": "typedef unsigned VdpDevice, VdpVideoSurface, VdpOutputSurface; typedef int VdpGetProcAddress, VdpStatus;",
}
# Device code and inline functions of the headers.
NOT_SYMBOLS = re.compile(r"^cudaOccupancyMaxPotentialBlockSize")


def table(root, version):
    """Symbols of the runtime library of that version and of the driver's."""
    runtime, driver = set(), set()
    with open(os.path.join(root, "src/cuda/entry_points.def"), encoding="utf-8") as file:
        for line in file:
            row = ROW.match(line)
            if not row:
                continue
            kind, name, first, last, variant = row.groups()
            if kind in "RN" and not int(first) <= version <= int(last):
                continue
            names = runtime if kind in "RN" else driver
            names.add(name)
            if variant != "PLAIN":
                names.add(f"{name}_{variant.lower()}")
    return runtime, driver


def declared(include, headers, prefix, per_thread):
    """Functions that the headers declare, as the linker knows them."""
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        for path, text in FOREIGN.items():
            os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        command = [os.environ.get("CC", "cc"), "-E", "-P", "-x", "c", "-I", folder, "-I", include, "-"]
        if per_thread:
            command.insert(1, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM")
        text = "".join(f'#include "{header}"\n' for header in headers if os.path.exists(os.path.join(include, header)))
        text = subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout
    # What stands before a declaration ends with the one before it.
    for name in re.findall(r"(?:CUresult|cudaError_t|struct cudaChannelFormatDesc|const char\s*\*)[\w\s]*?\b(" + prefix + r"[A-Z]\w*)\s*\(",
                           re.sub(r"__attribute__\s*\(\([^()]*(?:\([^()]*\))?[^()]*\)\)", " ", text)):
        if not NOT_SYMBOLS.match(name):
            found.add(name)
    return found


def version_of(include):
    with open(os.path.join(include, "cuda.h"), encoding="utf-8", errors="replace") as file:
        found = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", file.read())
    return int(found.group(1)) // 1000 if found else 0


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    places = arguments[1:2] or PLACES
    include = next((place for place in places if os.path.exists(os.path.join(place, "cuda.h"))), None)
    if not include:
        print("no headers of CUDA: skipped")
        return SKIPPED
    version = version_of(include)
    runtime, driver = table(arguments[0], version)
    missing, count = [], 0
    for per_thread in (False, True):
        for headers, prefix, names in ((RUNTIME, "cuda", runtime), (DRIVER, "cu", driver)):
            wanted = declared(include, headers, prefix, per_thread)
            count += len(wanted)
            missing += sorted(wanted - names)
    print(f"{count} symbols of CUDA {version} in {include}, {len(missing)} are not in the table")
    for name in missing:
        print(f"  {name}")
    return 1 if missing or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
