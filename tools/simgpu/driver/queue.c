/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "driver/cost.h"
#include "driver/error.h"

static struct op *op_new(struct exec *exec, struct work *work)
{
	struct op *op = exec->free_ops;

	if (op != NULL)
		exec->free_ops = op->link;
	else
		op = malloc(sizeof(*op));
	if (op == NULL) {
		work_finish(work);
		return NULL;
	}
	memset(op, 0, sizeof(*op));
	op->work = *work;
	work->kind = WORK_NONE;
	op->exec = exec;
	op->refs = 1;
	if (op->work.kind == WORK_KERNEL) {
		op->uses_module = true;
		atomic_fetch_add_explicit(&op->work.kernel.function->module->uses, 1,
					  memory_order_relaxed);
	}
	return op;
}

struct op *op_ref(struct op *op)
{
	op->refs++;
	return op;
}

void op_leave_module(struct op *op)
{
	if (!op->uses_module)
		return;
	op->uses_module = false;
	/* Pairs with the load in the module's unload: our reads of its code are over. */
	atomic_fetch_sub_explicit(&op->work.kernel.function->module->uses, 1, memory_order_release);
}

void op_drop_work(struct op *op)
{
	op_leave_module(op);
	if (op->work.kind == WORK_WAIT)
		op_put(op->work.wait.op);
	work_finish(&op->work);
}

void op_put(struct op *op)
{
	struct exec *exec;

	if (op == NULL || --op->refs > 0)
		return;
	exec = op->exec;
	op_drop_work(op);
	op_put(op->behind);
	if (op->home != NULL)
		home_put(op->home);
	if (op->stream != NULL)
		stream_put(op->stream);
	op->link = exec->free_ops;
	exec->free_ops = op;
}

void home_put(struct home *home)
{
	struct home **at;

	if (--home->refs > 0)
		return;
	for (at = &home->exec->homes; *at != NULL; at = &(*at)->next)
		if (*at == home) {
			*at = home->next;
			break;
		}
	free(home);
}

CUresult home_error(struct home *home)
{
	CUresult sticky = atomic_load_explicit(&home->sticky, memory_order_relaxed);

	return sticky != CUDA_SUCCESS ? sticky : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static uint64_t transfer_ns(uint64_t bytes, uint64_t bytes_per_us)
{
	return bytes_per_us ? (uint64_t)((unsigned __int128)bytes * 1000 / bytes_per_us) : 0;
}

static bool is_on_device(enum sim_memory_kind kind)
{
	return kind != SIM_PINNED && kind != SIM_REGISTERED && kind != SIM_PAGEABLE;
}

static void describe_copy(const struct model_desc *device, const struct work_copy *copy,
			  struct model_op_desc *desc)
{
	uint64_t bytes = work_copy_bytes(copy);
	bool from = is_on_device(copy->src.kind), to = is_on_device(copy->dst.kind);
	bool pageable = copy->src.kind == SIM_PAGEABLE || copy->dst.kind == SIM_PAGEABLE;

	desc->functional = 1;
	if (from && to) {
		desc->kind = MODEL_COPY_D2D;
		/* Each byte is read and written. */
		desc->duration_ns = transfer_ns(2 * bytes, device->memory_bytes_per_us);
	} else if (!from && !to) {
		desc->kind = MODEL_HOST; /* the host copies; the device has no part in it */
		return;
	} else {
		desc->kind = to ? MODEL_COPY_H2D : MODEL_COPY_D2H;
		desc->duration_ns = transfer_ns(bytes, pageable ? device->pageable_bytes_per_us
								: device->pinned_bytes_per_us);
	}
	desc->duration_ns += device->copy_latency_ns;
}

static void describe(struct op *op, struct model_op_desc *desc)
{
	const struct model_desc *device = &op->exec->desc;

	memset(desc, 0, sizeof(*desc));
	desc->cookie = (uintptr_t)op;
	switch (op->work.kind) {
	case WORK_KERNEL:
		desc->kind = MODEL_KERNEL;
		desc->functional = 1;
		cost_describe(op, desc);
		break;
	case WORK_COPY: describe_copy(device, &op->work.copy, desc); break;
	case WORK_SET:
		desc->kind = MODEL_COPY_D2D;
		desc->functional = 1;
		desc->duration_ns =
			transfer_ns(op->work.set.width * op->work.set.height * op->work.set.element,
				    device->memory_bytes_per_us) +
			device->copy_latency_ns;
		break;
	case WORK_HOST:
	case WORK_POLL:
		desc->kind = MODEL_HOST;
		desc->functional = 1;
		break;
	case WORK_WAIT:
		desc->kind = MODEL_WAIT_OP;
		desc->wait_op = op->work.wait.op->model;
		break;
	default: desc->kind = MODEL_MARK; break;
	}
	if (op->is_early && desc->kind != MODEL_HOST)
		desc->functional = 0;
}

static bool is_timely(enum work_kind kind)
{
	return kind == WORK_WRITE || kind == WORK_HOST || kind == WORK_POLL || kind == WORK_CALL;
}

/* The operation is in the model: into the stream's list, and after what it must be computed. */
static void append(struct op *op, struct stream *stream, uint64_t least_ns)
{
	struct exec *exec = op->exec;
	struct op *prev = stream->last;

	op->seq = ++exec->seq;
	op->stream = stream;
	stream->refs++;
	op->home = stream->home;
	op->home->refs++;
	op->is_timely = is_timely(op->work.kind);
	exec->timely += op->is_timely;
	if (op->is_timely)
		keeper_be_exact(exec);
	op->least_ns = stream->least_ns += least_ns;
	if (prev != NULL && !atomic_load_explicit(&prev->complete, memory_order_relaxed)) {
		prev->next = op;
	} else {
		stream->oldest = op;
		op->at_head = true;
	}
	compute_link(op);
	op_put(prev);
	stream->last = op_ref(op);
	compute_begin(op);
}

static uint64_t least_duration_ns(const struct exec *exec, const struct model_op_desc *desc)
{
	uint64_t at_once;

	if (desc->kind != MODEL_KERNEL)
		return desc->duration_ns == MODEL_UNKNOWN ? 0 : desc->duration_ns;
	if (desc->block_ns == MODEL_UNKNOWN)
		return 0;
	at_once = (uint64_t)desc->blocks_per_sm * desc->max_sms;
	return (desc->blocks + at_once - 1) / at_once * desc->block_ns;
}

/* Into the model, and then the stream. */
static int submit(struct op *op, struct stream *stream)
{
	struct exec *exec = op->exec;
	struct model_op_desc desc;
	int err;

	describe(op, &desc);
	segment_lock(exec->segment);
	err = model_submit(exec->model, sim_now_ns(), stream->model, &desc, &op->model);
	exec->dirty = true;
	segment_unlock(exec->segment);
	if (err == 0)
		append(op, stream, least_duration_ns(exec, &desc));
	return err;
}

/* Waits for room in the model: for the stream's oldest operation, or just a while. */
static CUresult wait_for_room(struct stream *stream)
{
	struct op *oldest;
	CUresult result = CUDA_SUCCESS;

	keeper_collect(stream->exec);
	oldest = stream->oldest;
	if (oldest == NULL) {
		keeper_breathe(stream->exec);
		return CUDA_SUCCESS;
	}
	op_ref(oldest);
	result = keeper_wait(oldest);
	op_put(oldest);
	return result;
}

static int add_wait(struct stream *stream, struct op *target)
{
	struct work work = {.kind = WORK_WAIT};
	struct op *op;
	int err;

	if (target == NULL || target->stream == stream ||
	    atomic_load_explicit(&target->complete, memory_order_relaxed))
		return 0;
	work.wait.op = op_ref(target);
	op = op_new(stream->exec, &work);
	if (op == NULL) {
		op_put(target);
		return -ENOMEM;
	}
	err = submit(op, stream);
	if (err != 0)
		op_put(op);
	return err;
}

/* The legacy stream waits for all blocking streams of its context, and they for it. */
static int join_default_stream(struct stream *stream)
{
	struct home *home = stream->home;
	struct stream *legacy = home->context != NULL ? home->context->legacy : NULL;
	int err = 0;

	if ((stream->flags & CU_STREAM_NON_BLOCKING) || legacy == NULL || stream->is_internal)
		return 0;
	if (!stream->is_legacy) {
		if (legacy->last == NULL || legacy->last->seq <= stream->joined_seq)
			return 0;
		err = add_wait(stream, legacy->last);
		if (err == 0)
			stream->joined_seq = legacy->last->seq;
		return err;
	}
	for (struct stream *other = home->streams; other != NULL && err == 0; other = other->next) {
		if (other->is_legacy || other->is_internal || other->last == NULL ||
		    (other->flags & CU_STREAM_NON_BLOCKING) ||
		    other->last->seq <= other->legacy_seen_seq)
			continue;
		err = add_wait(stream, other->last);
		if (err == 0)
			other->legacy_seen_seq = other->last->seq;
	}
	return err;
}

/* A small copy that waits for nothing is made before its time begins, since its time is short. */
static void run_early(struct op *op, const struct stream *stream)
{
	const struct op *last = stream->last;

	if (!op->is_early && (last == NULL || (last->computed && !last->is_poisoned)) &&
	    stream->last_write == NULL && compute_is_small(&op->work)) {
		work_run_block(&op->work, 0);
		op->is_early = true;
	}
}

static CUresult add_op(struct stream *stream, struct op *op)
{
	CUresult result;
	int err;

	for (;;) {
		if (atomic_load_explicit(&stream->home->stop, memory_order_relaxed))
			return home_error(stream->home);
		err = join_default_stream(stream);
		if (err == 0) {
			run_early(op, stream);
			err = submit(op, stream);
		}
		if (err == 0)
			return CUDA_SUCCESS;
		if (err != -EAGAIN)
			return error_from_errno(err);
		result = wait_for_room(stream);
		if (result != CUDA_SUCCESS)
			return result;
	}
}

CUresult queue_add(struct stream *stream, struct work *work, struct op **ret_op)
{
	struct op *op = op_new(stream->exec, work);
	CUresult result;

	if (op == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stream->refs++;
	op_ref(op);
	result = add_op(stream, op);
	if (result == CUDA_SUCCESS && ret_op != NULL)
		*ret_op = op_ref(op);
	if (result != CUDA_SUCCESS)
		op_put(op); /* the one that completion would drop */
	else if (op->work.kind == WORK_KERNEL && op->ready && !op->computed)
		worker_help(op);
	op_put(op);
	stream_put(stream);
	return result;
}

CUresult queue_add_wait(struct stream *stream, struct op *op)
{
	CUresult result = CUDA_SUCCESS;
	int err;

	if (op == NULL)
		return CUDA_SUCCESS;
	op_ref(op);
	while ((err = join_default_stream(stream)) == -EAGAIN ||
	       (err == 0 && (err = add_wait(stream, op)) == -EAGAIN)) {
		result = wait_for_room(stream);
		if (result != CUDA_SUCCESS)
			break;
	}
	op_put(op);
	return result != CUDA_SUCCESS || err == 0 ? result : error_from_errno(err);
}
