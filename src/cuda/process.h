/*
 * The CUDA front door of one process: what its files share.
 *
 *   process.c    the one instance, its lock, what each host thread has of its own
 *   device.c     simulated GPUs and what they say of themselves
 *   context.c    an address space with its modules, streams and its error
 *   ranges.c     who owns which addresses, on the device and on the host
 *   module.c     PTX from fat binaries, files and texts; functions and variables
 *   stream.c     streams, events, and the tasks that wait in streams
 *   copy.c       what copies and fills do
 *   engine.c     carries tasks out: in program order without timing, or on the simulated machine
 *   failure.c    what a failed kernel does to its context, and what is said of it
 *   idle.c       goes on for programs that wait without calling
 *   refusal.c    launches that corun cannot run
 *   record.c     what was launched and copied, for the table of `corun exec`
 *   capture.c    the same as a workload, for `corun capture`
 *   runtime_….c, driver_….c   the entry points (entry_points.def), thin over all this
 *
 * Everything here is protected by the lock of the process, which every entry point holds; it is let go while the
 * program's own functions run and, now and then, while the machine advances.
 */
#ifndef CORUN_CUDA_PROCESS_H
#define CORUN_CUDA_PROCESS_H

#include "base/duration.h"
#include "base/vector.h"
#include "corun/gpu.h"
#include "cuda/abi.h"
#include "cuda/fat_binary.h"
#include "cuda/pointer_map.h"
#include "stream/scheduler.h"

#include <pthread.h>

#define MAX_DEVICES 16u
#define LANES 4u /* applications of the machine: contexts that launch kernels have one each, as far as they go */

enum object_kind {
    OBJECT_CONTEXT = 1,
    OBJECT_STREAM,
    OBJECT_EVENT,
    OBJECT_MODULE,
    OBJECT_FUNCTION,
    OBJECT_GRAPH,
    OBJECT_GRAPH_NODE,
    OBJECT_GRAPH_EXECUTABLE,
    OBJECT_POOL,
    OBJECT_LINK,
    OBJECT_USER,
    OBJECT_ARRAY,
    OBJECT_TEXTURE_REFERENCE,
    OBJECT_PHYSICAL
};

/* The first member of everything that a program has a handle of. */
struct object {
    enum object_kind kind;
};

struct context;
struct stream;
struct task;
struct graph;
struct texture_object;
struct texture_reference;
struct virtual_memory;

/* device.c */

struct lane {
    const struct context *context; /* the first that used it; NULL: none yet */
    uint32_t application;          /* of the machine */
    bool broken;                   /* its application was stopped */
};

enum copy_engine { ENGINE_TO_DEVICE, ENGINE_TO_HOST, ENGINE_WITHIN };

struct device {
    uint32_t ordinal;
    struct corun_gpu_config config;
    struct context *primary; /* NULL until it is used */
    uint32_t primary_uses;   /* retained by the driver API */
    unsigned flags;
    uint64_t physical_bytes; /* of virtual memory management */
    void *pool;              /* the default one, once it was asked for */
    /* Its streams and its machine, which the first task makes that takes time. */
    struct stream_scheduler scheduler;
    uint64_t cycle; /* the machine's, from the base of the scheduler on */
    /*
     * Where the host is: what it asks for now was asked for when that ended what it last waited for. The machine may
     * have gone on by less than a dispatch latency since.
     */
    uint64_t host_cycle;
    struct lane lanes[LANES];
    struct task *orphans; /* launches of failed contexts, which the machine may still name */
};

/* ranges.c */

enum range_kind {
    RANGE_DEVICE,
    RANGE_HOST,       /* pinned, allocated here: device and host address are the same where that was possible */
    RANGE_MANAGED,    /* the same, for both sides */
    RANGE_REGISTERED, /* the program's own memory */
    RANGE_MODULE,     /* a variable */
    RANGE_VIRTUAL     /* mapped by virtual memory management */
};

/*
 * Host address and device address are different only for RANGE_HOST and RANGE_MANAGED that could not be put where the
 * device has them.
 */
struct range {
    uint64_t address, bytes;
    enum range_kind kind;
    unsigned flags;
    struct context *context;
    struct {
        bool read_mostly;
        uint8_t preferred, prefetched; /* memory_advice.c */
        uint32_t accessed_by;
    } advice; /* of managed memory */
};

/* module.c */

/* Thread blocks of one shape that fit an SM. */
struct occupancy {
    uint32_t threads, tbs; /* threads 0: nobody has asked yet */
    size_t dynamic_shared_bytes;
};

struct function {
    struct object object;
    struct module *module;
    const struct corun_kernel *kernel;
    const char *refused; /* why it cannot be launched; NULL if it can */
    const char *name;
    uint32_t dynamic_shared_limit;
    int carveout;
    struct occupancy occupancy;    /* of the shape that was asked for last: most launches are as the one before */
    struct old_launch *old_launch; /* driver_function.c; NULL: none */
};

struct module {
    struct object object;
    struct context *context;
    struct corun_module *code;
    struct corun_program *program;
    struct pointer_map functions; /* struct corun_kernel → struct function */
    VECTOR(struct function *) refused;
    char *name;
    bool unloaded;
};

/* What a program registered in one go (__cudaRegisterFatBinary). */
struct image {
    const struct fat_binary_wrapper *wrapper;
    void *handle; /* its address is what the program is given */
    bool unregistered;
    char *architectures; /* for messages */
};

struct image_function {
    struct image *image;
    const char *name;
    const void *host;
};

struct image_variable {
    struct image *image;
    const char *name;
    const void *host; /* its shadow; of a managed variable the pointer that has to be set */
    size_t bytes;
    bool managed, constant;
};

/* A texture or surface reference (texture_reference.h). */
struct image_reference {
    struct image *image;
    const char *name;
    const char *ptx_name; /* where `name` is not that of PTX; NULL: none was given */
    const void *host;
    bool surface, normalized_values;
};

/* context.c */

/* Memory that graphs allocate: what launches hold of it, and all of it; now and at most. */
struct graph_bytes {
    uint64_t used, most_used, reserved, most_reserved;
};

struct context {
    struct object object;
    struct device *device;
    struct corun_memory *memory;
    uint32_t memory_index; /* which range of addresses */
    bool primary, destroyed;
    unsigned flags;
    uint32_t attached; /* cuCtxAttach without cuCtxDetach */
    int error;         /* that stays until the context is gone; CUDA_SUCCESS: none */
    char *reason;      /* what has been said of it */
    struct stream *legacy;
    struct stream_group group;             /* the queues of the streams */
    VECTOR(struct stream *) streams;       /* legacy first */
    VECTOR(struct module *) modules;       /* also unloaded ones: the machine may know their code */
    VECTOR(struct module *) image_modules; /* by index of the image; NULL: not used yet */
    struct pointer_map functions;          /* host stub → struct function */
    VECTOR(struct texture_object *) textures;
    VECTOR(struct graph_memory *) graph_memories;
    struct graph_bytes graph_bytes;
    VECTOR(struct texture_reference *) references;
    size_t limits[16];
    uint64_t allocated_bytes;
    uint64_t grid_barrier; /* device address of the words that cooperative launches meet at; 0: none yet */
    uint32_t grid_barrier_next;
};

/* stream.c */

struct event {
    struct object object;
    struct context *context;
    unsigned flags;
    uint32_t references;         /* tasks that name it, and the program's handle */
    uint64_t recorded;           /* number of calls that recorded it */
    struct stream_event reached; /* the last of them that has been, and when */
    double nanoseconds;          /* the same */
    uint64_t capture; /* recorded in a stream that was being captured: the graph's number, and where the stream was */
    VECTOR(struct graph_node *) capture_front;
};

enum task_kind {
    TASK_LAUNCH,
    TASK_COPY,
    TASK_FILL,
    TASK_RECORD,
    TASK_WAIT,
    TASK_CALL,
    TASK_FREE,
    TASK_WAIT_VALUE,
    TASK_WRITE_VALUE,
    TASK_NOTHING
};

/* One side of a copy: rows of `width_bytes` every `pitch` bytes, `height` rows every `slice_bytes` bytes. */
struct copy_side {
    uint64_t address;
    uint8_t *host;           /* NULL: `address` is of the device */
    struct context *context; /* whose memory it is; NULL: the host's */
    size_t pitch, slice_bytes;
    bool pinned;
};

struct copy {
    struct copy_side from, to;
    size_t width_bytes, height, depth;
    enum copy_engine engine;
    bool pageable;
    uint8_t *staged; /* pageable memory as it was when the copy was asked for */
};

struct fill {
    uint64_t address;
    uint8_t *host;
    size_t pitch, slice_bytes, width_bytes, height, depth;
    uint32_t value, element_bytes;
};

struct launch_request {
    struct function *function;
    const void *host; /* api.h */
    struct corun_dim3 grid, block;
    uint32_t dynamic_shared_bytes;
    bool cooperative;
    uint8_t *parameters; /* owned; NULL if there are none */
    size_t parameter_bytes;
};

struct task {
    struct stream_task queued; /* first: see task_of */
    enum task_kind kind;
    struct stream *stream;
    union {
        struct {
            struct launch_request request;
            struct corun_grid *grid;
            struct lane *lane;
            struct corun_counters before;
        } launch;
        struct copy copy;
        struct fill fill;
        struct {
            struct event *event;
            uint64_t count; /* of event.recorded */
        } event;
        struct {
            abi_host_function function;
            abi_stream_callback callback;
            void *user;
        } call;
        struct {
            uint64_t address, value;
            uint32_t bytes;
            unsigned flags;
        } value;          /* stream_value.c */
        uint64_t address; /* FREE */
    };
};

struct stream {
    struct object object;
    struct context *context;
    struct stream_queue queue;
    unsigned flags;
    uint64_t id;
    bool destroyed;
    struct graph *capture;
    VECTOR(struct graph_node *) capture_front; /* what the next captured node depends on */
    bool capture_origin, capture_broken;
    int capture_mode;
};

/* process.c */

/* Between __cudaPushCallConfiguration and the launch. */
struct call_configuration {
    struct corun_dim3 grid, block;
    size_t dynamic_shared_bytes;
    void *stream;
};

struct thread_state {
    int last_error;
    uint32_t device;
    VECTOR(struct context *) contexts; /* the driver API's stack; the top is current */
    VECTOR(struct call_configuration) configurations;
    VECTOR(struct stream *) streams; /* the thread's own default stream of each context */
    int capture_mode;
};

struct process {
    pthread_mutex_t lock;
    bool ready, failed, forked, driver_started, functional;
    bool watched, ended; /* idle.c */
    uint64_t calls;
    uint32_t threads;
    struct simulated_duration kernel_timeout; /* zeroed: none */
    struct corun_diagnostics *list;
    struct device devices[MAX_DEVICES];
    uint32_t device_count;
    struct pointer_map objects; /* handle → struct object, while it lives */
    VECTOR(struct context *) contexts;
    VECTOR(struct range) ranges; /* in ascending address */
    uint32_t memories_used;      /* mask of address ranges taken */
    VECTOR(struct image *) images;
    VECTOR(struct image_function) functions;
    VECTOR(struct image_variable) variables;
    VECTOR(struct image_reference) references;
    struct pointer_map function_of_host; /* host stub → index + 1 */
    struct pointer_map variable_of_host;
    struct stream_host host;
    uint64_t next_stream_id;
    uint64_t allocations, launches; /* so far */
    uint32_t checks;                /* enum corun_check */
    uint32_t calls_running;
    uint32_t values_waiting, value_looks;  /* streams that wait for a value; how often nothing else was to be done */
    struct record *record;                 /* NULL: nobody wants to know */
    struct capture *capture;               /* NULL: nobody wants one */
    struct virtual_memory *virtual_memory; /* NULL until it is used */
    struct pointer_map complained;         /* names of what is absent that were said */
    VECTOR(struct context *) gone;         /* destroyed: threads may still have them on their stack */
};

/* One call of an entry point. */
struct call {
    struct process *process;
    struct thread_state *thread;
    struct context *context; /* current; NULL if none is wanted */
    bool driver;             /* by the driver API: no context comes into being, no error is kept */
    int error;
};

/*
 * Begin a call: takes the lock and finds the current context. False if the call cannot go on: `error` says why. Every
 * call ends with call_end or runtime_end, which give back the lock.
 */
bool runtime_begin(struct call *call); /* with a context, and that without error; a driver's call as driver_begin */
bool primary_begin(struct call *call); /* with a context, the device's own if there is none, in both interfaces */
bool runtime_begin_device(struct call *call); /* a device is enough */
int runtime_end(struct call *call);           /* keeps the error for cudaGetLastError */
int runtime_end_quietly(struct call *call);   /* does not */
bool driver_begin(struct call *call);         /* with a current context without error */
bool driver_begin_started(struct call *call); /* cuInit was called */
int call_end(struct call *call);
/* Lets other threads in, while the machine runs or a function of the program. */
void process_pause(struct process *process);
struct process *process_get(void);
struct thread_state *thread_get(void);

/* One line on the error output of the program: names what is wrong or missing. console.c */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* All messages of the list, which is emptied. */
void say_diagnostics(struct corun_diagnostics *list);
/* What a kernel printed. */
void print_device_text(void *user, const char *text, size_t bytes);

/* device.c */
bool devices_create(struct process *process);
int device_attribute(const struct device *device, int attribute, int *value);
void device_copy_properties(const struct device *device, int layout, void *properties);
uint64_t device_memory_bytes(const struct device *device);
double device_nanoseconds(const struct device *device, uint64_t cycle);
uint64_t device_cycles_of(const struct device *device, double nanoseconds);

/* context.c */
struct context *cuda_context_create(struct process *process, struct device *device, bool primary);
/* Waits for nothing: what is in the streams is dropped. */
void cuda_context_destroy(struct process *process, struct context *context);
/* The device's primary context, made when it is first asked for; NULL when out of memory. */
struct context *cuda_context_primary(struct process *process, uint32_t device);
/* Says why and keeps the error: every later call gives it. */
void cuda_context_fail(struct context *context, int error);
int error_of_status(enum corun_status status);

/* process.c: handles */
bool object_add(struct process *process, struct object *object);
void object_remove(struct process *process, struct object *object);
/* NULL if it is no live handle of that kind. */
void *object_find(struct process *process, const void *handle, enum object_kind kind);

/* ranges.c */
/* Memory of a device that the host does not see. What it sees is every context's, at the same address. */
bool range_of_device(const struct range *range);
/* A new context gets what the host sees. False when out of memory. */
bool ranges_share(struct process *process, struct context *context);
bool ranges_add(struct process *process, struct range range);
void ranges_remove(struct process *process, uint64_t address);
/* The range that holds an address; NULL if there is none. Valid until the next change. */
const struct range *ranges_find(const struct process *process, uint64_t address);
/* `by` is what messages about faults say who made it, and below who freed it: an entry point. */
int memory_allocate(struct process *process, struct context *context, size_t bytes, uint64_t *address, const char *by);
/* Memory that the host sees, too. */
int memory_allocate_host(struct process *process, struct context *context, size_t bytes, enum range_kind kind,
                         unsigned flags, uint64_t *address);
int memory_release(struct process *process, uint64_t address, const char *by);
/* A range of a context's memory goes, without anything of the process's own. */
void memory_forget(struct process *process, struct context *context, uint64_t address, const char *by);
int memory_register(struct process *process, struct context *context, void *host, size_t bytes, unsigned flags);
int memory_unregister(struct process *process, void *host);

/* module.c */
/*
 * `from_compiler`: a function with something that is not understood is left out; else it is left out if that is known
 * and not supported.
 */
int module_load_text(struct process *process, struct context *context, const char *name, const char *text, size_t bytes,
                     bool from_compiler, struct corun_diagnostics *list, struct module **module);
/* A fat binary, a container or PTX text in memory, as cuModuleLoadData takes them. */
int module_load_data(struct process *process, struct context *context, const void *data, struct corun_diagnostics *list,
                     struct module **module);
void module_unload(struct process *process, struct module *module);
void module_free(struct process *process, struct module *module);
int module_function(struct process *process, struct module *module, const char *name, struct function **function);
/* What its PTX was made for: 75. */
uint32_t function_architecture(const struct function *function);
/* Of a host stub, in a context: loads the module where that has not been done. */
int function_of_host(struct process *process, struct context *context, const void *host, struct function **function);
int variable_of_host(struct process *process, struct context *context, const void *host, uint64_t *address,
                     uint64_t *bytes);
/* What a program was given when it registered; NULL if it is none. runtime_register.c */
struct image *image_of_handle(const struct process *process, void **handle);
int module_of_image(struct process *process, struct context *context, const struct image *image,
                    struct module **module);

/* texture_reference.c */
void texture_references_free(struct process *process, struct context *context);

/* stream.c */
struct stream *stream_create(struct process *process, struct context *context, unsigned flags, int priority);
void stream_free(struct process *process, struct stream *stream);
/* What a handle means in a call; *stream is NULL and the result an error if it is none. */
int stream_of_handle(struct call *call, const void *handle, struct stream **stream);
struct event *event_create(struct process *process, struct context *context, unsigned flags);
void event_release(struct process *process, struct event *event);
/* The task that is queued; NULL of NULL. */
static inline struct task *task_of(const struct stream_task *queued)
{
    return (struct task *)(uintptr_t)queued;
}
struct task *task_create(enum task_kind kind);
void task_free(struct process *process, struct task *task);
/* Puts it at the end of a stream, or into the graph that is being captured there. Takes it over, also when it fails. */
int stream_ask(struct process *process, struct stream *stream, struct task *task);
bool stream_idle(const struct stream *stream);

/* copy.c */
/* Who a pointer belongs to. `kind` is COPY_… and says which side is the host's if the address does not. */
int copy_resolve(struct process *process, uint64_t address, bool device_expected, struct copy_side *side);
/* Checks a copy and completes it: engine, pageable. */
int copy_prepare(struct copy *copy);
int copy_stage(struct copy *copy);
/* Is there memory of the host? */
bool host_has_mapped(const void *host, uint64_t bytes);
/* Moves the bytes. */
int copy_perform(const struct copy *copy);
/* Checks that it lies within one piece of memory. */
int fill_prepare(struct process *process, struct fill *fill);
int fill_perform(struct context *context, const struct fill *fill);
size_t copy_bytes(const struct copy *copy);

/* failure.c */
/* A kernel has failed: says how, and the context is in error from now on. */
void failure_of_launch(struct process *process, struct context *context, enum corun_status status);
/* What a GPU lets pass is worth a line: it is a mistake. */
void failure_tell_notes(struct process *process, struct corun_program *program);

/* engine.c */
/*
 * Works until the stream is empty, all streams of the context are, the event has been reached. Gives the context's
 * error.
 */
int engine_wait_stream(struct process *process, struct stream *stream);
int engine_wait_context(struct process *process, struct context *context);
int engine_wait_event(struct process *process, struct event *event, uint64_t count);
/* Have they ended? Else NOT_READY, after the machine has gone on a little: whoever asks again and again comes to an end. */
int engine_ask_stream(struct process *process, struct stream *stream);
int engine_ask_event(struct process *process, struct event *event, uint64_t count);
/* Goes on a little, for a program that does not call. */
bool engine_nudge(struct process *process);
/* Waits until there are not too many launches ahead. */
int engine_make_room(struct process *process, struct context *context);
/* Once, when the devices are known and whether a capture is wanted. */
void engine_prepare(struct process *process);
/* Ends the machine of a device. */
void engine_close(struct process *process, struct device *device);
/* Drops what a context has under way. */
void engine_abandon(struct process *process, struct context *context);
/* Threads that a thread block of a function can have at most, its registers considered. */
uint32_t engine_most_threads(struct function *function);
/* Thread blocks of a function that an SM of its device holds. */
int engine_occupancy(struct function *function, uint32_t threads, size_t dynamic_shared, uint32_t *tbs);
/* Checks a launch as far as that can be done when it is asked for. */
int launch_check(struct process *process, const struct launch_request *request);

/* idle.c */
/* Watches for programs that wait without calling. Once is enough. */
void idle_start(struct process *process);

/* refusal.c */
/* Says, once for each `key`, that a kernel is not run and why; the call then gives an error. */
void launch_refuse(struct process *process, const void *key, const char *kernel, const char *reason);

/* record.c */
struct record *record_open(const struct process *process);
void record_launch(struct process *process, const struct device *device, const struct task *task,
                   const struct corun_grid *grid, const struct corun_counters *counters);
void record_copy(struct process *process, const struct device *device, const struct task *task);
/* A kernel that was to be launched and cannot be. */
void record_refusal(struct process *process, const char *kernel, const char *reason);
void record_close(struct record *record);

#define CORUN_CUDA_EXPORT __attribute__((visibility("default")))
/* Set by the entry points for which stream 0 is the thread's own (shim.c), cleared when the call ends. */
extern CORUN_CUDA_EXPORT _Thread_local bool corun_per_thread;
/* Set by libcuda's entry points, cleared by libcudart's: which interface was called. */
extern CORUN_CUDA_EXPORT _Thread_local bool corun_driver_call;
/* Defines the function behind an entry point (entry_points.def). */
#define ENTRY(type, name, ...) \
    CORUN_CUDA_EXPORT type corun_##name(__VA_ARGS__); \
    type corun_##name(__VA_ARGS__)

#endif
