/* SPDX-License-Identifier: MIT */
/*
 * A process of many pages, whose fork therefore takes milliseconds: it says "ready", and forks. Each of the two says "told"
 * when it gets SIGTERM, and ends; the child says "there" before.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES ((size_t)256 << 20)

static void say(const char *word)
{
    (void)!write(STDOUT_FILENO, word, strlen(word));
}

static void told(int number)
{
    (void)number;
    say("told\n");
    _exit(0);
}

int main(void)
{
    char *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return 1;
    madvise(pages, BYTES, MADV_NOHUGEPAGE);
    memset(pages, 1, BYTES);
    signal(SIGTERM, told);
    say("ready\n");
    if (fork() == 0)
        say("there\n");
    for (;;)
        pause();
}
