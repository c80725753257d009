/* SPDX-License-Identifier: MIT */
/* What is to be put back: written, read, done; also twice, also when half of it is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/affinity.h"
#include "agent/restore.h"
#include "base/process_stat.h"
#include "child.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct paper {
    char folder[40], path[64];
    struct corun_diagnostics *list;
    struct journal journal;
};

static int begin(void **state)
{
    struct paper *paper = calloc(1, sizeof *paper);
    strcpy(paper->folder, "/tmp/corun-journal-XXXXXX");
    assert_non_null(mkdtemp(paper->folder));
    snprintf(paper->path, sizeof paper->path, "%s/restore", paper->folder);
    paper->list = corun_diagnostics_create();
    assert_int_equal(journal_create(&paper->journal, paper->path, paper->list), CORUN_OK);
    *state = paper;
    return 0;
}

static int end(void **state)
{
    struct paper *paper = *state;
    journal_close(&paper->journal);
    unlink(paper->path);
    rmdir(paper->folder);
    corun_diagnostics_destroy(paper->list);
    free(paper);
    return 0;
}

static char state_of(pid_t pid)
{
    struct process_stat stat;
    assert_true(process_stat_read(pid, PROCESS_WHOLE, &stat));
    return stat.state;
}

static void wait_until_stopped(pid_t pid)
{
    for (int i = 0; i < 1000 && state_of(pid) != 'T'; i++)
        usleep(1000);
    assert_int_equal(state_of(pid), 'T');
}

static void test_written_and_read(void **state)
{
    struct paper *paper = *state;
    struct process_id process = {4711, 1}, thread = {4712, 2};
    struct stat status;
    cpu_set_t cores;
    affinity_parse("0,2-3", &cores);
    assert_int_equal(journal_program(&paper->journal, process), 0);
    assert_int_equal(journal_stopped(&paper->journal, process), 0);
    assert_int_equal(journal_affinity(&paper->journal, process, thread, &cores), 0);
    assert_int_equal(journal_home(&paper->journal, process, "/sys/fs/cgroup/a b"), 0);
    assert_int_equal(journal_group(&paper->journal, "/sys/fs/cgroup/corun-1/batch"), 0);
    assert_int_equal(journal_resctrl(&paper->journal, "/sys/fs/resctrl/corun-1-0"), 0);
    assert_int_not_equal(journal_group(&paper->journal, "/sys/corun-1\nhome 1 2 /"), 0);
    char text[1024] = {0};
    int fd = open(paper->path, O_RDONLY);
    ssize_t bytes = read(fd, text, sizeof text - 1);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    close(fd);
    journal_entries entries = {0};
    assert_int_equal(journal_read("restore", text, (size_t)bytes, paper->list, &entries), CORUN_OK);
    assert_int_equal(entries.count, 7);
    for (size_t i = 0; i < entries.count; i++)
        assert_int_equal(entries.data[i].kind, i);
    assert_int_equal(entries.data[JOURNAL_AGENT].process.pid, getpid());
    assert_int_equal(entries.data[JOURNAL_AFFINITY].thread.born, 2);
    assert_true(CPU_EQUAL(&entries.data[JOURNAL_AFFINITY].cores, &cores));
    assert_string_equal(entries.data[JOURNAL_HOME].folder, "/sys/fs/cgroup/a b");
    journal_free(&entries);
    struct journal other;
    assert_int_equal(journal_create(&other, paper->path, paper->list), CORUN_FILE); /* one file, one agent */
}

static void test_what_is_no_journal(void **state)
{
    (void)state;
    const char *const wrong[] = {
        "corun restore 2\n",
        "\n",
        "corun restore 1\nagent 4711\n",
        "corun restore 1\nagent 1 5\n",
        "corun restore 1\nagent -4711 5\n",
        "corun restore 1\nprogram 4711 5 6\n",
        "corun restore 1\nkill 4711 5\n",
        "corun restore 1\naffinity 4711 5 4712 6\n",
        "corun restore 1\naffinity 4711 5 4712 6 all\n",
        "corun restore 1\nhome 4711 5 sys\n",
        "corun restore 1\ngroup /sys/fs/cgroup/web\n",
        "corun restore 1\ngroup /sys/fs/cgroup/corun-1/../web\n",
        "corun restore 1\ngroup corun-1\n",
        "corun restore 1\nresctrl /\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        journal_entries entries = {0};
        struct corun_diagnostics *list = corun_diagnostics_create();
        if (journal_read("restore", wrong[i], strlen(wrong[i]), list, &entries) != CORUN_SYNTAX)
            fail_msg("taken: %s", wrong[i]);
        assert_int_equal(corun_diagnostics_get(list, 0)->place.line, i < 2 ? 1 : 2);
        journal_free(&entries);
        corun_diagnostics_destroy(list);
    }
    journal_entries entries = {0};
    const char cut[] = "corun restore 1\nagent 4711 5\nprogram 47";
    assert_int_equal(journal_read("restore", cut, strlen(cut), NULL, &entries), CORUN_OK);
    assert_int_equal(entries.count, 1);
    journal_free(&entries);
}

static void test_all_is_put_back_and_nobody_else_is_touched(void **state)
{
    struct paper *paper = *state;
    struct restored restored;
    struct process_id child = child_begin(3, false), other = child_begin(1, false), old = other;
    cpu_set_t all, one, now;
    assert_int_equal(affinity_get_thread(0, &all), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    journal_affinity(&paper->journal, child, child, &all);
    journal_stopped(&paper->journal, child);
    affinity_set_process(child.pid, &one);
    affinity_set_process(other.pid, &one);
    kill(child.pid, SIGSTOP);
    kill(other.pid, SIGSTOP);
    wait_until_stopped(child.pid);
    wait_until_stopped(other.pid);
    old.born--; /* a process that is gone, and whose number is used again */
    journal_affinity(&paper->journal, old, old, &all);
    journal_stopped(&paper->journal, old);
    journal_program(&paper->journal, old);
    for (int twice = 0; twice < 2; twice++) {
        assert_int_equal(restore_from(paper->path, 100, paper->list, &restored), CORUN_OK);
        assert_int_equal(restored.threads, 3);
        assert_int_equal(restored.stopped, 1);
        assert_int_equal(restored.programs, 0);
        assert_int_equal(restored.failed, 0);
        affinity_get_thread(child.pid, &now);
        assert_true(CPU_EQUAL(&now, &all));
        assert_int_not_equal(state_of(child.pid), 'T');
        affinity_get_thread(other.pid, &now);
        assert_true(CPU_EQUAL(&now, &one));
        assert_int_equal(state_of(other.pid), 'T');
    }
    child_end(child);
    child_end(other);
    assert_int_equal(restore_from(paper->path, 0, paper->list, &restored), CORUN_OK);
    assert_int_equal(restored.threads + restored.stopped + restored.failed, 0);
}

/* Programs of the agent end with what they have started, even if they are stopped and deaf. */
static void test_programs_end(void **state)
{
    struct paper *paper = *state;
    struct restored restored;
    struct process_id program;
    siginfo_t info;
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (!pid) {
        close(ends[0]);
        setpgid(0, 0);
        signal(SIGTERM, SIG_IGN);
        fork();
        for (;;)
            pause();
    }
    close(ends[1]);
    setpgid(pid, pid);
    usleep(50000);
    assert_true(process_find(pid, &program));
    journal_program(&paper->journal, program);
    kill(-pid, SIGSTOP);
    assert_int_equal(restore_from(paper->path, 50, paper->list, &restored), CORUN_OK);
    assert_int_equal(restored.programs, 1);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED), 0);
    assert_int_equal(info.si_status, SIGKILL);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* the last one that could write has ended */
    close(ends[0]);
}

static void test_what_is_left_over(void **state)
{
    struct paper *paper = *state;
    struct restored restored;
    assert_int_equal(restore_leftover(paper->path, paper->list, &restored), CORUN_ARGUMENT); /* this process wrote it */
    FILE *file = fopen(paper->path, "w");
    fputs("corun restore 1\nagent 2 1\n", file);
    fclose(file);
    assert_int_equal(restore_leftover(paper->path, paper->list, &restored), CORUN_OK);
    assert_int_equal(access(paper->path, F_OK), -1);
    assert_int_equal(restore_leftover(paper->path, paper->list, &restored), CORUN_NOT_FOUND);
}

static size_t entries_of(struct paper *paper, journal_entries *entries)
{
    static char text[JOURNAL_SHRINKS_AT * 4];
    int fd = open(paper->path, O_RDONLY);
    ssize_t bytes = read(fd, text, sizeof text);
    close(fd);
    assert_int_equal(journal_read("restore", text, (size_t)bytes, paper->list, entries), CORUN_OK);
    return (size_t)bytes;
}

/* A disk that is full, or a limit of files, in the middle of a line: that line is not there, and those before and behind it are. */
static void test_half_a_line(void **state)
{
    struct paper *paper = *state;
    struct process_id own;
    struct rlimit before, short_files;
    assert_true(process_find(getpid(), &own));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    short_files = before;
    short_files.rlim_cur = (rlim_t)lseek(paper->journal.fd, 0, SEEK_END) + 12;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &short_files), 0);
    assert_int_not_equal(journal_stopped(&paper->journal, own), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(journal_home(&paper->journal, own, "/sys/fs/cgroup/web"), 0);
    journal_entries entries = {0};
    entries_of(paper, &entries);
    assert_int_equal(entries.count, 2);
    assert_int_equal(entries.data[1].kind, JOURNAL_HOME);
    journal_free(&entries);
}

/* What was put back meanwhile, and perhaps changed by somebody else since, is not put back again. */
static void test_released(void **state)
{
    struct paper *paper = *state;
    struct process_id own, other = {4711, 1};
    cpu_set_t cores;
    affinity_parse("0", &cores);
    assert_true(process_find(getpid(), &own));
    journal_program(&paper->journal, own);
    journal_affinity(&paper->journal, own, own, &cores);
    journal_home(&paper->journal, own, "/sys/fs/cgroup/web");
    journal_stopped(&paper->journal, own);
    journal_stopped(&paper->journal, other);
    assert_int_equal(journal_released(&paper->journal, own), 0);
    journal_home(&paper->journal, own, "/sys/fs/cgroup/mail");
    journal_entries entries = {0};
    entries_of(paper, &entries);
    assert_int_equal(entries.count, 4);
    assert_int_equal(entries.data[1].kind, JOURNAL_PROGRAM);
    assert_int_equal(entries.data[2].kind, JOURNAL_STOPPED);
    assert_int_equal(entries.data[2].process.pid, 4711);
    assert_string_equal(entries.data[3].folder, "/sys/fs/cgroup/mail");
    journal_free(&entries);
}

/* An agent that runs for months has a journal that can still be read: processes that are gone are left out of it. */
static void test_it_stays_short(void **state)
{
    struct paper *paper = *state;
    struct process_id own, gone = {1 << 30, 1};
    cpu_set_t cores;
    affinity_parse("0,2-3", &cores);
    assert_true(process_find(getpid(), &own));
    journal_group(&paper->journal, "/sys/fs/cgroup/corun-1/batch");
    journal_resctrl(&paper->journal, "/sys/fs/resctrl/corun-1-0");
    journal_stopped(&paper->journal, own);
    journal_affinity(&paper->journal, own, own, &cores);
    journal_home(&paper->journal, own, "/sys/fs/cgroup/a b");
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(journal_affinity(&paper->journal, gone, gone, &cores), 0);
        assert_int_equal(journal_program(&paper->journal, gone), 0);
    }
    journal_entries entries = {0};
    assert_true(entries_of(paper, &entries) <= JOURNAL_SHRINKS_AT + 100);
    assert_true(entries.count > 6);
    const enum journal_kind kinds[] = {JOURNAL_AGENT,   JOURNAL_GROUP,    JOURNAL_RESCTRL,
                                       JOURNAL_STOPPED, JOURNAL_AFFINITY, JOURNAL_HOME};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_int_equal(entries.data[i].kind, kinds[i]);
    assert_int_equal(entries.data[0].process.pid, getpid());
    assert_string_equal(entries.data[1].folder, "/sys/fs/cgroup/corun-1/batch");
    assert_string_equal(entries.data[2].folder, "/sys/fs/resctrl/corun-1-0");
    assert_true(CPU_EQUAL(&entries.data[4].cores, &cores));
    assert_int_equal(entries.data[4].thread.born, own.born);
    assert_string_equal(entries.data[5].folder, "/sys/fs/cgroup/a b");
    journal_free(&entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_written_and_read, begin, end),
        cmocka_unit_test(test_what_is_no_journal),
        cmocka_unit_test_setup_teardown(test_all_is_put_back_and_nobody_else_is_touched, begin, end),
        cmocka_unit_test_setup_teardown(test_programs_end, begin, end),
        cmocka_unit_test_setup_teardown(test_what_is_left_over, begin, end),
        cmocka_unit_test_setup_teardown(test_half_a_line, begin, end),
        cmocka_unit_test_setup_teardown(test_released, begin, end),
        cmocka_unit_test_setup_teardown(test_it_stays_short, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
