/* SPDX-License-Identifier: MIT */
/*
 * What workers of a context need lies in its device memory: a table of places, by the number of the SM, one in which every SM owes everything, and
 * queues for each stream, which the launches there use one after the other. A thread writes what corund says into the table, in a stream that waits for nobody:
 * the program may be within a call that waits for what obeys it.
 */
#include "shim/tables.h"

#include "shim/below.h"
#include "shim/govern.h"
#include "shim/growth.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS UINT64_C(1000000)     /* between two looks while something of the program is under way */
#define REST_NS UINT64_C(50000000)    /* and while nothing is */
#define GROWS_NS UINT64_C(1000000)    /* after a limit has risen, until it is looked whether there is room left */
#define GROWN_NS UINT64_C(1000000000) /* and it is not looked after so long */
enum {
    CAPTURE_RELAXED = 2,
    MULTIPROCESSORS = 16,
    THREADS_PER_SM = 39,
    TBS_PER_SM = 106,
    NON_BLOCKING = 1,
    ON_HOST = 1,
    ON_DEVICE = 2
};
_Static_assert(BOARD_UNLIMITED == WORKERS_UNLIMITED, "limits of sheets are those of places");

/* CUDA_MEMCPY2D. */
struct rows {
    size_t from_x, from_y;
    int from_kind;
    const void *from_host;
    uint64_t from_device;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    int to_kind;
    void *to_host;
    uint64_t to_device;
    void *to_array;
    size_t to_pitch, width, height;
};

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    struct crew *crews;       /* of contexts that are there */
    struct crew *spare;       /* of those that are gone */
    _Atomic uint32_t changes; /* of `crews` */
    bool watched;
    atomic_bool rests; /* the thread that watches, for want of something to see */
    int (*current)(void **), (*push)(void *), (*pop)(void **), (*capture_mode)(int *);
    int (*device)(int *), (*ask)(int *, int, int);
    int (*allocate)(uint64_t *, size_t), (*free)(uint64_t);
    int (*stream_create)(void **, unsigned), (*stream_destroy)(void *), (*stream_wait)(void *);
    int (*stream_id)(void *, unsigned long long *), (*stream_id_thread)(void *, unsigned long long *);
    int (*set)(uint64_t, unsigned, size_t, void *), (*copy)(const struct rows *, void *);
    bool usable;
} state = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void find_calls(void)
{
    state.current = (int (*)(void **))below_called(CALLED_cuCtxGetCurrent);
    state.push = (int (*)(void *))below_called(CALLED_cuCtxPushCurrent_v2);
    state.pop = (int (*)(void **))below_called(CALLED_cuCtxPopCurrent_v2);
    state.capture_mode = (int (*)(int *))below_called(CALLED_cuThreadExchangeStreamCaptureMode);
    state.device = (int (*)(int *))below_called(CALLED_cuCtxGetDevice);
    state.ask = (int (*)(int *, int, int))below_called(CALLED_cuDeviceGetAttribute);
    state.allocate = (int (*)(uint64_t *, size_t))below_called(CALLED_cuMemAlloc_v2);
    state.free = (int (*)(uint64_t))below_called(CALLED_cuMemFree_v2);
    state.stream_create = (int (*)(void **, unsigned))below_called(CALLED_cuStreamCreate);
    state.stream_destroy = (int (*)(void *))below_called(CALLED_cuStreamDestroy_v2);
    state.stream_wait = (int (*)(void *))below_called(CALLED_cuStreamSynchronize);
    state.stream_id = (int (*)(void *, unsigned long long *))below_called(CALLED_cuStreamGetId);
    state.stream_id_thread = (int (*)(void *, unsigned long long *))below_called(CALLED_cuStreamGetId_ptsz);
    state.set = (int (*)(uint64_t, unsigned, size_t, void *))below_called(CALLED_cuMemsetD32Async);
    state.copy = (int (*)(const struct rows *, void *))below_called(CALLED_cuMemcpy2DAsync_v2);
    state.usable = state.current && state.push && state.pop && state.capture_mode && state.device && state.ask &&
                   state.allocate && state.free && state.stream_create && state.stream_destroy && state.stream_wait &&
                   state.stream_id && state.set && state.copy;
}

bool tables_usable(void)
{
    pthread_once(&state.once, find_calls);
    return state.usable;
}

/* ---- limits ---- */

/* Limits of the sheet, or all or nothing of a part. */
static void fill_limits(struct crew *crew, uint32_t sms)
{
    struct board_sheet *sheet = board_sms_is_listed(sms) ? govern_sheet() : NULL;
    uint32_t first, end, last = (uint32_t)crew->sms - 1;
    if (sheet) { /* numbers of SMs may have gaps: those beyond are as the last one */
        for (uint32_t i = 0; i < BOARD_PLACES; i++)
            crew->limits[i] = worker_limit(atomic_load(&sheet->limits[i < last ? i : last]), 0);
        return;
    }
    if (board_sms_is_listed(sms)) /* of a corund that is gone */
        sms = board_sms(0, BOARD_SMS);
    board_sms_range(sms, (uint32_t)crew->sms, &first, &end);
    if (sms >> 16 >= BOARD_SMS)
        end = BOARD_PLACES;
    for (uint32_t i = 0; i < BOARD_PLACES; i++)
        crew->limits[i] = i >= first && i < end ? worker_limit(WORKERS_UNLIMITED, 0) : 0;
}

/* Under the lock, in the crew's context. The rows are read when the copy is made: later ones may come in their place. */
static bool write_limits(struct crew *crew, uint64_t table, uint32_t sms)
{
    uint16_t before[BOARD_PLACES];
    memcpy(before, crew->limits, sizeof before);
    fill_limits(crew, sms);
    for (uint32_t i = 0; i < BOARD_PLACES; i++)
        crew->rose |= crew->limits[i] > before[i];
    const struct rows rows = {.from_kind = ON_HOST,
                              .from_host = crew->limits,
                              .from_pitch = sizeof *crew->limits,
                              .to_kind = ON_DEVICE,
                              .to_device = table + offsetof(struct worker_place, limit),
                              .to_pitch = sizeof(struct worker_place),
                              .width = sizeof *crew->limits,
                              .height = BOARD_PLACES};
    return state.copy(&rows, crew->writer) == BELOW_OK;
}

/* Under the lock, in its context, whatever other threads capture. */
static void rewrite_limits(struct crew *crew, uint32_t sms)
{
    int mode = CAPTURE_RELAXED;
    if (state.capture_mode(&mode) != BELOW_OK)
        return;
    if (write_limits(crew, crew->places, sms))
        atomic_store(&crew->written, sms);
    (void)state.capture_mode(&mode);
}

/* The same from any context: the stream of a launch may be of another one than the current one. */
static void rewrite_from_outside(struct crew *crew, uint32_t sms)
{
    if (state.push(crew->context) != BELOW_OK)
        return;
    rewrite_limits(crew, sms);
    (void)state.pop(&(void *){NULL});
}

/* Under the lock: what corund says by now. Who has waited for the lock writes nothing that is older than what is written. */
static uint32_t newest(uint32_t sms)
{
    uint32_t now = govern_sms();
    return now ? now : sms;
}

void tables_rewrite(struct crew *crew, uint32_t sms)
{
    if (atomic_load(&crew->written) == sms)
        return;
    pthread_mutex_lock(&state.lock);
    sms = newest(sms);
    if (atomic_load(&crew->written) != sms)
        rewrite_from_outside(crew, sms);
    pthread_mutex_unlock(&state.lock);
}

/* ---- looks ---- */

/* Both tables, in one copy: under the lock, in the crew's context. */
static bool copy_tables(struct crew *crew)
{
    const struct rows rows = {.from_kind = ON_DEVICE,
                              .from_device = crew->all,
                              .from_pitch = crew->places - crew->all,
                              .to_kind = ON_HOST,
                              .to_host = crew->looked,
                              .to_pitch = sizeof *crew->looked,
                              .width = crew->sms * sizeof **crew->looked,
                              .height = 2};
    int mode = CAPTURE_RELAXED;
    if (state.capture_mode(&mode) != BELOW_OK)
        return false;
    bool good = state.copy(&rows, crew->writer) == BELOW_OK && state.stream_wait(crew->writer) == BELOW_OK;
    (void)state.capture_mode(&mode);
    return good;
}

/* Thread blocks that nobody limits count as progress alone: no part of an SM is theirs. */
static void tell_counts(struct crew *crew, struct board_sheet *sheet)
{
    uint64_t sum = 0;
    for (uint32_t table = 0; table < 2; table++)
        for (uint32_t s = 0; s < crew->sms; s++) {
            uint32_t more = crew->looked[table][s].done - crew->done[table][s];
            crew->done[table][s] += more;
            sum += more;
            if (table)
                atomic_fetch_add(&sheet->places[s].done, more);
        }
    atomic_fetch_add(&sheet->done, sum);
}

/* Under the lock: what contexts have together. */
static void tell_residents(struct board_sheet *sheet, uint32_t sms)
{
    for (uint32_t s = 0; s < sms; s++) {
        uint32_t resident = 0;
        for (const struct crew *crew = state.crews; crew; crew = crew->next)
            resident += crew->looked[1][s].resident;
        atomic_store(&sheet->places[s].resident, resident);
    }
}

/*
 * Under the lock. What corund has not told yet when a look begins is not obeyed in it. Where nobody limits single SMs it is only told that there are tables: the driver is
 * not asked, who would tell of faults sooner than the program expects.
 */
static void look(struct board_sheet *sheet, uint32_t written)
{
    const struct crew *first = state.crews;
    uint32_t sms = first ? (uint32_t)first->sms : 0;
    bool counts = board_sms_is_listed(written), good = counts && first;
    for (struct crew *crew = state.crews; crew && counts; crew = crew->next) {
        good &= !crew->leaves;
        if (crew->leaves || state.push(crew->context) != BELOW_OK)
            continue;
        bool copied = atomic_load(&crew->written) == written && copy_tables(crew);
        good &= copied;
        if (copied)
            tell_counts(crew, sheet);
        (void)state.pop(&(void *){NULL});
    }
    tell_residents(sheet, sms);
    if (good)
        atomic_store(&sheet->obeyed, written);
    atomic_store(&sheet->threads_per_sm, first ? first->threads_per_sm : 0);
    atomic_store(&sheet->most_tbs, first ? first->most_tbs : 0);
    atomic_store(&sheet->sms, sms);
    atomic_store(&sheet->looked_ns, govern_now());
}

/*
 * Under the lock, in the crew's context. Launches that are under way get further workers when a limit has risen or one has no others, and again after longer and longer times
 * where there is room left: others may have been in the places, or SMs that are not the program's have had more room.
 */
static void grow(struct crew *crew, enum growth_state under_way)
{
    bool rose = crew->rose, lacks = under_way == GROWTH_LACKS;
    uint64_t time = govern_now();
    int mode = CAPTURE_RELAXED;
    crew->rose = false;
    if (rose || (lacks && !crew->wait_ns)) {
        crew->due_ns = time;
        crew->wait_ns = GROWS_NS;
    }
    if (!crew->wait_ns || time < crew->due_ns)
        return;
    crew->due_ns = time + crew->wait_ns;
    crew->wait_ns = crew->wait_ns < GROWN_NS ? 2 * crew->wait_ns : lacks ? GROWN_NS : 0;
    if (under_way < GROWTH_RUNS || state.capture_mode(&mode) != BELOW_OK)
        return;
    bool known = rose ? state.stream_wait(crew->writer) == BELOW_OK : copy_tables(crew);
    if (known)
        growth_send(crew->growth, crew->limits, rose ? NULL : crew->looked[1], (uint32_t)crew->sms);
    (void)state.capture_mode(&mode);
}

/* Whether a look would show what corund does not know. */
static bool is_to_look(bool *moved)
{
    bool busy = govern_is_busy(), was = *moved;
    *moved = busy;
    return busy || was;
}

/* Under the lock: the tables, and launches under way, as corund says. Whether they are to be looked at again soon. */
static bool bring_up(struct crew *crew, uint32_t wanted)
{
    enum growth_state under_way = crew->growth && !crew->leaves ? growth_look(crew->growth) : GROWTH_RESTS;
    bool grows = crew->rose || crew->wait_ns || under_way == GROWTH_LACKS;
    if (crew->leaves || (atomic_load(&crew->written) == wanted && !grows) || state.push(crew->context) != BELOW_OK)
        return under_way != GROWTH_RESTS;
    if (atomic_load(&crew->written) != wanted)
        rewrite_limits(crew, wanted);
    if (crew->growth)
        grow(crew, under_way);
    crew->rose = false;
    (void)state.pop(&(void *){NULL});
    return crew->wait_ns || under_way != GROWTH_RESTS;
}

/* Whatever corund says, until the process ends. */
static void *watch(void *user)
{
    uint32_t sms = 0;
    bool moved = true, grows = false;
    (void)user;
    for (;;) {
        bool listed = board_sms_is_listed(sms) || sms == board_sms(0, BOARD_SMS), soon = (listed && moved) || grows;
        atomic_store(&state.rests, !soon);
        sms = govern_sms_after(sms, soon ? LOOK_NS : REST_NS);
        pthread_mutex_lock(&state.lock);
        sms = sms ? newest(sms) : sms;
        uint32_t wanted = sms ? sms : board_sms(0, BOARD_SMS);
        grows = false;
        for (struct crew *crew = state.crews; crew; crew = crew->next)
            grows |= bring_up(crew, wanted);
        struct board_sheet *sheet = govern_sheet();
        if (sheet && is_to_look(&moved))
            look(sheet, wanted);
        else if (sheet)
            atomic_store(&sheet->looked_ns, govern_now());
        pthread_mutex_unlock(&state.lock);
    }
    return NULL;
}

static bool start_watching(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (state.watched)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* signals are the program's */
    state.watched = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (state.watched)
        pthread_detach(thread);
    return state.watched;
}

/* ---- contexts and streams ---- */

/* Under the lock, in its context. */
static bool describe_device(struct crew *crew)
{
    int device = 0, count = 0, threads = 0, tbs = 0;
    if (state.device(&device) != BELOW_OK || state.ask(&count, MULTIPROCESSORS, device) != BELOW_OK || count <= 0 ||
        count > (int)BOARD_PLACES || state.ask(&threads, THREADS_PER_SM, device) != BELOW_OK || threads <= 0)
        return false;
    if (state.ask(&tbs, TBS_PER_SM, device) != BELOW_OK || tbs <= 0)
        tbs = threads / 32; /* a driver of before CUDA 11: no SM holds more */
    crew->sms = (uint64_t)count;
    crew->threads_per_sm = (uint32_t)threads;
    crew->most_tbs = (uint32_t)tbs;
    return true;
}

/* Under the lock, in its context. What there is after a failure is given back. */
static bool fill(struct crew *crew, uint32_t sms)
{
    const size_t table = BOARD_PLACES * sizeof(struct worker_place), all = 2 * table + GROWTH_BYTES;
    uint64_t memory = 0;
    if (!describe_device(crew) || state.stream_create(&crew->writer, NON_BLOCKING) != BELOW_OK)
        return false;
    if (state.allocate(&memory, all) != BELOW_OK) {
        (void)state.stream_destroy(crew->writer);
        return false;
    }
    crew->all = memory;
    crew->places = memory + table;
    crew->pairs = memory + 2 * table;
    /* the rows that are copied first are others by the time that they are copied, unless that is waited for */
    if (state.set(memory, 0, all / sizeof(uint32_t), crew->writer) == BELOW_OK &&
        write_limits(crew, crew->all, board_sms(0, BOARD_SMS)) && state.stream_wait(crew->writer) == BELOW_OK &&
        write_limits(crew, crew->places, sms) && state.stream_wait(crew->writer) == BELOW_OK)
        return true;
    (void)state.stream_destroy(crew->writer);
    (void)state.free(memory);
    return false;
}

/* Under the lock: one for a context that has none. NULL when out of memory. */
static struct crew *make_crew(void)
{
    struct crew *crew = state.spare;
    if (!crew)
        return calloc(1, sizeof *crew);
    state.spare = crew->next;
    struct growth *growth = crew->growth;
    struct queue *queues = crew->queues;
    memset(crew, 0, sizeof *crew);
    crew->growth = growth;
    crew->queues = queues;
    return crew;
}

/* Under the lock. */
static void put_aside(struct crew *crew)
{
    crew->next = state.spare;
    state.spare = crew;
}

/* Under the lock: that of the context; NULL: there can be none. */
static struct crew *crew_of(void *context, uint32_t sms)
{
    int mode = CAPTURE_RELAXED;
    struct crew *crew = state.crews;
    while (crew && crew->context != context)
        crew = crew->next;
    if (crew)
        return crew;
    if (!start_watching() || !(crew = make_crew()))
        return NULL;
    bool good = state.push(context) == BELOW_OK;
    if (good) {
        bool relaxed = state.capture_mode(&mode) == BELOW_OK;
        good = relaxed && fill(crew, sms);
        crew->growth = good ? growth_create(crew->growth, crew->pairs) : crew->growth;
        if (relaxed)
            (void)state.capture_mode(&mode);
        (void)state.pop(&(void *){NULL});
    }
    if (!good) {
        put_aside(crew);
        return NULL;
    }
    crew->context = context;
    atomic_store(&crew->written, sms);
    crew->rose = false; /* for nobody */
    crew->next = state.crews;
    state.crews = crew;
    return crew;
}

void tables_context_leaves(const void *context)
{
    pthread_mutex_lock(&state.lock);
    for (struct crew *crew = state.crews; crew; crew = crew->next)
        crew->leaves |= !context || crew->context == context;
    pthread_mutex_unlock(&state.lock);
}

void tables_context_left(const void *context, bool gone)
{
    pthread_mutex_lock(&state.lock);
    for (struct crew **at = &state.crews; *at;) {
        struct crew *crew = *at;
        bool meant = !context || crew->context == context;
        crew->leaves &= !meant;
        if (meant && gone) {
            *at = crew->next;
            atomic_fetch_add(&state.changes, 1);
            put_aside(crew);
        } else {
            at = &crew->next;
        }
    }
    pthread_mutex_unlock(&state.lock);
}

struct crew *tables_take(void *context, uint32_t sms)
{
    static _Thread_local struct {
        void *context;
        struct crew *crew;
        uint32_t changes;
    } before;
    uint32_t changes = atomic_load(&state.changes);
    if (before.crew && before.context == context && before.changes == changes &&
        atomic_load(&before.crew->written) == sms)
        return before.crew;
    pthread_mutex_lock(&state.lock);
    sms = newest(sms);
    struct crew *crew = crew_of(context, sms);
    if (crew && atomic_load(&crew->written) != sms)
        rewrite_from_outside(crew, sms);
    pthread_mutex_unlock(&state.lock);
    before.context = context;
    before.crew = crew;
    before.changes = changes;
    return crew;
}

/* Under the lock: memory for queues of streams. */
static bool make_queues(struct crew *crew)
{
    const size_t each = QUEUE_LAUNCHES * sizeof(struct worker_queue), all = TABLES_STREAMS * each;
    uint64_t memory = 0;
    int mode = CAPTURE_RELAXED;
    struct queue *queues = crew->queues ? crew->queues : calloc(TABLES_STREAMS, sizeof *queues);
    crew->queues = queues;
    if (!queues || state.push(crew->context) != BELOW_OK)
        return false;
    if (state.capture_mode(&mode) != BELOW_OK) {
        (void)state.pop(&(void *){NULL});
        return false;
    }
    bool good = state.allocate(&memory, all) == BELOW_OK &&
                state.set(memory, 0, all / sizeof(uint32_t), crew->writer) == BELOW_OK &&
                state.stream_wait(crew->writer) == BELOW_OK;
    (void)state.capture_mode(&mode);
    (void)state.pop(&(void *){NULL});
    for (uint32_t i = 0; i < TABLES_STREAMS && good; i++)
        queues[i] = (struct queue){.address = memory + i * each};
    crew->has_queues = good;
    return good;
}

/* Under the lock. NULL: all are taken. */
static struct queue *queue_of(struct crew *crew, uint64_t stream)
{
    for (uint32_t i = 0; i < TABLES_STREAMS; i++) {
        struct queue *queue = &crew->queues[(stream + i) % TABLES_STREAMS];
        if (queue->taken && queue->stream != stream)
            continue;
        if (!queue->taken)
            pthread_mutex_init(&queue->lock, NULL);
        queue->taken = true;
        queue->stream = stream;
        return queue;
    }
    return NULL;
}

struct queue *tables_queue(struct crew *crew, void *stream, bool per_thread)
{
    unsigned long long number;
    int (*identify)(void *, unsigned long long *) = per_thread ? state.stream_id_thread : state.stream_id;
    if (!identify || identify(stream, &number) != BELOW_OK)
        return NULL;
    pthread_mutex_lock(&state.lock);
    struct queue *queue = crew->has_queues || make_queues(crew) ? queue_of(crew, number) : NULL;
    pthread_mutex_unlock(&state.lock);
    return queue;
}

void tables_forget_kernels(void)
{
    pthread_mutex_lock(&state.lock);
    for (struct crew *crew = state.crews; crew; crew = crew->next)
        if (crew->growth)
            growth_forget(crew->growth);
    pthread_mutex_unlock(&state.lock);
}

void tables_forked(void)
{
    (void)pthread_mutex_init(&state.lock, NULL);
    state.crews = NULL;
    atomic_fetch_add(&state.changes, 1);
}

void tables_launched(void)
{
    if (atomic_load(&state.rests) && atomic_exchange(&state.rests, false))
        govern_wake();
}
