/* SPDX-License-Identifier: MIT */
/*
 * The software machine: applications share a GPU behind a CUDA driver under a policy, which is the same file that the simulated GPU obeys
 * in hardware (docs/software-machine.md; RH-SMQoS: Sun et al., SMQoS, Parallel Computing 2022, section 4.4). Kernels run as workers that read
 * their limits in device memory; what the policy sees is what they count there.
 *
 *     software_create → software_run → software_result, software_history → software_destroy
 *
 * An application runs its program again and again. The driver is NVIDIA's or corun's own on the simulated GPU; nothing in here knows which.
 * Times are nanoseconds since software_run began: simulated ones on a simulated GPU, where results do not depend on the host's speed.
 */
#ifndef CORUN_SOFTWARE_SOFTWARE_H
#define CORUN_SOFTWARE_SOFTWARE_H

#include "corun/policy.h"

#define SOFTWARE_MOST_APPLICATIONS 8u /* each has two streams of a runtime, at least */

struct software;
struct workload_commands;

/* How launches go to the device. */
enum software_launching {
    SOFTWARE_WORKERS, /* as workers; whole where a kernel cannot be one */
    SOFTWARE_SLICES,  /* by grants: as the program has them, or in slices; whole where a kernel cannot be sliced */
    SOFTWARE_WHOLE /* as the program has them, in a stream of each application: what CUDA does by itself. By grants, if there is a policy */
};

/* What launches of the first application have that others have not: as in enum runtime_favour. */
enum software_favour { SOFTWARE_NO_FAVOUR, SOFTWARE_PRIORITY, SOFTWARE_OWN_SMS };

struct software_options {
    const char *library;   /* the driver's, as driver_open takes it */
    uint32_t device;       /* of the driver's */
    uint64_t memory_bytes; /* of the device, for data; 0: what there is */
    enum software_launching launching;
    enum software_favour favour;
    uint32_t own_sms;                  /* OWN_SMS: at least so many */
    uint64_t epoch_ns;                 /* 0: 1 ms, or 10 000 cycles on a simulated GPU */
    const struct corun_policy *policy; /* NULL: everybody may have every place */
    const double *parameters;          /* of the policy; NULL: the initial ones */
    bool fence;            /* kernels access the memory of their own application alone; one that tried fails */
    bool check;            /* the results of every run are compared with what is expected */
    bool keep;             /* what the first run of each application leaves is kept: software_left */
    const char *calls;     /* a file for all calls of the driver while the run goes on, as rows of CSV; NULL: none */
    double policy_seconds; /* as in struct governor_limits */
    void (*policy_call)(void *user, bool begins);
    void *user;
};

/* Texts and tables are the caller's and must stay. */
struct software_application {
    const char *name;
    const struct workload_commands *commands; /* one run */
    enum corun_goal_kind goal;
    double goal_value;
    double goal_rate;          /* progress per nanosecond; 0: it follows from the value, if that is possible */
    double isolated_rate;      /* progress per nanosecond alone; 0: not known */
    const uint64_t *launch_ns; /* [launch_count], of a run: how long each takes alone, 0: not known; NULL: none is */
    uint32_t launch_count;
    const double *speedup; /* as in struct corun_application_view */
    uint32_t speedup_count;
    uint64_t start_ns; /* it arrives */
    /*
     * Requests, each of which is a run: it begins when it has come and those before it have ended, and its time counts from then on. In
     * order; nanoseconds since the run began. NULL: a run begins when the one before has ended.
     */
    const uint64_t *requests_ns;
    uint32_t request_count;
    const void *const *expected; /* [buffers] what a run leaves in outputs; NULL: what one without timing leaves */
};

struct software_limits {
    uint64_t window_ns; /* 0: not limited */
    uint32_t runs;      /* of every application, which leaves then; 0: not limited */
    uint64_t stall_ns;  /* an application that makes no progress for so long is stopped; 0: 1 s */
    bool (*progress)(void *user, uint64_t now_ns); /* now and then; false ends the run. May be NULL */
    void *user;
};

/*
 * ARGUMENT: no application, too many, or a limit that is missing; POLICY: the policy needs what this machine cannot do or tell; what
 * runtime_open and runtime_add_workload return.
 */
enum corun_status software_create(const struct software_options *options,
                                  const struct software_application *applications, uint32_t count,
                                  struct corun_diagnostics *list, struct software **software);
void software_destroy(struct software *software);

/* Once. FAULT: the device is lost; POLICY; MEMORY. An application that fails is no error of the run. */
enum corun_status software_run(struct software *software, const struct software_limits *limits,
                               struct corun_diagnostics *list);

struct software_info {
    char device[128];
    uint32_t sms, clock_khz;
    uint32_t own_sms;   /* of the first application, with OWN_SMS */
    uint32_t apart_sms; /* on which the policy may keep launches apart; 0: it does not */
    bool simulated;
    uint64_t epoch_ns;
    enum corun_progress progress_unit;
};
void software_describe(const struct software *software, struct software_info *info);

struct software_result {
    enum corun_status status;      /* OK, FAULT, or WATCHDOG: it stood still */
    const char *failure;           /* the driver's error */
    uint64_t arrived_ns, ended_ns; /* it left, or the window ended */
    uint64_t progress;             /* in the machine's unit, at `measured_ns` */
    uint64_t measured_ns;          /* the last moment at which its progress was known */
    uint64_t thread_blocks;
    uint32_t runs;
    const uint64_t *
        run_ns; /* [runs]: from its request; without requests, from the end of the run before, or the application's arrival */
    uint32_t requests;   /* that have come */
    uint32_t mismatches; /* runs that left something else, with `check` */
    double goal_rate;    /* 0: none */
    double best_epoch_rate;
    bool out_of_reach;
    uint64_t launches, crews,
        workers;              /* given to the device; crews of workers beside the first one of a launch are growth */
    uint64_t whole;           /* launches that went whole */
    uint64_t slices;          /* of the others, by grants */
    const char *refusal;      /* why one of its kernels cannot be workers; NULL: all can */
    uint64_t returned;        /* thread blocks given back, abandoned or drawn and not begun, where the policy drops */
    const char *kept, *keeps; /* a kernel that is drained where the policy drops, and why; NULL: none is */
};
void software_result(const struct software *software, uint32_t application, struct software_result *result);

/* Launches of a run, and the shortest time that one of them took in this machine, in nanoseconds; 0: none has ended. */
uint32_t software_launches(const struct software *software, uint32_t application);
uint64_t software_launch_ns(const struct software *software, uint32_t application, uint32_t launch);

/* With `keep`, after a run: what the first one left in a buffer of the application's commands. NULL: no output, or none has ended. */
const void *software_left(const struct software *software, uint32_t application, size_t buffer);

/* What control took. */
struct software_control {
    uint64_t looks, look_ns; /* copies of the table to the host; how long they took, together */
    uint64_t writes;         /* of limits */
    uint64_t epochs;
    uint64_t hand_overs,
        hand_over_ns; /* SMs that changed hands; from the decision to the first look that shows the new owner there */
    uint64_t plugs; /* thread blocks that keep others' workers from SMs that are somebody's own: launched */
};
void software_control(const struct software *software, struct software_control *control);

/* The run over time: one row for each epoch. */
struct software_epoch {
    uint64_t end_ns;
    struct software_share {
        double sms;        /* on which it had workers */
        double tbs;        /* workers */
        uint64_t progress; /* since it arrived */
    } shares[SOFTWARE_MOST_APPLICATIONS];
};
uint32_t software_epochs(const struct software *software, const struct software_epoch **epochs);
/* Variables of the policy at the end of an epoch; NULL: it shows none. */
const double *software_variables(const struct software *software, uint32_t epoch);

#endif
