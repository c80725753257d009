/* SPDX-License-Identifier: MIT */
/* What the process has of corun: its CUDA on a simulated GPU, or the shim in front of a driver. Nothing is loaded for that. */
#ifndef CORUN_CLIENT_FIND_H
#define CORUN_CLIENT_FIND_H

/* A function of the shim, NULL: it has none such, or of corun's CUDA by its name there; NULL: the process has neither. Both stay as long as others have them. */
void *client_find(const char *of_shim, const char *of_cuda);

#endif
