/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMGPU_QUEUE_H
#define SIMGPU_QUEUE_H

/*
 * How operations enter the executor, depend on one another, are computed and end. See exec.h for
 * the locks; everything here wants exec->lock unless it says otherwise.
 */

#include "driver/exec.h"
#include "driver/stream.h"

/* ---- queue.c: into a stream, in order ---- */

/* Takes over *work, whatever the result. Waits, without the lock, while the stream is full. With
 * ret_op the caller gets a counted reference. The home's sticky error where there is one. */
CUresult queue_add(struct stream *stream, struct work *work, struct op **ret_op);
/* Nothing where `op` is NULL or over, or earlier in the same stream. */
CUresult queue_add_wait(struct stream *stream, struct op *op);

/* ---- op.c: operations and homes are counted ---- */

/* Takes over *work. NULL: no memory. */
struct op *op_new(struct exec *exec, struct work *work);
struct op *op_ref(struct op *op);
void op_put(struct op *op);	     /* NULL is fine */
void op_leave_module(struct op *op); /* nothing of its kernel is run any more */
void op_drop_work(struct op *op);    /* what its work owns, once it is over */
void home_put(struct home *home);
/* Of a home that has stopped. */
CUresult home_error(struct home *home);

/* ---- compute.c: results ---- */

void compute_link(struct op *op); /* before it becomes the last of its stream: what goes first? */
void compute_begin(struct op *op);
/* Its results are there; duration_ns for the model, where it did not know. Goes on with what
 * waited for it. */
void compute_done(struct op *op, uint64_t duration_ns);
/* A copy or memset that is done faster than handed to another thread. */
bool compute_is_small(const struct work *work);
bool compute_is_dropped(const struct op *op);
/* In stream order, its turn has come. */
void compute_start(struct op *op);
void compute_release(struct op_list *list);
/* A fault that stays, with one line to stderr: what is queued in the context is dropped. */
void compute_fault(struct home *home, CUresult error, const char *text);

/* ---- worker.c: the threads that compute ---- */

void worker_push(struct op *op); /* ready */
int worker_start(struct exec *exec);
/* The thread that queued the operation computes it, where that is better than waking another. Drops
 * the lock meanwhile. */
void worker_help(struct op *op);
/* The calling thread is about to sleep inside a kernel: another one takes its place. */
void worker_block(struct exec *exec);
void worker_unblock(struct exec *exec);
void worker_watch(struct exec *exec, uint64_t now_ns); /* now and then */
/* A thread that takes no signals. 0 or -errno. */
int worker_start_thread(void *(*fn)(void *), void *arg, pthread_t *ret_thread);

/* ---- poll.c: waits for a value ---- */

void poll_add(struct op *op);
void poll_check(struct exec *exec);
uint64_t poll_interval_ns(const struct exec *exec, uint64_t now_ns);

/* ---- run.c: kernels ---- */

void run_kernel_chunk(struct op *op, uint64_t first, uint64_t count, struct ptx_result *result);
CUresult run_fault_error(enum ptx_fault fault);

/* ---- complete.c ---- */

/* Drops the lock for exec_stream_call's functions; exec->collecting is set. */
void complete_ops(struct exec *exec, const struct model_done *done, uint32_t n);

/* ---- keeper.c: simulated time ---- */

int keeper_start(struct exec *exec);
void keeper_collect(struct exec *exec);
/* Until the operation is over, or its context has a sticky error, which is returned. Drops the
 * lock meanwhile; the caller counts `op`. */
CUresult keeper_wait(struct op *op);
/* Before this the operation cannot be over: what is queued before it takes so long. */
uint64_t keeper_earliest_end_ns(const struct op *op);
/* Looks without waiting. */
bool keeper_is_complete(struct op *op);
/* Until something happened, at most about a millisecond: for whoever wants room. */
void keeper_breathe(struct exec *exec);
/* From now on an end can be seen at once: whoever sleeps past ends looks again. */
void keeper_be_exact(struct exec *exec);
/* An operation that threads sleep for is over. */
void keeper_announce(struct exec *exec);

/* ---- host.c ---- */

void host_push(struct op *op); /* to the thread that runs host functions */
bool host_is_inside(void);     /* the calling thread is in a host function */

#endif
