/* SPDX-License-Identifier: MIT */
/*
 * A driver below the shim that does not know one variable by its name: that of HIDDEN_NAME. All else is that of DRIVER, with which this is linked under its whole path, as
 * the shim has the name libcuda.so.1 in the process.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_FOUND = 500, NOT_SUPPORTED = 801 };

typedef int ask_driver(uint64_t *address, size_t *bytes, void *owner, const char *name);

static int ask(const char *symbol, uint64_t *address, size_t *bytes, void *owner, const char *name)
{
    const char *hidden = getenv("HIDDEN_NAME");
    void *driver = dlopen(DRIVER, RTLD_LAZY | RTLD_NOLOAD);
    ask_driver *real = driver ? (ask_driver *)dlsym(driver, symbol) : NULL;
    if (hidden && name && strcmp(name, hidden) == 0)
        return NOT_FOUND;
    return real ? real(address, bytes, owner, name) : NOT_SUPPORTED;
}

#define HIDES(symbol) \
    ask_driver symbol; \
    int symbol(uint64_t *address, size_t *bytes, void *owner, const char *name) \
    { \
        return ask(#symbol, address, bytes, owner, name); \
    }
HIDES(cuModuleGetGlobal_v2)
HIDES(cuLibraryGetGlobal)
HIDES(cuLibraryGetManaged)
