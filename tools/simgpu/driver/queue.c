/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

#include <errno.h>

#include "driver/describe.h"
#include "driver/error.h"

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

/* Into the model, and then the stream. */
static int submit(struct op *op, struct stream *stream)
{
	struct exec *exec = op->exec;
	struct model_op_desc desc;
	int err;

	describe_op(op, &desc);
	segment_lock(exec->segment);
	err = model_submit(exec->model, sim_now_ns(), stream->model, &desc, &op->model);
	exec->dirty = true;
	segment_unlock(exec->segment);
	if (err == 0)
		append(op, stream, describe_least_ns(&exec->desc, &desc));
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

/* Makes the legacy stream wait for the blocking streams of a list. */
static int join_list(struct stream *legacy, struct stream *list)
{
	int err = 0;

	for (struct stream *other = list; other != NULL && err == 0; other = other->next) {
		if (other->is_legacy || other->is_internal || other->last == NULL ||
		    (other->flags & CU_STREAM_NON_BLOCKING) ||
		    other->last->seq <= other->legacy_seen_seq)
			continue;
		err = add_wait(legacy, other->last);
		if (err == 0)
			other->legacy_seen_seq = other->last->seq;
	}
	return err;
}

/* The legacy stream waits for all blocking streams of its context, and they for it. */
static int join_default_stream(struct stream *stream)
{
	struct home *home = stream->home;
	struct stream *legacy = home->context != NULL ? home->context->legacy : NULL;
	int err;

	if ((stream->flags & CU_STREAM_NON_BLOCKING) || legacy == NULL || stream->is_internal)
		return 0;
	if (stream->is_legacy) {
		err = join_list(stream, home->streams);
		return err != 0 ? err : join_list(stream, home->leaving);
	}
	if (legacy->last == NULL || legacy->last->seq <= stream->joined_seq)
		return 0;
	err = add_wait(stream, legacy->last);
	if (err == 0)
		stream->joined_seq = legacy->last->seq;
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
