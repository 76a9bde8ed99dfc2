/* SPDX-License-Identifier: Apache-2.0 */
/* Binary heaps of streams: timers of a process, and kernels that want SMs. */

#include "device/model_impl.h"

static bool heap_before(const struct model *model, enum heap_kind kind, uint32_t a, uint32_t b)
{
	const struct stream *left = &model->stream[a], *right = &model->stream[b];

	if (left->key[kind] != right->key[kind])
		return left->key[kind] < right->key[kind];
	return left->head_id < right->head_id;
}

static void heap_place(struct model *model, struct heap *heap, enum heap_kind kind, uint32_t at,
		       uint32_t stream)
{
	heap->item[at] = (uint16_t)stream;
	model->stream[stream].pos[kind] = (uint16_t)at;
}

static void heap_up(struct model *model, struct heap *heap, enum heap_kind kind, uint32_t at,
		    uint32_t stream)
{
	while (at > 0) {
		uint32_t parent = (at - 1) / 2;

		if (!heap_before(model, kind, stream, heap->item[parent]))
			break;
		heap_place(model, heap, kind, at, heap->item[parent]);
		at = parent;
	}
	heap_place(model, heap, kind, at, stream);
}

static void heap_down(struct model *model, struct heap *heap, enum heap_kind kind, uint32_t at,
		      uint32_t stream)
{
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    heap_before(model, kind, heap->item[child + 1], heap->item[child]))
			child++;
		if (!heap_before(model, kind, heap->item[child], stream))
			break;
		heap_place(model, heap, kind, at, heap->item[child]);
		at = child;
	}
	heap_place(model, heap, kind, at, stream);
}

static void heap_settle(struct model *model, struct heap *heap, enum heap_kind kind, uint32_t at,
			uint32_t stream)
{
	if (at > 0 && heap_before(model, kind, stream, heap->item[(at - 1) / 2]))
		heap_up(model, heap, kind, at, stream);
	else
		heap_down(model, heap, kind, at, stream);
}

void heap_set(struct model *model, struct heap *heap, enum heap_kind kind, uint32_t stream,
	      uint64_t key)
{
	uint32_t at = model->stream[stream].pos[kind];

	model->stream[stream].key[kind] = key;
	if (at == HEAP_NOT)
		heap_up(model, heap, kind, heap->count++, stream);
	else
		heap_settle(model, heap, kind, at, stream);
}

void heap_remove(struct model *model, struct heap *heap, enum heap_kind kind, uint32_t stream)
{
	uint32_t at = model->stream[stream].pos[kind], last;

	if (at == HEAP_NOT)
		return;
	model->stream[stream].pos[kind] = HEAP_NOT;
	last = heap->item[--heap->count];
	if (last != stream)
		heap_settle(model, heap, kind, at, last);
}

void timer_set(struct model *model, uint32_t stream, uint64_t at_ns)
{
	uint32_t proc = model->stream[stream].proc;

	heap_set(model, &model->proc[proc].timers, HEAP_TIMER, stream, at_ns);
	model->procs_timed |= proc_bit(proc);
}

void timer_clear(struct model *model, uint32_t stream)
{
	uint32_t proc = model->stream[stream].proc;

	heap_remove(model, &model->proc[proc].timers, HEAP_TIMER, stream);
	if (!model->proc[proc].timers.count)
		model->procs_timed &= ~proc_bit(proc);
}
