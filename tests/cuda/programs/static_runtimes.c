/* SPDX-License-Identifier: MIT */
/*
 * Static runtimes of several CUDA versions in one process, called before main: static_runtimes VERSION [LIBRARY ITS_VERSION]
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int cudaMalloc(void **place, unsigned long bytes);
int cudaMemset(void *place, int value, unsigned long bytes);
int cudaMemcpy(void *to, const void *from, unsigned long bytes, int kind);
int cudaRuntimeGetVersion(int *version);

static unsigned char *early;

__attribute__((constructor)) static void begin(void)
{
    if (cudaMalloc((void **)&early, 100) || cudaMemset(early, 0x5a, 100))
        early = NULL;
}

static int check(const char *what, int version, const char *major)
{
    if (version / 1000 == atoi(major))
        return 0;
    printf("%s: runtime %d, not %s\n", what, version, major);
    return 1;
}

int main(int count, char **words)
{
    int version = 0, wrong = 0;
    unsigned char back[100] = {0};
    if (!early || cudaMemcpy(back, early, 100, 2) || back[0] != 0x5a || back[99] != 0x5a) {
        puts("the memory of the constructor is not there");
        wrong = 1;
    }
    wrong |= cudaRuntimeGetVersion(&version) != 0 || check("program", version, words[1]);
    if (count > 3) {
        void *library = dlopen(words[2], RTLD_NOW | RTLD_LOCAL);
        int *found = library ? dlsym(library, "library_version") : NULL;
        if (!found)
            printf("%s\n", dlerror());
        wrong |= !found || check("library", *found, words[3]);
    }
    return wrong;
}
