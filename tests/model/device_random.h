/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_DEVICE_RANDOM_H
#define TESTS_DEVICE_RANDOM_H

/*
 * Random work on a device, from a seed, with a book of what must come back: every operation of a
 * process that is still there once, in the order of its stream. Shared by the tests of random
 * runs and of repair.
 */

#include <stdio.h>

#include "device_support.h"

#define BOOK_STREAMS 48
#define BOOK_OPS 60000

struct book_op {
	uint64_t id;
	uint64_t block_time;   /* of known kernels: blocks x cost */
	uint32_t proc, stream; /* stream: of the book */
	uint32_t kind;
	bool pending, collected, dropped;
};

struct book {
	uint64_t seed;
	struct model *model;
	uint32_t proc[8]; /* MODEL_NONE: not attached */
	uint64_t mem[8];
	uint32_t stream[BOOK_STREAMS], stream_proc[BOOK_STREAMS]; /* MODEL_NONE: none; book's */
	uint32_t last_of_stream[BOOK_STREAMS];			  /* collected op, + 1 */
	uint32_t ops;
	uint64_t last_end[8];
	struct book_op op[BOOK_OPS];
};

static inline uint64_t book_random(struct book *book, uint64_t below)
{
	uint64_t z = book->seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

static inline uint64_t book_now(struct book *book)
{
	return book->model->now_ns;
}

static inline void book_open(struct book *book, struct model *model, uint64_t seed)
{
	memset(book, 0, sizeof(*book));
	book->seed = seed;
	book->model = model;
	for (int i = 0; i < 8; i++)
		book->proc[i] = MODEL_NONE;
	for (int i = 0; i < BOOK_STREAMS; i++)
		book->stream[i] = MODEL_NONE;
}

static inline void book_attach(struct book *book, uint32_t p)
{
	if (book->proc[p] != MODEL_NONE)
		return;
	book->proc[p] = device_proc(book->model);
	book->mem[p] = 0;
	book->last_end[p] = 0;
}

/* What the book says once its process has gone. */
static inline void book_forget(struct book *book, uint32_t p)
{
	for (uint32_t i = 0; i < book->ops; i++)
		if (book->op[i].proc == p && !book->op[i].collected)
			book->op[i].dropped = true;
	for (int s = 0; s < BOOK_STREAMS; s++)
		if (book->stream[s] != MODEL_NONE && book->stream_proc[s] == p)
			book->stream[s] = MODEL_NONE;
	book->proc[p] = MODEL_NONE;
}

static inline void book_detach(struct book *book, uint32_t p)
{
	if (book->proc[p] == MODEL_NONE)
		return;
	model_detach(book->model, book_now(book), book->proc[p]);
	book_forget(book, p);
}

static inline void book_stream(struct book *book, uint32_t s)
{
	uint32_t p = (uint32_t)book_random(book, 8);

	if (book->stream[s] != MODEL_NONE || book->proc[p] == MODEL_NONE)
		return;
	book->stream[s] =
		device_stream(book->model, book->proc[p], (int32_t)book_random(book, 3) - 2);
	book->stream_proc[s] = p;
	book->last_of_stream[s] = 0;
}

static inline struct model_op_desc book_desc(struct book *book)
{
	static const uint32_t kinds[] = {
		MODEL_KERNEL,	MODEL_KERNEL,	MODEL_KERNEL, MODEL_KERNEL,  MODEL_COPY_H2D,
		MODEL_COPY_D2H, MODEL_COPY_D2D, MODEL_MARK,   MODEL_WAIT_OP, MODEL_HOST};
	struct model_op_desc desc = {.kind = kinds[book_random(book, 10)],
				     .cookie = book->ops,
				     .functional = book_random(book, 3) == 0,
				     .blocks = 1 + (uint32_t)book_random(book, 40),
				     .blocks_per_sm = 1 + (uint32_t)book_random(book, 3),
				     .max_sms = (uint32_t)book_random(book, 6),
				     .bw_class = (uint32_t)book_random(book, MODEL_CLASSES),
				     .block_ns = 1 + book_random(book, 300),
				     .duration_ns = book_random(book, 700)};

	if (desc.kind == MODEL_WAIT_OP && book->ops)
		desc.wait_op = book->op[book_random(book, book->ops)].id;
	if (desc.functional && book_random(book, 2))
		desc.block_ns = desc.duration_ns = MODEL_UNKNOWN;
	return desc;
}

static inline void book_submit(struct book *book, uint32_t s)
{
	struct model_op_desc desc = book_desc(book);
	struct book_op *op = &book->op[book->ops];

	if (book->stream[s] == MODEL_NONE || book->ops == BOOK_OPS)
		return;
	if (model_submit(book->model, book_now(book), book->stream[s], &desc, &op->id))
		return;
	op->proc = book->stream_proc[s];
	op->stream = s;
	op->kind = desc.kind;
	op->pending = desc.functional || desc.kind == MODEL_HOST;
	op->block_time = desc.kind == MODEL_KERNEL && desc.block_ns != MODEL_UNKNOWN
				 ? desc.blocks * desc.block_ns
				 : 0;
	book->ops++;
}

static inline void book_result(struct book *book, uint32_t i)
{
	struct book_op *op = &book->op[i];

	if (!op->pending || op->dropped)
		return;
	op->pending = false;
	model_functional_done(book->model, book_now(book), op->id, 1 + book_random(book, 300));
}

static inline void book_collect(struct book *book, uint32_t p)
{
	struct model_done done[8];
	uint32_t got;

	if (book->proc[p] == MODEL_NONE)
		return;
	got = model_collect(book->model, book->proc[p], 8, done);
	for (uint32_t i = 0; i < got; i++) {
		struct book_op *op = &book->op[done[i].cookie];

		MUST_EQ(op->id, done[i].op);
		MUST_EQ(op->proc, p);
		MUST(!op->collected && !op->dropped);
		MUST(!op->pending);
		op->collected = true;
		MUST_LE(done[i].start_ns, done[i].end_ns);
		MUST_GE(done[i].end_ns, book->last_end[p]);
		book->last_end[p] = done[i].end_ns;
		MUST_GT(done[i].cookie + 1, book->last_of_stream[op->stream]);
		book->last_of_stream[op->stream] = (uint32_t)done[i].cookie + 1;
	}
}

static inline void book_memory(struct book *book, uint32_t p)
{
	uint64_t bytes = book_random(book, 64 << 20);

	if (book->proc[p] == MODEL_NONE)
		return;
	if (book_random(book, 2)) {
		if (!model_mem_take(book->model, book->proc[p], bytes))
			book->mem[p] += bytes;
	} else if (bytes <= book->mem[p]) {
		model_mem_give(book->model, book->proc[p], bytes);
		book->mem[p] -= bytes;
	}
}

static inline void book_check_memory(struct book *book)
{
	uint64_t sum = 0;

	for (int p = 0; p < 8; p++) {
		if (book->proc[p] == MODEL_NONE)
			continue;
		sum += book->mem[p] + book->model->desc.context_bytes;
		MUST_EQ(model_mem_used(book->model, book->proc[p]),
			book->mem[p] + book->model->desc.context_bytes);
	}
	MUST_EQ(model_mem_used(book->model, UINT32_MAX), sum);
	MUST_LE(sum, book->model->desc.memory_bytes);
}

static inline void book_limit(struct book *book)
{
	for (int i = 0; i < 10 && book->ops; i++) {
		uint64_t op = book->op[book_random(book, book->ops)].id;
		uint32_t sms = (uint32_t)book_random(book, 6);

		model_limit(book->model, book_now(book), op, sms < 5 ? sms : UINT32_MAX);
	}
}

/* One random thing. `advance` plays time forward. */
static inline void book_step(struct book *book, void (*advance)(struct book *book, uint64_t to_ns))
{
	uint64_t dice = book_random(book, 100);
	uint32_t s = (uint32_t)book_random(book, BOOK_STREAMS);
	uint32_t p = (uint32_t)book_random(book, 8);

	if (dice < 50)
		book_submit(book, s);
	else if (dice < 70)
		advance(book, book_now(book) + book_random(book, 800));
	else if (dice < 80)
		book_collect(book, p);
	else if (dice < 90 && book->ops)
		for (int i = 0; i < 4; i++)
			book_result(book, book->ops - 1 -
						  (uint32_t)book_random(
							  book, book->ops < 200 ? book->ops : 200));
	else if (dice < 93)
		book_stream(book, s);
	else if (dice < 95)
		book_memory(book, p);
	else if (dice < 97)
		book_attach(book, p);
	else if (dice == 97 && book_random(book, 10) == 0)
		book_detach(book, p);
	else if (dice == 98 && book->proc[p] != MODEL_NONE)
		MUST_EQ(model_set_priority(book->model, book_now(book), book->proc[p],
					   (int32_t)book_random(book, 16) - 8),
			0);
	else if (dice == 99)
		book_limit(book);
}

/* Everything that is still queued comes to its end. */
static inline void book_drain(struct book *book, void (*advance)(struct book *book, uint64_t to_ns))
{
	for (uint32_t i = 0; i < book->ops; i++)
		model_limit(book->model, book_now(book), book->op[i].id, UINT32_MAX);
	for (int round = 0; round < 1000000; round++) {
		uint64_t next;
		uint32_t left = 0;

		for (uint32_t p = 0; p < 8; p++)
			book_collect(book, p);
		next = model_next_ns(book->model, UINT32_MAX);
		/* Kernels whose cost nobody tells keep the slices going round for ever. */
		if (next != MODEL_NEVER && round % 64 != 63) {
			advance(book, next);
			continue;
		}
		for (uint32_t i = 0; i < book->ops; i++)
			book_result(book, i);
		for (uint32_t p = 0; p < 8; p++)
			book_collect(book, p);
		if (model_next_ns(book->model, UINT32_MAX) != MODEL_NEVER)
			continue;
		for (uint32_t i = 0; i < book->ops; i++)
			left += !book->op[i].collected && !book->op[i].dropped;
		MUST_EQ(left, 0);
		return;
	}
	ck_abort_msg("not drained");
}

#endif
