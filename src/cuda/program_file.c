/* SPDX-License-Identifier: MIT */
/* Executable files: what their ELF tables say of CUDA. */
#include "cuda/program_file.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct elf_file {
    const unsigned char *data;
    size_t bytes;
};

/* [offset, offset + bytes) of the file, NULL if it is not all there. */
static const void *at(const struct elf_file *file, uint64_t offset, uint64_t bytes)
{
    return offset <= file->bytes && bytes <= file->bytes - offset ? file->data + offset : NULL;
}

static const char *text_at(const struct elf_file *file, const Elf64_Shdr *strings, uint64_t offset)
{
    const char *table = strings ? at(file, strings->sh_offset, strings->sh_size) : NULL;
    if (!table || offset >= strings->sh_size || !memchr(table + offset, 0, strings->sh_size - offset))
        return "";
    return table + offset;
}

static const Elf64_Shdr *section_at(const struct elf_file *file, const Elf64_Ehdr *header, uint32_t index)
{
    uint64_t offset;
    if (index >= header->e_shnum || header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff % 8 ||
        __builtin_add_overflow(header->e_shoff, (uint64_t)index * sizeof(Elf64_Shdr), &offset))
        return NULL;
    return at(file, offset, sizeof(Elf64_Shdr));
}

/* Libraries that bring kernels as machine code. */
static const char *machine_code_library(const char *name)
{
    static const char *const names[] = {
#define L(beginning) #beginning,
#include "cuda/machine_code_libraries.def"
#undef L
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(name, names[i], strlen(names[i])))
            return name;
    return NULL;
}

struct facts {
    bool device_code, fixed_path;
    bool allocates,
        registers; /* functions of the static runtime are in its symbol table: they can be led to ours (static_runtime.c) */
    const char *runtime, *library; /* NULL: none */
};

static void read_needed(const struct elf_file *file, const Elf64_Ehdr *header, const Elf64_Shdr *section,
                        struct facts *facts)
{
    const Elf64_Shdr *strings = section_at(file, header, section->sh_link);
    for (uint64_t i = 0; i < section->sh_size / sizeof(Elf64_Dyn); i++) {
        Elf64_Dyn entry;
        const void *from = at(file, section->sh_offset + i * sizeof entry, sizeof entry);
        if (!from)
            return;
        memcpy(&entry, from, sizeof entry);
        facts->fixed_path |= entry.d_tag == DT_RPATH;
        if (entry.d_tag != DT_NEEDED)
            continue;
        const char *name = text_at(file, strings, entry.d_un.d_val);
        if (!strncmp(name, "libcudart.so", 12))
            facts->runtime = name;
        if (machine_code_library(name))
            facts->library = name;
    }
}

static void read_symbols(const struct elf_file *file, const Elf64_Ehdr *header, const Elf64_Shdr *section,
                         struct facts *facts)
{
    const Elf64_Shdr *strings = section_at(file, header, section->sh_link);
    for (uint64_t i = 0; i < section->sh_size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        const void *from = at(file, section->sh_offset + i * sizeof symbol, sizeof symbol);
        if (!from)
            return;
        memcpy(&symbol, from, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *name = text_at(file, strings, symbol.st_name);
        facts->allocates |= !strcmp(name, "cudaMalloc");
        facts->registers |= !strcmp(name, "__cudaRegisterFatBinary");
    }
}

static void read_sections(const struct elf_file *file, struct facts *facts)
{
    const Elf64_Ehdr *header = at(file, 0, sizeof *header);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64)
        return;
    const Elf64_Shdr *names = section_at(file, header, header->e_shstrndx);
    for (uint32_t i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = section_at(file, header, i);
        if (!section)
            return;
        const char *name = text_at(file, names, section->sh_name);
        facts->device_code |= !strcmp(name, ".nv_fatbin") || !strcmp(name, "__nv_relfatbin");
        if (section->sh_type == SHT_DYNAMIC)
            read_needed(file, header, section, facts);
        else if (section->sh_type == SHT_SYMTAB)
            read_symbols(file, header, section, facts);
    }
}

/*
 * Without a symbol table, the texts of the runtime tell it from a program of the driver API, which may have been linked with device code as
 * well: cudaGetErrorName has this one since CUDA 5.
 */
static bool holds_runtime(const struct elf_file *file)
{
    static const char text[] = "cudaErrorCudartUnloading";
    return memmem(file->data, file->bytes, text, sizeof text) != NULL;
}

/* What the parts of the file are that are loaded. */
struct loaded {
    uint64_t
        bytes; /* how long the file must be at least to hold them; 0 if that is not known. A shorter one ends with a signal of the system's. */
    bool interpreted; /* a dynamic linker loads it, and the libraries that it needs */
};

static struct loaded read_parts(const struct elf_file *file)
{
    const Elf64_Ehdr *header = at(file, 0, sizeof *header);
    struct loaded loaded = {0, true};
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phoff % 8)
        return loaded;
    loaded.interpreted = false;
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        uint64_t place, end;
        const Elf64_Phdr *part =
            __builtin_add_overflow(header->e_phoff, i * sizeof *part, &place) ? NULL : at(file, place, sizeof *part);
        loaded.interpreted |= part && part->p_type == PT_INTERP;
        if (part && part->p_type == PT_LOAD && !__builtin_add_overflow(part->p_offset, part->p_filesz, &end))
            loaded.bytes = end > loaded.bytes ? end : loaded.bytes;
    }
    loaded.interpreted |= !loaded.bytes; /* nothing of it can be loaded: the system says what it thinks of it */
    return loaded;
}

/* What an ELF file is refused for. */
static enum corun_status judge(const struct elf_file *file, const struct facts *facts, struct corun_place place,
                               struct corun_diagnostics *list)
{
    const struct loaded loaded = read_parts(file);
    if (loaded.bytes > file->bytes)
        return corun_report(list, CORUN_NOT_FOUND, place,
                            "is cut off: it has %zu bytes, and what is loaded of it ends at byte %" PRIu64, file->bytes,
                            loaded.bytes);
    if (facts->library)
        return corun_report(list, CORUN_UNSUPPORTED, place,
                            "not supported: it needs %s, whose kernels are machine code only; use kernels that are "
                            "compiled with the program (templates, as CUTLASS or CUB are)",
                            facts->library);
    bool named = facts->allocates && facts->registers;
    if (!loaded.interpreted && (named || holds_runtime(file)))
        return corun_report(
            list, CORUN_UNSUPPORTED, place,
            "not supported: it is linked without a dynamic linker (-static), which is what brings it corun's "
            "runtime; link the C library dynamically. CUDA's runtime may stay static");
    if (facts->device_code && !facts->runtime && !named && holds_runtime(file))
        return corun_report(list, CORUN_UNSUPPORTED, place,
                            "holds CUDA's static runtime, and its symbol table, by which that is found, was stripped "
                            "off: do not strip it, or link it with `-cudart shared` (nvcc; with other linkers -lcudart "
                            "instead of -lcudart_static)");
    return CORUN_OK;
}

enum corun_status program_file_check(const char *path, struct corun_diagnostics *list, bool *fixed_path,
                                     char runtime[64])
{
    struct corun_place place = {path, 0, 0};
    struct facts facts = {0};
    struct stat information;
    *fixed_path = false;
    runtime[0] = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || fstat(descriptor, &information) || !S_ISREG(information.st_mode)) {
        if (descriptor >= 0)
            close(descriptor);
        return corun_report(list, CORUN_NOT_FOUND, place, "no program that can be read");
    }
    struct elf_file file = {.bytes = (size_t)information.st_size};
    void *map = file.bytes ? mmap(NULL, file.bytes, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    close(descriptor);
    if (map == MAP_FAILED)
        return CORUN_OK; /* empty: the system says what it thinks of it */
    file.data = map;
    read_sections(&file, &facts);
    enum corun_status status = judge(&file, &facts, place, list);
    *fixed_path = facts.fixed_path;
    if (facts.runtime)
        snprintf(runtime, 64, "%s", facts.runtime);
    munmap(map, file.bytes);
    return status;
}
