/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/queue.h"

#include <stdlib.h>
#include <string.h>

struct op *op_new(struct exec *exec, struct work *work)
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
