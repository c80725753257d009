/* SPDX-License-Identifier: MIT */
/* What /proc tells of a process, whatever the process is called. */
#include "base/process_stat.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Fields 4 to 24, of which 22 is the time of birth, as a kernel has written them. */
#define FIELDS "17 42 42 0 -1 4194304 96 0 0 0 1 2 3 4 20 0 1 0 %s 3121152 254"

static void parse(const char *name, const char *born, bool good)
{
    char text[512], *place = stpcpy(stpcpy(stpcpy(text, "42 ("), name), ") S ");
    struct process_stat stat = {'?', -1, 7};
    snprintf(place, sizeof text - (size_t)(place - text), FIELDS, born);
    assert_int_equal(process_stat_parse(text, &stat), good);
    assert_int_equal(stat.state, good ? 'S' : '?');
    assert_int_equal(stat.parent, good ? 17 : -1);
    assert_int_equal(stat.born, good ? strtoull(born, NULL, 10) : 7);
}

static void takes_any_name(void **state)
{
    static const char *const names[] = {"sh", "", "a b", ")", "(", ") R 1 2 3", "1) Z 1 (x", "\n) T 9"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        parse(names[i], "123456", true);
    parse("sh", "18446744073709551615", true);
}

static void refuses_what_is_cut_off(void **state)
{
    struct process_stat stat;
    char text[512];
    (void)state;
    int length = snprintf(text, sizeof text, "42 (sh) S " FIELDS, "123456");
    const char *born = strstr(text, "123456");
    for (int left = 0; left < length; left++) {
        char part[512] = "";
        memcpy(part, text, (size_t)left);
        assert_int_equal(process_stat_parse(part, &stat), left > born - text);
    }
    parse("sh", "x", false);
    assert_false(process_stat_parse("no such file", &stat));
    assert_false(process_stat_parse("42 (sh) S parent", &stat));
}

static uint64_t ticks_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)((double)time.tv_sec * (double)sysconf(_SC_CLK_TCK)) +
           (uint64_t)time.tv_nsec * (uint64_t)sysconf(_SC_CLK_TCK) / 1000000000u;
}

static void reads_itself(void **state)
{
    struct process_stat self, by_number;
    (void)state;
    assert_int_equal(prctl(PR_SET_NAME, ") Z 1 (a b"), 0);
    assert_true(process_stat_read(PROCESS_SELF, PROCESS_WHOLE, &self));
    assert_true(process_stat_read(getpid(), PROCESS_WHOLE, &by_number));
    assert_int_equal(self.state, 'R');
    assert_int_equal(self.parent, getppid());
    assert_int_equal(self.born, by_number.born);
    assert_true(self.born > 0 && self.born <= ticks_now());
}

static void *tell_number(void *user)
{
    int *pipes = user;
    pid_t number = gettid();
    char end;
    (void)!write(pipes[1], &number, sizeof number);
    (void)!read(pipes[2], &end, 1);
    return NULL;
}

static void reads_threads(void **state)
{
    int there[2], back[2], pipes[4];
    pid_t number = 0;
    pthread_t thread;
    struct process_stat stat;
    (void)state;
    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    pipes[1] = there[1];
    pipes[2] = back[0];
    assert_int_equal(pthread_create(&thread, NULL, tell_number, pipes), 0);
    assert_int_equal(read(there[0], &number, sizeof number), sizeof number);
    assert_true(process_stat_read(PROCESS_SELF, number, &stat));
    assert_true(process_stat_read(getpid(), number, &stat));
    assert_false(process_stat_read(getppid(), number, &stat));
    assert_int_equal(write(back[1], "", 1), 1);
    pthread_join(thread, NULL);
    for (size_t i = 0; i < 2; i++) {
        close(there[i]);
        close(back[i]);
    }
}

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

/* Waits for what it is given, once it has told its number. */
static void *wait_at_door(void *user)
{
    *(_Atomic pid_t *)user = gettid();
    pthread_mutex_lock(&door);
    pthread_mutex_unlock(&door);
    return NULL;
}

static void *sleep_long(void *user)
{
    struct timespec time = {.tv_nsec = 200000000};
    *(_Atomic pid_t *)user = gettid();
    nanosleep(&time, NULL);
    return NULL;
}

static void knows_who_waits_for_threads(void **state)
{
    _Atomic pid_t waits = 0, sleeps = 0;
    pthread_t first, second;
    struct process_stat stat = {0};
    (void)state;
    pthread_mutex_lock(&door);
    assert_int_equal(pthread_create(&first, NULL, wait_at_door, &waits), 0);
    assert_int_equal(pthread_create(&second, NULL, sleep_long, &sleeps), 0);
    while (!waits || !process_thread_waits(waits))
        sched_yield();
    assert_true(process_thread_waits(waits));
    while (!sleeps || (process_stat_read(PROCESS_SELF, sleeps, &stat) && stat.state == 'R'))
        sched_yield();
    assert_false(process_thread_waits(sleeps)); /* nor when it has ended */
    assert_false(process_thread_waits(gettid()));
    pthread_mutex_unlock(&door);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

static void follows_a_child(void **state)
{
    struct process_stat stat, later;
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        raise(SIGSTOP);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child);
    assert_true(process_stat_read(child, PROCESS_WHOLE, &stat));
    assert_int_equal(stat.state, 'T');
    assert_int_equal(stat.parent, getpid());
    kill(child, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_true(process_stat_read(child, PROCESS_WHOLE, &later));
    assert_int_equal(later.state, 'Z');
    assert_int_equal(later.born, stat.born);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_false(process_stat_read(child, PROCESS_WHOLE, &later));
    assert_false(process_stat_read(-1, PROCESS_WHOLE, &later));
    assert_int_equal(later.state, 'Z');
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_any_name),
                                       cmocka_unit_test(refuses_what_is_cut_off),
                                       cmocka_unit_test(reads_itself),
                                       cmocka_unit_test(reads_threads),
                                       cmocka_unit_test(knows_who_waits_for_threads),
                                       cmocka_unit_test(follows_a_child)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
