/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_NVML_H
#define DAEMON_NVML_H

/*
 * What the driver itself says about real GPUs, where libnvidia-ml.so.1 is there: their memory,
 * and which processes use them. Answers are kept for a second, since the library takes
 * milliseconds. All functions take NULL for "not there". GPUs are named by UUID.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sluice/wire.h"

#define NVML_MAX_PROCESSES 256

struct nvml;

struct nvml_process {
	pid_t pid;
	uint64_t memory_bytes; /* 0: not known */
};

struct nvml *nvml_open(void);
/* The same with the library's entries looked up by the caller. */
typedef void *(*nvml_find_function)(const char *name);
struct nvml *nvml_open_by(nvml_find_function find);
void nvml_close(struct nvml *nvml);

/* Puts the driver's own memory size into the record, if it knows the GPU. */
void nvml_correct(struct nvml *nvml, struct sluice_msg_device *record);
bool nvml_knows(struct nvml *nvml, const uint8_t *uuid);
/* Processes on the GPU now, at most NVML_MAX_PROCESSES; -ENODEV: not known. An answer that was kept
 * counts only if it is of `since_ns` or later. */
int nvml_processes(struct nvml *nvml, const uint8_t *uuid, uint64_t since_ns, uint64_t now_ns,
		   const struct nvml_process **ret_processes, uint32_t *ret_count);

#endif
