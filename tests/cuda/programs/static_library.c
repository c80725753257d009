/* SPDX-License-Identifier: MIT */
/* A library that holds a static runtime of its own, and uses it from its constructor. */
int cudaMalloc(void **place, unsigned long bytes);
int cudaRuntimeGetVersion(int *version);
extern int library_version;
int library_version;

__attribute__((constructor)) static void begin(void)
{
    void *place;
    if (cudaMalloc(&place, 1000) || cudaRuntimeGetVersion(&library_version))
        library_version = -1;
}
