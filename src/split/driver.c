/* SPDX-License-Identifier: MIT */
/* The driver's library is opened, and its functions are looked up by name. */
#include "split/driver.h"

#include <dlfcn.h>
#include <string.h>

/* A symbol that corun's own driver has and no other. */
static const char simulated_mark[] = "corun_driver_call";

static bool find_functions(struct driver *driver)
{
    static const char *const names[] = {
#define F(field, symbol, arguments) #symbol,
#include "split/driver.def"
#undef F
    };
    void *found[sizeof names / sizeof names[0]];
    size_t i = 0;
    for (; i < sizeof names / sizeof names[0]; i++)
        if (!(found[i] = dlsym(driver->library, names[i])))
            return false;
    i = 0;
#define F(field, symbol, arguments) memcpy(&driver->field, &found[i++], sizeof(void *));
#include "split/driver.def"
#undef F
    return true;
}

bool driver_open(struct driver *driver)
{
    int count = 0;
    *driver = (struct driver){.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};
    if (!driver->library)
        return false;
    /* It stays open for good: drivers have threads and handlers of their own. Only one that was never used is closed. */
    if (!find_functions(driver)) {
        dlclose(driver->library);
        return false;
    }
    if (driver->init(0) || driver->device_count(&count) || count <= 0)
        return false;
    driver->count = (uint32_t)count;
    driver->simulated = dlsym(driver->library, simulated_mark) != NULL;
    return true;
}

const char *driver_error(const struct driver *driver, int error)
{
    const char *name = NULL;
    return !driver->error_name(error, &name) && name ? name : "an unknown error";
}
