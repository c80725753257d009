/* SPDX-License-Identifier: MIT */
#include "cuda/page_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)
#define STACK_BYTES (UINT64_C(1) << 20) /* more than the calls up to the end of a hold take */

static bool is_near(uint64_t address, uint64_t first, uint64_t bytes)
{
    return address + STACK_BYTES > first && address < first + bytes + STACK_BYTES;
}

/* For the kernel's writes as well, where the process may have that. */
static int open_faults(void)
{
    struct uffdio_api wanted = {.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP};
    int file = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (file < 0)
        file = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (file >= 0 && ioctl(file, UFFDIO_API, &wanted) != 0) {
        close(file);
        return -1;
    }
    return file;
}

/* A page that is not there yet would be written to unnoticed. */
static void touch(uint64_t first, uint64_t bytes)
{
    for (uint64_t at = first; at < first + bytes; at += PAGE_BYTES)
        (void)*(const volatile uint8_t *)(uintptr_t)at;
}

void page_hold_begin(struct page_hold *hold, uint64_t first, uint64_t bytes)
{
    struct uffdio_register pages = {.range = {first, bytes}, .mode = UFFDIO_REGISTER_MODE_WP};
    const struct uffdio_writeprotect protect = {.range = {first, bytes}, .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    sigset_t all;
    hold->file = -1;
    if (is_near((uint64_t)(uintptr_t)&all, first, bytes) || is_near((uint64_t)(uintptr_t)&errno, first, bytes))
        return;
    int file = open_faults();
    if (file < 0)
        return;
    sigfillset(&all); /* a handler may write anywhere */
    pthread_sigmask(SIG_SETMASK, &all, &hold->before);
    if (ioctl(file, UFFDIO_REGISTER, &pages) == 0) {
        touch(first, bytes);
        if (ioctl(file, UFFDIO_WRITEPROTECT, &protect) == 0) {
            hold->file = file;
            return;
        }
    }
    close(file);
    pthread_sigmask(SIG_SETMASK, &hold->before, NULL);
}

/* Whoever waits goes on when the file is closed. */
void page_hold_end(const struct page_hold *hold)
{
    if (hold->file < 0)
        return;
    close(hold->file);
    pthread_sigmask(SIG_SETMASK, &hold->before, NULL);
}

bool page_hold_run(int (*work)(void *), void *argument, uint64_t first, uint64_t bytes)
{
    int status = -1;
    if (!is_near((uint64_t)(uintptr_t)&status, first, bytes))
        return work(argument) == 0;
    uint8_t *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return false;
    /* As vfork, so the kernel wakes this thread when the other has ended. */
    pid_t other = clone(work, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, argument);
    pid_t ended = other;
    while (other > 0 && (ended = waitpid(other, &status, __WALL)) < 0 && errno == EINTR)
        ;
    munmap(stack, STACK_BYTES);
    return other > 0 && ended == other && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
