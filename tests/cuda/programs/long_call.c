/* SPDX-License-Identifier: MIT */
/*
 * A call that takes long on the host, while other streams have work, and then a little to compute: the library's thread that helps programs without
 * calls has nothing to help with. `long_call hasty` lets that thread look a hundred times as often, and gives way to it whenever a call gives the
 * lock back; in `long_call starved`, which does the same, the program computes on a processor that another process takes.
 */
#include "driver_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SHORT = 40, LONG = 200, ELEMENTS = 1000, GIVES_WAY_NS = 1000000, COMPUTES_NS = 4000000 };

static _Atomic bool hasty;
static pthread_t caller;

static void sleep_for(long nanoseconds)
{
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    (void)nanosleep(&time, NULL);
}

/* Both are in front of the C library's. */
int usleep(useconds_t microseconds)
{
    sleep_for((long)microseconds * (hasty ? 10 : 1000));
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    int (*next)(pthread_mutex_t *);
    void *found = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    memcpy(&next, &found, sizeof next);
    int problem = next(mutex);
    if (hasty && pthread_equal(pthread_self(), caller))
        sleep_for(GIVES_WAY_NS);
    return problem;
}

/* Until it is killed. */
static _Noreturn void take_processor(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned i = 0;; i++)
        ;
}

/* Another process runs on our processor, and goes first there. 0: that cannot be had. */
static pid_t starve(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one))
        return 0;
    pid_t other = fork();
    if (other == 0)
        take_processor();
    (void)setpriority(PRIO_PROCESS, 0, 19); /* of this thread */
    return other;
}

/* The processor time of this thread is the same, whoever else is there. */
static void compute(void)
{
    struct timespec begun, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec - begun.tv_nsec < COMPUTES_NS);
}

int main(int argc, char **argv)
{
    bool starved = argc == 2 && !strcmp(argv[1], "starved");
    pid_t other = 0;
    void *context, *module, *function, *some, *more;
    address_t values, others;
    int data[ELEMENTS];
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuStreamCreate(&some, 1));
    GOOD(cuStreamCreate(&more, 1));
    GOOD(cuMemAlloc_v2(&values, sizeof data));
    GOOD(cuMemAlloc_v2(&others, sizeof data));
    GOOD(cuMemsetD32_v2(values, 0, ELEMENTS));
    GOOD(cuMemsetD32_v2(others, 0, ELEMENTS));
    GOOD(cuCtxSynchronize()); /* these streams do not wait for that of the fills */
    for (int i = 0; i < LONG; i++)
        GOOD(launch_add_one(function, others, ELEMENTS, more));
    for (int i = 0; i < SHORT; i++)
        GOOD(launch_add_one(function, values, ELEMENTS, some));
    caller = pthread_self();
    hasty = argc == 2;
    GOOD(cuStreamSynchronize(some));
    if (starved)
        CHECK((other = starve()) > 0);
    compute();
    hasty = false;
    if (other) {
        kill(other, SIGKILL);
        (void)waitpid(other, NULL, 0);
    }
    GOOD(launch_add_one(function, values, ELEMENTS, some));
    GOOD(cuCtxSynchronize());
    GOOD(cuMemcpyDtoH_v2(data, values, sizeof data));
    for (int i = 0; i < ELEMENTS; i++)
        CHECK(data[i] == SHORT + 1);
    return 0;
}
