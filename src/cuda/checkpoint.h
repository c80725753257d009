/* SPDX-License-Identifier: MIT */
/*
 * The state of a program's GPU, saved and taken up again (docs/checkpoints.md). The program itself cannot be saved: it is run again from its start. Until it
 * is where the file was written, its machine is the journal (journal.h): nothing is simulated, and what it asks is compared with what was asked
 * then. There the state of the GPU and of device memory are loaded, and the machine is a simulated GPU from then on.
 *
 *     journaled_machine.h   the machine below streams, which writes the journal or answers from it
 *     journaled_copy.h      copies and fills: bytes that the program gives, and bytes that it gets
 *     host_pages.h          memory that host and kernels see
 *     checkpoint_signal.h   one more checkpoint when the program is to end
 *
 * Whatever differs, or cannot be saved, ends the process with a message: to go on wrong would be worse.
 */
#ifndef CORUN_CUDA_CHECKPOINT_H
#define CORUN_CUDA_CHECKPOINT_H

#include "base/checkpoint_file.h"
#include "cuda/host_pages.h"
#include "cuda/journal.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/types.h>

#define CHECKPOINT_PATH_BYTES 4096u

struct corun_gpu;
struct journaled_machine;
struct process;

struct checkpoint {
    struct journal journal;
    struct host_pages pages;
    bool replays;                        /* answers come from the journal */
    bool over;                           /* what has happened cannot be saved, and need not be: a kernel has failed */
    bool between;                        /* the file that is read was written between two calls of the program */
    uint64_t tasks;                      /* that the program has asked for until now, ASKED */
    char asked[JOURNAL_TEXT_BYTES];      /* the last of them, in words */
    uint64_t calls_then;                 /* of the process, when the file was written that is read */
    pid_t thread;                        /* the one that may call */
    uintptr_t stack_end;                 /* of it: the lowest address */
    char path[CHECKPOINT_PATH_BYTES];    /* "": nothing is written */
    uint64_t cycle, every;               /* when, as the user says; 0: not */
    uint64_t planned;                    /* the next time; UINT64_MAX: none */
    struct checkpoint_identity identity; /* what the file is of */
    struct checkpoint_reader *reader;    /* NULL: nothing is to be loaded any more */
    struct journaled_machine *machine;   /* NULL: the program has none now */
    volatile sig_atomic_t signal;        /* that is to end the program, once its state is saved; 0: none */
    sem_t signalled;                     /* checkpoint_signal.c */
};

/* As the settings say: NULL in process->checkpoint where they ask for none. Where that cannot be, the process ends. */
void checkpoint_begin(struct process *process);
/* A call of the program begins, under the lock. */
void checkpoint_enter(struct process *process);
/* The program does what cannot be saved: ends it, if its state is to be. `what`: "the program shares memory with other processes". */
void checkpoint_refuse(struct process *process, const char *what);
/* A kernel has failed: nothing is saved any more. What was saved before is good. */
void checkpoint_end(struct process *process);

/* The program ends: one that has not come to where the file was written took another way. */
void checkpoint_close(struct process *process);

/* Do answers come from the journal? Loads the state where the journal ends. */
bool checkpoint_replays(struct process *process);
/* Writes an entry, or reads it: then the answer there is that of the journal, and what was asked is the same, or the process ends. */
void checkpoint_note(struct process *process, enum journal_kind kind, uint64_t digest, void *answer, size_t bytes);
/* The answer of any length that comes next; NULL: there is none of that kind now. Valid until checkpoint_pass. */
const void *checkpoint_peek(const struct checkpoint *checkpoint, enum journal_kind kind, size_t *bytes);
/* The program asks for a task, in words; `digest` says what is not in them. */
void checkpoint_ask(struct process *process, uint64_t digest, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The program does something else than the one that was saved. */
_Noreturn void checkpoint_differs(struct process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Nothing more can be done: out of memory, a file that cannot be written. The list of the process says why, or `why`. */
_Noreturn void checkpoint_stop(struct process *process, enum corun_status status, const char *why);

/* Between two steps of the machine, where nothing of the engine is half done: writes the file if it is due. */
void checkpoint_look(struct process *process, uint64_t cycle);
/* Writes the file now, in a call or between two. */
void checkpoint_save(struct process *process, bool between_calls);

#endif
