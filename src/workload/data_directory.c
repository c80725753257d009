#include "corun/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* true if `path` is a directory and is not longer than `bytes` allow */
static bool is_directory(const char *path, int length, size_t bytes)
{
    struct stat information;
    return length >= 0 && (size_t)length < bytes && stat(path, &information) == 0 && S_ISDIR(information.st_mode);
}

enum corun_status corun_data_directory(char *path, size_t bytes, struct corun_diagnostics *list)
{
    const char *wanted = getenv("CORUN_DATA");
    if (wanted && *wanted) {
        int length = snprintf(path, bytes, "%s", wanted);
        if (is_directory(path, length, bytes))
            return CORUN_OK;
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "CORUN_DATA names '%s', which is no directory",
                            wanted);
    }
    char executable[4096];
    ssize_t length = readlink("/proc/self/exe", executable, sizeof executable - 1);
    if (length <= 0)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                            "the data directory cannot be found without /proc; set CORUN_DATA");
    executable[length] = 0;
    char *slash = strrchr(executable, '/');
    if (slash)
        *slash = 0;
    /* each is what it is only with kernels/ in it: data is a common name */
    static const char *const places[] = {"data", "../data", "../share/corun"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char probe[4200];
        int size = snprintf(probe, sizeof probe, "%s/%s/kernels", executable, places[i]);
        if (!is_directory(probe, size, sizeof probe))
            continue;
        if (snprintf(path, bytes, "%s/%s", executable, places[i]) < (int)bytes)
            return CORUN_OK;
        return corun_report(list, CORUN_LIMIT, CORUN_NOWHERE, "the path of the data directory is too long");
    }
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                        "no data directory next to %s (data, ../data or ../share/corun); set CORUN_DATA", executable);
}
