/* SPDX-License-Identifier: MIT */
/*
 * Who may launch on a GPU of hardware: whole launches are granted or held back, by what the boards of the programs tell (wire/board.h). Without
 * sockets and clocks: the caller says what time it is, and when something may have changed.
 */
#ifndef CORUN_DAEMON_GATE_H
#define CORUN_DAEMON_GATE_H

#include "corun/status.h"
#include "daemon/rate.h"
#include "daemon/sms.h"
#include "daemon/work.h"
#include "wire/board.h"

#include <stddef.h>

struct corun_diagnostics;

#define GATE_SAMPLE_NS \
    UINT64_C(2000000) /* how often it is looked at who is busy, where nothing depends on it but the list */
#define GATE_LATE_NS \
    UINT64_C(1000000000) /* behind its turn: a program that has something under way for so long loses it all the same */

/* P(NAME, word, what it does) */
#define GATE_POLICIES(P) \
    P(LEFT_OVER, "left-over", "every launch goes to the driver: the GPU decides") \
    P(PRIORITY, "priority", \
      "programs with a goal go first: while one of them has something on the GPU, the others launch nothing, and " \
      "else " \
      "they have no more under way than `bound` (microseconds)") \
    P(GOAL, "goal", \
      "as priority, but only while a program has less than its goal promises: a share of its rate alone, or times of " \
      "its " \
      "runs; what counts is the last `window` (milliseconds)") \
    P(TIME_SLICE, "time-slice", \
      "one program after the other, each for `quantum` (microseconds), in the order of their numbers") \
    P(EVEN, "even", "as time-slice, and the next one is that which has had the GPU for the shortest time") \
    P(PARTITION, "partition", \
      "programs whose launches are workers have SMs of their own: as many of all as their goal is of their rate " \
      "alone, " \
      "those without a goal equal parts of the rest; who has wanted nothing for `window` (milliseconds) has none")
enum gate_policy {
#define GATE_POLICY_ENUM(name, word, meaning) GATE_##name,
    GATE_POLICIES(GATE_POLICY_ENUM)
#undef GATE_POLICY_ENUM
        GATE_WORKERS /* one of corun/policy.h, that limits workers on each SM (sms.h) */
};

#define GATE_MOST_CLIENTS BOARD_CLIENTS
#define GATE_NEVER UINT64_MAX
#define GATE_RATE_NS \
    UINT64_C(250000) /* how often boards are looked at where a rate is promised, on average; who is busy is a sample */
#define GATE_REST_NS UINT64_C(50000000) /* of nobody wanting anything: then it is looked less often */
#define GATE_LEARN_NS \
    UINT64_C( \
        1000000000) /* that others are held back at most, where a share of a rate alone is promised that is not known, */
#define GATE_LEARN_AGAIN_NS UINT64_C(10000000000) /* and so long behind that once more */
#define GATE_STALE_NS \
    UINT64_C( \
        1000000000) /* that a program with workers has told nothing of them: it stands still, and its SMs are the others' */
#define GATE_RUNS 4u                 /* of a program, from which on it is known what one of them takes */
#define GATE_WORKERS_WORD "workers:" /* before a policy's name: that of corun/policy.h, not the one of GATE_POLICIES */
#define GATE_LOOK_NS UINT64_C(20000) /* how often boards are looked at while somebody waits for another one's end */

struct gate_rules {
    enum gate_policy policy;
    uint64_t bound_ns, quantum_ns, window_ns;
    struct sms_choice choice; /* GATE_WORKERS */
};

/* How policies of corun/policy.h are found: specify_policy. */
struct gate_policies {
    enum corun_status (*choose)(void *user, const char *text, struct corun_diagnostics *list,
                                const struct corun_policy **policy, const double **parameters);
    void *user;
};

struct gate_client {
    struct board *board;       /* NULL: the place is free */
    struct board_front *front; /* of its user's boards */
    struct board_sheet *sheet;
    struct work work;
    double run_blocks; /* thread blocks of a run; 0: not known */
    bool urgent;       /* it has a goal */
    bool busy;         /* when it was looked at last */
    uint64_t since;    /* when that was */
    uint64_t busy_ns;  /* that it had something on the GPU, as far as it was noted */
    uint64_t had_ns;   /* turns that it has had */
    struct rate rate;
    bool shut;            /* by the policy `goal`: it launches nothing whether others are busy or not */
    bool wanted, noted;   /* when it was looked at last: it wanted the GPU; its launches are noted since */
    uint32_t asked;       /* launches of all lanes */
    uint64_t launches;    /* as the board had them */
    uint64_t learn_again; /* when others may be held back for its rate alone */
    uint64_t wanted_ns;   /* when it wanted the GPU last, or came */
};

struct gate {
    struct gate_rules rules;
    struct board_front *front;
    struct gate_client clients[GATE_MOST_CLIENTS];
    uint32_t next;   /* number that is given when it is free: one that was given up long ago */
    uint32_t holder; /* whose turn it is; GATE_MOST_CLIENTS: nobody's */
    bool ends;       /* its turn is over when nothing of it is under way */
    uint64_t turn_ns, looked;
    uint32_t learner;     /* whose rate alone is learned, while others are held back; GATE_MOST_CLIENTS: nobody's */
    uint64_t learn_until; /* at the latest */
    uint64_t wanted_ns;   /* when somebody wanted the GPU last */
    uint32_t random;
    bool several;    /* fronts */
    struct sms *sms; /* under GATE_WORKERS */
    bool failed;     /* that policy has ended (sms_problem) */
};

/*
 * The rules of a text like `priority:bound=500`. ARGUMENT with a message: there is no such policy or parameter, or it is a policy of simulated GPUs.
 */
enum corun_status gate_rules_read(const char *text, struct gate_rules *rules, struct corun_diagnostics *list);
/*
 * The same, and policies of corun/policy.h: of a name that GATE_POLICIES has not, or behind GATE_WORKERS_WORD. POLICY, UNSUPPORTED or ARGUMENT with a message: one that
 * a GPU of hardware cannot obey.
 */
enum corun_status gate_rules_choose(const char *text, const struct gate_policies *policies, struct gate_rules *rules,
                                    struct corun_diagnostics *list);

/* `front`: of BOARD_FILE_BYTES, zeroed; it lives as long as the gate. NULL: every client comes with one. */
void gate_begin(struct gate *gate, const struct gate_rules *rules, struct board_front *front);
/* Gives back what it has allocated; the boards stay as they are. */
void gate_end(struct gate *gate);
/* Other rules; turns begin anew. After an error, which is one of GATE_WORKERS alone, the rules are those of before. */
enum corun_status gate_change(struct gate *gate, const struct gate_rules *rules, struct corun_diagnostics *list);
/* The number of a new client, whose board is empty then; GATE_MOST_CLIENTS: there are too many. */
uint32_t gate_enter(struct gate *gate, bool urgent);
/* What a client is promised; `alone`: what is known of its rate alone, NULL: nothing new. */
void gate_promise(struct gate *gate, uint32_t number, enum corun_goal_kind goal, double value,
                  const struct rate_alone *alone);
/* The same on the boards of its user, which live as long as any client there. Users see each other as of the last look alone. */
uint32_t gate_enter_at(struct gate *gate, struct board_front *front, bool urgent);
void gate_leave(struct gate *gate, uint32_t number);
/*
 * Looks at the boards and writes their gates. Returns after how many nanoseconds to look again in any case, GATE_NEVER: when a client rings, comes
 * or goes.
 */
uint64_t gate_look(struct gate *gate, uint64_t now_ns);

#endif
