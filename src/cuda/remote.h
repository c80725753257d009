/* SPDX-License-Identifier: MIT */
/*
 * A GPU that corund has, for several programs. Contexts, streams, modules and addresses are this process's own, as ever; the daemon is told
 * what was allocated and loaded, does the same with memory that both have, and runs the launches. docs/daemon.md.
 */
#ifndef CORUN_CUDA_REMOTE_H
#define CORUN_CUDA_REMOTE_H

#include "cuda/machine.h"
#include "stream/machine.h"

struct remote;

/*
 * Joins the daemon whose socket the settings name, and copies the configuration of its GPU. NULL: the list says why. Messages of kernels go to
 * the list as well.
 */
struct remote *remote_join(const char *path, struct corun_diagnostics *list, struct corun_gpu_config *configuration);
/* Whether time there follows the clock of the host. NULL: there is no daemon, and it does not. */
bool remote_paced(const struct remote *remote);
/* Whether the daemon is gone, which has been said then. NULL: there is none, and it is not. */
bool remote_is_lost(const struct remote *remote);
/*
 * Around a fork, for remote NULL as well: the child keeps neither the connection nor what the parent has registered, whose pages become its own as other private ones do; the
 * parent waits for that. What its other threads write there meanwhile may be in them.
 */
void remote_before_fork(struct remote *remote);
void remote_after_fork(struct remote *remote);
void remote_forked(struct remote *remote);

/* The goal of this process, in its order between launches; docs of corun/client.h. */
enum corun_status remote_set_goal(struct remote *remote, enum corun_goal_kind kind, double value);

/*
 * This process wants nothing of the machine until that cycle; UINT64_MAX: until remote_come_back. Time goes on without it meanwhile. Whatever is asked of the machine then
 * comes back first. remote_come_back: waits for that cycle, or hears what time it is.
 */
enum corun_status remote_idle(struct remote *remote, uint64_t until);
bool remote_idles(const struct remote *remote, uint64_t *until);
enum corun_status remote_come_back(struct remote *remote);
/* The machine's clock, as it has told last. */
uint64_t remote_cycle(const struct remote *remote);

/* A run of this process took so many cycles; `again`: the one that was told last has become longer. */
void remote_run(struct remote *remote, uint64_t cycles, bool again);

struct stream_machine remote_machine(struct remote *remote);
bool remote_memory_create(struct remote *remote, struct context *context);
void remote_memory_destroy(struct remote *remote, uint32_t number);
enum corun_status remote_module_load(struct remote *remote, struct context *context, const struct machine_module *from,
                                     struct corun_module *module, struct corun_diagnostics *list,
                                     struct corun_module_instance **instance);

#endif
