/* SPDX-License-Identifier: MIT */
/*
 * CUDA's static runtime, led to ours: libcorun-static-runtime.so, which the dynamic linker loads before everything else (LD_AUDIT, see
 * rtld-audit(7)) and tells of every object that it maps, those of dlopen included, before their constructors run.
 *
 *     object is mapped ─► its file's symbol table defines cudaMalloc, __cudaRegisterFatBinary, … ?
 *                             │ yes: the first bytes of each such function in memory become a jump
 *                             ▼
 *     cudaMalloc ─► jump to stub i ─► *slots[i] ─► at first lazy i: loads libcudart.so.N into the program, looks the name up
 *                                              └─► from then on cudaMalloc of our libcudart.so.N
 *
 * Nothing changes on disk. A process without the static runtime pays for a look at the section headers of its objects, and never loads
 * the simulator. The library uses no libc: a second libc in a name space of its own is what an audit library with one would cost.
 * It has state, because the dynamic linker's interface is one of plain functions; it exists once in a process as the linker does.
 */
#ifndef __x86_64__
#error "the CUDA front door is for x86-64"
#endif

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIBRARY_NAME "libcorun-static-runtime.so"
enum { FIRST_MAJOR = 11, LAST_MAJOR = 13, MAJORS = LAST_MAJOR - FIRST_MAJOR + 1, PAGE_BYTES = 4096, PATH_BYTES = 4096 };
static const char *const libraries[MAJORS] = {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"};

/* Every symbol of the runtime API, with the versions of CUDA that have it. */
struct entry {
    const char *name;
    uint8_t first, last;
};
#define ENTRY_PLAIN(name, first, last) {#name, first, last},
#define ENTRY_PTSZ(name, first, last) {#name, first, last}, {#name "_ptsz", first, last},
#define ENTRY_PTDS(name, first, last) {#name, first, last}, {#name "_ptds", first, last},
#define R(name, first, last, variant, handler) ENTRY_##variant(name, first, last)
#define N(name, first, last, variant) ENTRY_##variant(name, first, last)
#define D(name, variant, handler)
#define M(name, variant)
static const struct entry entries[] = {
#include "cuda/entry_points.def"
};
enum { ENTRIES = sizeof entries / sizeof *entries, SLOTS = ENTRIES * MAJORS, STUB_BYTES = 16, BUCKETS = 2048 };

/* ---- The kernel, without libc ---- */

static long system_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Compilers call these two also where nobody does. */
void *memset(void *to, int value, size_t bytes);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);

void *memset(void *to, int value, size_t bytes)
{
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
    return to;
}

static size_t length_of(const char *text)
{
    size_t length = 0;
    while (text[length])
        length++;
    return length;
}

static bool same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static bool begins(const char *text, const char *with)
{
    while (*with && *text == *with)
        text++, with++;
    return !*with;
}

static bool ends(const char *text, const char *with)
{
    size_t length = length_of(text), tail = length_of(with);
    return length >= tail && same(text + length - tail, with);
}

static void say(const char *const *words)
{
    for (; *words; words++)
        system_call(SYS_write, STDERR_FILENO, (long)*words, (long)length_of(*words), 0, 0, 0);
}

/* ---- Stubs: where the functions of a static runtime are led ---- */

static struct {
    void *(*open)(Lmid_t space, const char *path,
                  int mode); /* dlmopen and dlsym of the program's own libc; NULL: not mapped yet */
    void *(*look_up)(void *library, const char *name);
    char folder[PATH_BYTES]; /* of this library and of ours, with a slash behind it; "" before it is known */
    void *opened[MAJORS];
    uint32_t said;           /* rows of the table of libraries of machine code, of which one was opened */
    int16_t bucket[BUCKETS]; /* index into entries + 1, chained by open addressing */
} state;
void *slots[SLOTS] __attribute__((visibility("hidden")));
void corun_lazy(void) __attribute__((visibility("hidden")));
void corun_stubs(void) __attribute__((visibility("hidden")));
void *corun_resolve(uint64_t slot) __attribute__((visibility("hidden")));

/* All of a stub's call is kept as it is: integer and vector registers may hold arguments. */
__attribute__((naked, used)) static void make_stubs(void)
{
    __asm__ volatile(
        ".balign 16\n.hidden corun_stubs\ncorun_stubs:\n"
        ".set corun_index, 0\n"
        ".rept %c0\n"
        ".balign 16\nendbr64\njmp *slots + 8 * corun_index(%%rip)\n.set corun_index, corun_index + 1\n"
        ".endr\n"
        ".balign 16\n.hidden corun_lazy\ncorun_lazy:\n"
        ".set corun_index, 0\n"
        ".rept %c0\n"
        ".balign 16\nendbr64\npushq $corun_index\njmp 1f\n.set corun_index, corun_index + 1\n"
        ".endr\n"
        "1: pushq %%rax\npushq %%rdi\npushq %%rsi\npushq %%rdx\npushq %%rcx\npushq %%r8\npushq %%r9\npushq %%r10\n"
        "subq $128, %%rsp\n"
        "movups %%xmm0, (%%rsp)\nmovups %%xmm1, 16(%%rsp)\nmovups %%xmm2, 32(%%rsp)\nmovups %%xmm3, 48(%%rsp)\n"
        "movups %%xmm4, 64(%%rsp)\nmovups %%xmm5, 80(%%rsp)\nmovups %%xmm6, 96(%%rsp)\nmovups %%xmm7, 112(%%rsp)\n"
        "movq 192(%%rsp), %%rdi\ncall corun_resolve\nmovq %%rax, %%r11\n"
        "movups (%%rsp), %%xmm0\nmovups 16(%%rsp), %%xmm1\nmovups 32(%%rsp), %%xmm2\nmovups 48(%%rsp), %%xmm3\n"
        "movups 64(%%rsp), %%xmm4\nmovups 80(%%rsp), %%xmm5\nmovups 96(%%rsp), %%xmm6\nmovups 112(%%rsp), %%xmm7\n"
        "addq $128, %%rsp\n"
        "popq %%r10\npopq %%r9\npopq %%r8\npopq %%rcx\npopq %%rdx\npopq %%rsi\npopq %%rdi\npopq %%rax\n"
        "addq $8, %%rsp\njmp *%%r11\n" ::"i"(SLOTS));
}

/* The function of our libcudart that stands for a slot. Several threads may come here at the same time, with the same answer. */
void *corun_resolve(uint64_t slot)
{
    uint32_t major = (uint32_t)(slot / ENTRIES);
    const struct entry *entry = &entries[slot % ENTRIES];
    char path[PATH_BYTES + 32];
    void *found = NULL;
    if (state.open && state.look_up && !state.opened[major]) {
        size_t length = 0;
        for (const char *from = state.folder; *from; from++)
            path[length++] = *from;
        for (const char *from = libraries[major]; *from; from++)
            path[length++] = *from;
        path[length] = 0;
        state.opened[major] = state.open(LM_ID_BASE, path, RTLD_NOW | RTLD_LOCAL);
    }
    if (state.look_up && state.opened[major])
        found = state.look_up(state.opened[major], entry->name);
    if (!found) {
        say((const char *const[]){"corun: ", entry->name, " of CUDA's static runtime was called, but ", state.folder,
                                  libraries[major], " cannot be loaded into this program\n", NULL});
        system_call(SYS_exit_group, 127, 0, 0, 0, 0, 0);
    }
    __atomic_store_n(&slots[slot], found, __ATOMIC_RELEASE);
    return found;
}

/* ---- Names ---- */

static uint32_t bucket_of(const char *name)
{
    uint32_t hash = 2166136261U; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    return hash % BUCKETS;
}

static void enter_names(void)
{
    for (uint32_t i = 0; i < ENTRIES; i++) {
        uint32_t at = bucket_of(entries[i].name);
        while (state.bucket[at])
            at = (at + 1) % BUCKETS;
        state.bucket[at] = (int16_t)(i + 1);
    }
}

static bool has(const struct entry *entry, uint32_t major)
{
    return entry->first <= major + FIRST_MAJOR && major + FIRST_MAJOR <= entry->last;
}

/* Which versions of the runtime API have a function of this name (bit `major`), and the index of its entry in each. */
static uint32_t find_name(const char *name, uint32_t index[MAJORS])
{
    uint32_t found = 0;
    if (!begins(name, "cuda") && !begins(name, "__cuda"))
        return 0;
    for (uint32_t at = bucket_of(name); state.bucket[at]; at = (at + 1) % BUCKETS) {
        const struct entry *entry = &entries[state.bucket[at] - 1];
        for (uint32_t major = 0; same(entry->name, name) && major < MAJORS; major++) {
            if (!has(entry, major))
                continue;
            index[major] = (uint32_t)state.bucket[at] - 1;
            found |= 1U << major;
        }
    }
    return found;
}

/* ---- Files ---- */

struct elf_view {
    const unsigned char *data;
    size_t bytes;
    const Elf64_Sym *symbols; /* NULL: it has no table of that kind */
    size_t count;
    const char *names;
    size_t names_bytes;
};

static bool map_file(const char *path, struct elf_view *view)
{
    long descriptor = system_call(SYS_open, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0, 0);
    *view = (struct elf_view){0};
    if (descriptor < 0)
        return false;
    long bytes = system_call(SYS_lseek, descriptor, 0, SEEK_END, 0, 0, 0);
    long place =
        bytes < (long)sizeof(Elf64_Ehdr) ? -1 : system_call(SYS_mmap, 0, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    system_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
    if (place < 0 && place > -PAGE_BYTES)
        return false;
    view->data = (const unsigned char *)(uintptr_t)place;
    view->bytes = (size_t)bytes;
    return true;
}

static bool inside(const struct elf_view *view, uint64_t offset, uint64_t bytes)
{
    return offset <= view->bytes && bytes <= view->bytes - offset;
}

/* The headers of its sections: none if it is no file of 64 bits, or not all of one. */
static const Elf64_Shdr *sections_of(const struct elf_view *view, uint32_t *count)
{
    const Elf64_Ehdr *header = (const void *)view->data;
    *count = header->e_shnum;
    if (header->e_ident[EI_MAG0] != 0x7f || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shoff % 8 ||
        header->e_shentsize != sizeof(Elf64_Shdr) ||
        !inside(view, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        *count = 0;
    return (const void *)(view->data + (*count ? header->e_shoff : 0));
}

/* Texts within the file, each with a zero behind it. */
struct texts {
    const char *data;
    uint64_t bytes;
};

static bool find_texts(const struct elf_view *view, const Elf64_Shdr *section, struct texts *texts)
{
    *texts = (struct texts){(const char *)view->data + section->sh_offset, section->sh_size};
    return inside(view, section->sh_offset, section->sh_size) && section->sh_size && !texts->data[texts->bytes - 1];
}

/* The file's symbol table of a type (SHT_SYMTAB, SHT_DYNSYM). */
static bool find_symbols(struct elf_view *view, uint32_t type)
{
    uint32_t count;
    struct texts texts;
    const Elf64_Shdr *sections = sections_of(view, &count);
    for (uint32_t i = 0; i < count; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (section->sh_type != type || section->sh_link >= count || section->sh_offset % 8 ||
            !inside(view, section->sh_offset, section->sh_size) ||
            !find_texts(view, &sections[section->sh_link], &texts))
            continue;
        view->symbols = (const void *)(view->data + section->sh_offset);
        view->count = section->sh_size / sizeof(Elf64_Sym);
        view->names = texts.data;
        view->names_bytes = texts.bytes;
        return true;
    }
    return false;
}

/* Its name, if the symbol is a function that the file defines; else NULL. */
static const char *function_name(const struct elf_view *view, const Elf64_Sym *symbol)
{
    bool defined = symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE;
    return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && defined && symbol->st_name < view->names_bytes
               ? view->names + symbol->st_name
               : NULL;
}

/* ---- Objects ---- */

/* The version of CUDA whose names differ least from those in the file: each version dropped some and brought some. */
static uint32_t major_of(const struct elf_view *view)
{
    uint32_t difference[MAJORS] = {0}, index[MAJORS], best = MAJORS - 1;
    bool seen[ENTRIES] = {false};
    for (size_t i = 0; i < view->count; i++) {
        const char *name = function_name(view, &view->symbols[i]);
        uint32_t found = name ? find_name(name, index) : 0;
        for (uint32_t major = 0; found && major < MAJORS; major++) {
            if (found >> major & 1)
                seen[index[major]] = true;
            else
                difference[major]++;
        }
    }
    for (uint32_t i = 0; i < ENTRIES; i++)
        for (uint32_t major = 0; major < MAJORS; major++)
            difference[major] += !seen[i] && has(&entries[i], major);
    for (uint32_t major = MAJORS; major-- > 0;)
        if (difference[major] < difference[best])
            best = major;
    return best;
}

/* endbr64 would cost four bytes that small functions lack: nobody jumps to these functions but by call. */
enum { JUMP_BYTES = 14 };

static bool lead(uintptr_t function, uint64_t bytes, const void *target)
{
    static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *(what follows) */
    uint64_t room = function % STUB_BYTES ? bytes : (bytes + STUB_BYTES - 1) / STUB_BYTES * STUB_BYTES;
    uintptr_t first = function / PAGE_BYTES * PAGE_BYTES, behind = function + JUMP_BYTES;
    if (room < JUMP_BYTES ||
        system_call(SYS_mprotect, (long)first, (long)(behind - first), PROT_READ | PROT_WRITE, 0, 0, 0))
        return false;
    memcpy((void *)function, jump, sizeof jump);
    memcpy((void *)(function + sizeof jump), &target, sizeof target);
    return !system_call(SYS_mprotect, (long)first, (long)(behind - first), PROT_READ | PROT_EXEC, 0, 0, 0);
}

static bool has_runtime(const struct elf_view *view)
{
    bool allocates = false, registers = false;
    for (size_t i = 0; i < view->count && !(allocates && registers); i++) {
        const char *name = function_name(view, &view->symbols[i]);
        if (name && (name[0] == 'c' || name[0] == '_')) {
            allocates |= same(name, "cudaMalloc");
            registers |= same(name, "__cudaRegisterFatBinary");
        }
    }
    return allocates && registers;
}

/* The symbol table is only a table of the file: does it name code that was mapped? */
static bool is_code(const struct elf_view *view, const Elf64_Sym *symbol)
{
    const Elf64_Ehdr *header = (const void *)view->data;
    if (header->e_phoff % 8 || header->e_phentsize != sizeof(Elf64_Phdr) ||
        !inside(view, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))
        return false;
    const Elf64_Phdr *segments = (const void *)(view->data + header->e_phoff);
    for (uint32_t i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && symbol->st_value >= segment->p_vaddr &&
            symbol->st_value - segment->p_vaddr < segment->p_memsz &&
            symbol->st_size <= segment->p_memsz - (symbol->st_value - segment->p_vaddr))
            return true;
    }
    return false;
}

static void lead_runtime(const struct elf_view *view, const struct link_map *map)
{
    uint32_t major = major_of(view), index[MAJORS];
    for (size_t i = 0; i < view->count; i++) {
        const Elf64_Sym *symbol = &view->symbols[i];
        const char *name = function_name(view, symbol);
        if (!name || !(find_name(name, index) >> major & 1))
            continue;
        const char *stub = (const char *)corun_stubs + (size_t)STUB_BYTES * (major * ENTRIES + index[major]);
        if (!is_code(view, symbol) || !lead(map->l_addr + symbol->st_value, symbol->st_size, stub))
            say((const char *const[]){"corun: ", name, " of CUDA's static runtime cannot be led to the simulated GPU\n",
                                      NULL});
    }
}

/* dlmopen and dlsym of the program: in its libc, before glibc 2.34 in libdl. */
static void find_loader(struct elf_view *view, const struct link_map *map)
{
    if (!find_symbols(view, SHT_DYNSYM))
        return;
    for (size_t i = 0; i < view->count; i++) {
        const char *name = function_name(view, &view->symbols[i]);
        uintptr_t place = map->l_addr + view->symbols[i].st_value;
        if (name && same(name, "dlmopen"))
            state.open = (void *(*)(Lmid_t, const char *, int))place;
        else if (name && same(name, "dlsym"))
            state.look_up = (void *(*)(void *, const char *))place;
    }
}

/* ---- What cannot be led ---- */

static const Elf64_Shdr *find_section(const struct elf_view *view, const char *name)
{
    uint32_t count, names = ((const Elf64_Ehdr *)(const void *)view->data)->e_shstrndx;
    struct texts texts;
    const Elf64_Shdr *sections = sections_of(view, &count);
    if (names >= count || !find_texts(view, &sections[names], &texts))
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (sections[i].sh_name < texts.bytes && same(texts.data + sections[i].sh_name, name) &&
            inside(view, sections[i].sh_offset, sections[i].sh_size))
            return &sections[i];
    return NULL;
}

/* Does the file itself want a shared runtime? */
static bool needs_runtime(const struct elf_view *view)
{
    uint32_t count;
    struct texts texts;
    const Elf64_Shdr *sections = sections_of(view, &count), *dynamic = find_section(view, ".dynamic");
    if (!dynamic || dynamic->sh_offset % 8 || dynamic->sh_link >= count ||
        !find_texts(view, &sections[dynamic->sh_link], &texts))
        return false;
    const Elf64_Dyn *entry = (const void *)(view->data + dynamic->sh_offset);
    for (uint64_t i = 0; i < dynamic->sh_size / sizeof *entry; i++)
        if (entry[i].d_tag == DT_NEEDED && entry[i].d_un.d_val < texts.bytes &&
            begins(texts.data + entry[i].d_un.d_val, "libcudart.so"))
            return true;
    return false;
}

/* As in program_file.c: a text of cudaGetErrorName tells a static runtime without symbols. */
static bool holds_stripped_runtime(const struct elf_view *view)
{
    static const char text[] = "cudaErrorCudartUnloading";
    const Elf64_Shdr *constants = find_section(view, ".rodata");
    if (!constants || constants->sh_size < sizeof text || !find_section(view, ".nv_fatbin") || needs_runtime(view))
        return false;
    const char *at = (const char *)view->data + constants->sh_offset, *last = at + constants->sh_size - sizeof text;
    for (; at <= last; at++)
        if (*at == text[0] && begins(at, text))
            return true;
    return false;
}

enum {
#define L(beginning) ROW_##beginning,
#include "cuda/machine_code_libraries.def"
#undef L
    MACHINE_CODE_ROWS
};

/* The row of the table; the number of rows if there is none. */
static uint32_t machine_code_row(const char *path)
{
    static const char *const names[] = {
#define L(beginning) #beginning,
#include "cuda/machine_code_libraries.def"
#undef L
    };
    const char *name = path;
    uint32_t row = 0;
    for (const char *at = path; *at; at++)
        if (*at == '/')
            name = at + 1;
    while (row < MACHINE_CODE_ROWS && !begins(name, names[row]))
        row++;
    return row;
}

/* Calls of such an object fail, and nothing else says why. What consists of several libraries is said once. */
static void note_object(const struct elf_view *view, const char *path)
{
    uint32_t row = machine_code_row(path);
    if (row < MACHINE_CODE_ROWS && state.said >> row & 1u)
        return;
    state.said |= row < MACHINE_CODE_ROWS ? 1u << row : 0;
    if (row < MACHINE_CODE_ROWS)
        say((const char *const[]){"corun: note: ", path,
                                  " was opened: its kernels are machine code only, and do not run here\n", NULL});
    else if (holds_stripped_runtime(view))
        say((const char *const[]){"corun: note: ", path,
                                  " holds CUDA's static runtime, and its symbol table, by which that is found, was "
                                  "stripped off: its calls of CUDA fail\n",
                                  NULL});
}

/* ---- What the dynamic linker calls ---- */

/* Constructors are given the environment: LD_AUDIT names this file. */
__attribute__((constructor)) static void begin(int count, char **words, char **environment)
{
    (void)count, (void)words;
    enter_names();
    for (uint32_t i = 0; i < SLOTS; i++)
        slots[i] = (char *)corun_lazy + (size_t)STUB_BYTES * i;
    for (; *environment; environment++) {
        if (!begins(*environment, "LD_AUDIT="))
            continue;
        for (const char *at = *environment + length_of("LD_AUDIT="); *at;) {
            size_t length = 0;
            for (; *at && *at != ':'; at++)
                if (length < PATH_BYTES - 1)
                    state.folder[length++] = *at;
            state.folder[length] = 0;
            if (ends(state.folder, "/" LIBRARY_NAME)) {
                state.folder[length - length_of(LIBRARY_NAME)] = 0;
                return;
            }
            at += *at == ':';
        }
        state.folder[0] = 0;
    }
}

__attribute__((visibility("default"))) unsigned la_version(unsigned version)
{
    return version < LAV_CURRENT ? version : LAV_CURRENT;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the linker's interface */
__attribute__((visibility("default"))) unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
    struct elf_view view;
    const char *path = map->l_name && map->l_name[0] ? map->l_name : "/proc/self/exe";
    (void)cookie;
    if (space != LM_ID_BASE || !state.folder[0] || begins(path, state.folder) || !map_file(path, &view))
        return 0;
    if (ends(path, "/libc.so.6") || ends(path, "/libdl.so.2"))
        find_loader(&view, map);
    else if (find_symbols(&view, SHT_SYMTAB) && has_runtime(&view))
        lead_runtime(&view, map);
    else
        note_object(&view, path);
    system_call(SYS_munmap, (long)view.data, (long)view.bytes, 0, 0, 0, 0);
    return 0;
}
