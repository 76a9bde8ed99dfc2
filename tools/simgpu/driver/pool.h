/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_POOL_H
#define SIMGPU_POOL_H

/*
 * Memory pools of stream-ordered allocation. A freed block waits until its stream has come to the
 * free; an allocation of the same size in that stream takes it at once, others when it is idle.
 * Idle blocks stay charged to the device up to the pool's release threshold. Lock order: a pool's
 * lock, then the memory lock.
 */

#include "driver/memory.h"

/* A block of a pool: frees it (its stream is drained), *ret_result is the answer. False: none. */
bool pool_free_now(uint64_t address, CUresult *ret_result);
/* The pool of a range, by its node (memory lock held); NULL: none. */
CUmemoryPool pool_of(const struct memory_node *node);
/* Frees what a context allocated. Its work is drained. */
void pool_drop_context(struct sim_context *context);

/* ---- between pool.c and pool_stream.c ---- */

enum pool_block_state { POOL_UNUSED, POOL_LIVE, POOL_PENDING, POOL_IDLE };

/* Never given back to the host: a late answer of a stream may still name it. */
struct pool_block {
	enum pool_block_state state;
	uint64_t bytes;	     /* charged */
	uint64_t generation; /* of the latest free: earlier ones that come in late are void */
	struct memory_node *node;
	struct stream *stream; /* PENDING: whose free it waits for */
	struct sim_context *context;
	struct sim_pool *pool;
	struct pool_block *prev, *next;
};

struct sim_pool {
	uint32_t magic;
	bool destroyed; /* no new allocations; ends with the last block */
	struct sim_device *device;
	pthread_mutex_t lock;
	struct pool_block *live;   /* LIVE */
	struct pool_block *spare;  /* PENDING and IDLE */
	struct pool_block *unused; /* UNUSED */
	int reuse[3];		   /* CU_MEMPOOL_ATTR_REUSE_*: kept and answered */
	uint64_t threshold, max_bytes;
	uint64_t reserved, reserved_high, used, used_high;
	struct sim_pool *next;
};

/* CUDA_ERROR_NOT_INITIALIZED; CUDA_ERROR_INVALID_VALUE: none, or destroyed. */
CUresult pool_get(CUmemoryPool handle, struct sim_pool **ret_pool);
struct sim_pool *pool_default(struct sim_device *device);
struct sim_pool *pool_current(struct sim_device *device);

/* With the pool's lock. */
struct pool_block *pool_block_new(struct sim_pool *pool);
void pool_block_put(struct pool_block *block); /* one that holds nothing */
void pool_block_release(struct pool_block *block);
void pool_block_set_live(struct pool_block *block);			      /* a spare one */
void pool_block_set_pending(struct pool_block *block, struct stream *stream); /* a live one */
/* LIVE or PENDING to IDLE, or released where the pool holds more than its threshold. */
void pool_block_retire(struct pool_block *block);
void pool_count_used(struct sim_pool *pool, uint64_t more);
/* Releases idle blocks until no more than that many bytes are reserved. */
void pool_trim(struct sim_pool *pool, uint64_t keep_bytes);

#endif
