/* SPDX-License-Identifier: MIT */
/*
 * The dynamic linker maps what the headers of a shared object name and touches it: past the end of a file that is cut
 * off, that ends the process with a signal and without a word.
 */
#include "case/policy_file.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes that the headers promise; 0 if they cannot be read, or are none that this machine loads. */
static uint64_t promised_bytes(FILE *file)
{
    Elf64_Ehdr header;
    if (fread(&header, sizeof header, 1, file) != 1 || memcmp(header.e_ident, ELFMAG, SELFMAG) ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
        return 0;
    uint64_t bytes = header.e_phoff + (uint64_t)header.e_phnum * sizeof(Elf64_Phdr);
    if (fseek(file, (long)header.e_phoff, SEEK_SET))
        return 0;
    for (uint32_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (fread(&segment, sizeof segment, 1, file) != 1)
            return bytes;
        uint64_t end = segment.p_offset + segment.p_filesz;
        if (segment.p_type == PT_LOAD && end > bytes)
            bytes = end;
    }
    return bytes;
}

enum corun_status policy_file_check(const char *what, const char *path, struct corun_diagnostics *list)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file)
        return CORUN_OK;
    uint64_t bytes = promised_bytes(file);
    bool known = !fstat(fileno(file), &about) && S_ISREG(about.st_mode);
    fclose(file);
    if (!known || (uint64_t)about.st_size >= bytes)
        return CORUN_OK;
    return corun_report(list, CORUN_FILE, CORUN_NOWHERE,
                        "%s %s cannot be loaded: it is cut off, it has %llu of %llu bytes", what, path,
                        (unsigned long long)about.st_size, (unsigned long long)bytes);
}
