/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHIM_MEM_H
#define SHIM_MEM_H

/*
 * Charging of device memory: taken from the quota before the driver call, given back after a call
 * that failed or, exactly once, after the free. A charge is booked under the address or handle
 * that the driver made; what is not in the books goes straight to the driver.
 *
 *   mem_charge before the driver's call; then mem_book when it succeeded, mem_refund when not.
 *   mem_unbook before the driver's free, while the address cannot come again; then mem_settle.
 *
 * Not charged: code and globals of modules, contexts' own memory, memory that graphs allocate,
 * pinned host memory, and what another process exported (its exporter pays).
 *
 * Between shim_enter and shim_leave. Any thread. Amounts in bytes, rounded up to escrow units.
 */

#include <stdint.h>

#include "shim.h"

enum mem_kind {
	MEM_CONTEXT, /* freed with its context, when the program does not */
	MEM_POOL,    /* outlives contexts; freed with the device's primary context */
	MEM_ARRAY,   /* as MEM_CONTEXT, booked under an array's handle */
};

/* Where an allocation goes. */
struct mem_place {
	struct shim_device *device; /* NULL: not managed, nothing is charged */
	uint32_t context;	    /* mem_context.h; 0: none */
};

struct mem_charge {
	struct shim_device *device;
	uint32_t units;
	uint32_t context;
	enum mem_kind kind;
};

/* Of the calling thread's current context. */
struct mem_place mem_place_current(void);

/* CUDA_SUCCESS or CUDA_ERROR_OUT_OF_MEMORY. */
CUresult mem_charge(struct mem_charge *charge, enum mem_kind kind, struct mem_place place,
		    uint64_t bytes);

/* Makes the charge fit what the driver really took. */
CUresult mem_recharge(struct mem_charge *charge, uint64_t bytes);

/* Gives back a charge that is not booked. */
void mem_refund(struct mem_charge *charge);

/* Books the charge under what the driver made. Where there is no room to book, it stays charged
 * until the process ends. */
void mem_book(const struct mem_charge *charge, uint64_t address);

/* Takes the charge out of the books; a charge of 0 units where there is none. */
void mem_unbook(struct mem_charge *charge, enum mem_kind kind, uint64_t address);

/* After the driver's free: gives back, or books again when it failed. */
void mem_settle(struct mem_charge *charge, CUresult result, uint64_t address);

/* The context is gone, and what was allocated in it. */
void mem_context_gone(uint32_t context);

/* The device's primary context is gone: what its contexts of that kind and its pools held. */
void mem_device_gone(uint32_t ordinal);

/* The body of a hook that allocates `bytes` at `place`; `made` is evaluated after success. */
#define MEM_ALLOC_HOOK(kind, place, bytes, call, made) \
	do { \
		struct mem_charge charge; \
		CUresult result; \
\
		if (!shim_enter()) \
			return call; \
		result = mem_charge(&charge, kind, place, bytes); \
		if (result == CUDA_SUCCESS) { \
			result = call; \
			if (result == CUDA_SUCCESS) \
				mem_book(&charge, (uint64_t)(made)); \
			else \
				mem_refund(&charge); \
		} \
		shim_leave(); \
		return result; \
	} while (0)

/* The body of a hook that frees. */
#define MEM_FREE_HOOK(kind, address, call) \
	do { \
		struct mem_charge charge; \
		CUresult result; \
\
		if (!shim_enter()) \
			return call; \
		mem_unbook(&charge, kind, (uint64_t)(address)); \
		result = call; \
		mem_settle(&charge, result, (uint64_t)(address)); \
		shim_leave(); \
		return result; \
	} while (0)

/* In a child of fork: forgets everything, gives nothing back. */
void mem_forked(void);

#endif
