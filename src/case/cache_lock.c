/* SPDX-License-Identifier: MIT */
/* Locks of the cache by flock on KEY.lock, with a time stamp that their holder renews. */
#include "case/cache_lock.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t nanoseconds(const struct stat *about)
{
    return (int64_t)about->st_mtim.tv_sec * 1000000000 + about->st_mtim.tv_nsec;
}

enum cache_lock_state cache_lock_try(const char *directory, const struct content_key *key, struct cache_lock *lock,
                                     int64_t *touched)
{
    struct stat opened, named;
    lock->descriptor = -1;
    int length = snprintf(lock->path, sizeof lock->path, "%s/%s.lock", directory, key->hex);
    if (length <= 0 || (size_t)length >= sizeof lock->path || !cache_make_directory(directory))
        return CACHE_LOCK_NONE;
    for (;;) {
        int descriptor = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (descriptor < 0)
            return CACHE_LOCK_NONE;
        bool ours = !flock(descriptor, LOCK_EX | LOCK_NB);
        bool known = !fstat(descriptor, &opened);
        if (!ours) {
            *touched = known ? nanoseconds(&opened) : 0;
            close(descriptor);
            return CACHE_LOCK_ELSEWHERE;
        }
        /* who had it has removed the file meanwhile: then this is the lock of nothing */
        if (known && !stat(lock->path, &named) && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino) {
            lock->descriptor = descriptor;
            cache_lock_renew(lock);
            return CACHE_LOCK_OURS;
        }
        close(descriptor);
    }
}

void cache_lock_renew(const struct cache_lock *lock)
{
    if (lock->descriptor >= 0)
        (void)!futimens(lock->descriptor, NULL);
}

void cache_lock_release(struct cache_lock *lock)
{
    if (lock->descriptor < 0)
        return;
    unlink(lock->path); /* before it is unlocked: nobody else has it under this name */
    close(lock->descriptor);
    lock->descriptor = -1;
}
