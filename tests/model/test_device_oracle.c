/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model against a slow and obvious one: it walks through every nanosecond with an array of
 * SMs, each with its blocks, and knows no events, groups or heaps. Kernels of several processes,
 * with and without MPS, and with the effects of sharing, must start and end at exactly the same
 * times in both.
 */

#include <stdio.h>

#include "device_support.h"

#define PROCS 3
#define STREAMS 6
#define KERNELS 40
#define SMS_MAX 8

struct kernel {
	uint64_t submit_ns, ready_ns, start_ns, end_ns; /* MODEL_NEVER: not yet */
	uint32_t stream, blocks, left, per_sm, max_sms, cost_ns, bw_class;
	uint64_t op;
};

struct sm {
	int kernel; /* -1: free */
	uint32_t blocks, remaining_ns;
};

struct oracle {
	struct model_desc desc;
	uint64_t now;
	struct kernel kernel[KERNELS]; /* in order of submission */
	int32_t priority[STREAMS];
	uint32_t proc[STREAMS];
	int32_t rank[PROCS];
	struct sm sm[PROCS][SMS_MAX]; /* with MPS all in [0] */
	int active, target, resident, last;
	bool waited;
	uint64_t slice_start, slice_end, idle_since, switch_end;
};

static uint64_t seed;

static uint32_t random_below(uint32_t below)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((z ^ z >> 31) % below);
}

static struct sm *sms_of(struct oracle *o, const struct kernel *kernel)
{
	return o->sm[o->desc.mps ? 0 : o->proc[kernel->stream]];
}

static uint32_t sms_held(struct oracle *o, int k)
{
	struct sm *sm = sms_of(o, &o->kernel[k]);
	uint32_t held = 0;

	for (uint32_t i = 0; i < o->desc.sms; i++)
		held += sm[i].kernel == k;
	return held;
}

static bool is_ready(const struct oracle *o, const struct kernel *kernel)
{
	return kernel->ready_ns <= o->now && kernel->end_ns == MODEL_NEVER;
}

static bool has_work(struct oracle *o, int proc)
{
	for (int k = 0; k < KERNELS; k++)
		if (o->proc[o->kernel[k].stream] == (uint32_t)proc && is_ready(o, &o->kernel[k]))
			return true;
	return false;
}

/* When what is first in its stream may begin. */
static void find_ready(struct oracle *o)
{
	uint64_t end[STREAMS];
	bool open[STREAMS] = {0};

	for (int s = 0; s < STREAMS; s++)
		end[s] = MODEL_NEVER;
	for (int k = 0; k < KERNELS; k++) {
		struct kernel *kernel = &o->kernel[k];
		uint32_t s = kernel->stream;

		if (kernel->submit_ns > o->now)
			continue;
		if (kernel->ready_ns == MODEL_NEVER && !open[s]) {
			if (end[s] != MODEL_NEVER && end[s] > kernel->submit_ns)
				kernel->ready_ns = end[s] + o->desc.kernel_gap_ns;
			else
				kernel->ready_ns = kernel->submit_ns + o->desc.launch_latency_ns;
		}
		open[s] |= kernel->end_ns == MODEL_NEVER;
		end[s] = kernel->end_ns;
	}
}

static void finish_blocks(struct oracle *o)
{
	for (int p = 0; p < PROCS; p++)
		for (uint32_t i = 0; i < o->desc.sms; i++)
			if (o->sm[p][i].kernel >= 0 && !o->sm[p][i].remaining_ns) {
				int k = o->sm[p][i].kernel;

				o->sm[p][i].kernel = -1;
				if (!o->kernel[k].left && !sms_held(o, k))
					o->kernel[k].end_ns = o->now;
			}
}

static int next_proc(struct oracle *o)
{
	for (int i = 1; i <= PROCS; i++)
		if (has_work(o, (o->last + i) % PROCS))
			return (o->last + i) % PROCS;
	return -1;
}

static void activate(struct oracle *o, int proc)
{
	o->active = o->resident = o->last = proc;
	o->target = -1;
	o->slice_start = o->now;
	o->idle_since = MODEL_NEVER;
	o->waited = false;
}

/* What the comment of model_slice.c says, word by word. */
static void take_turns(struct oracle *o)
{
	uint64_t due;

	if (o->target >= 0 && o->now == o->switch_end)
		activate(o, o->target);
	if (o->active >= 0 && o->target < 0) {
		int next = next_proc(o);
		bool busy = has_work(o, o->active);

		if (!busy && o->idle_since == MODEL_NEVER)
			o->idle_since = o->now;
		if (busy && o->idle_since != MODEL_NEVER) {
			if (o->now - o->idle_since > o->desc.idle_hold_ns)
				o->slice_start = o->now;
			o->idle_since = MODEL_NEVER;
		}
		if (next < 0 || next == o->active) {
			o->waited = false;
			return;
		}
		if (!o->waited) {
			o->slice_end = o->slice_start + o->desc.slice_ns;
			while (o->slice_end < o->now)
				o->slice_end += o->desc.slice_ns;
		}
		o->waited = true;
		due = o->slice_end;
		if (!busy && o->idle_since + o->desc.idle_hold_ns < due)
			due = o->idle_since + o->desc.idle_hold_ns;
		if (o->now < due)
			return;
		o->active = -1;
		o->target = next;
		o->switch_end = o->now + o->desc.switch_ns;
	} else if (o->active < 0 && o->target < 0 && next_proc(o) >= 0) {
		activate(o, next_proc(o)); /* the first ever */
	}
}

static bool comes_before(const struct oracle *o, int a, int b)
{
	const struct kernel *left = &o->kernel[a], *right = &o->kernel[b];
	uint32_t p = o->proc[left->stream], q = o->proc[right->stream];

	if (o->rank[p] != o->rank[q])
		return o->rank[p] < o->rank[q];
	if (o->priority[left->stream] != o->priority[right->stream])
		return o->priority[left->stream] < o->priority[right->stream];
	if (!o->desc.age_from_ready)
		return a < b;
	/* What comes in one instant does so process by process. */
	if (left->ready_ns != right->ready_ns)
		return left->ready_ns < right->ready_ns;
	return p != q ? p < q : a < b;
}

static uint64_t thousandths(uint64_t of, uint64_t permille)
{
	return of * permille / 1000;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t demand_of(const struct oracle *o, uint32_t bw_class, uint64_t sms)
{
	return o->desc.saturation_sms[bw_class] ? sms * 1000 / o->desc.saturation_sms[bw_class] : 0;
}

/* What the comment of model_effect.c says of a block, `more` of whose kernel's SMs start now. */
static uint64_t block_length(struct oracle *o, int k, uint32_t more)
{
	const struct kernel *kernel = &o->kernel[k];
	uint64_t full = (kernel->blocks + kernel->per_sm - 1) / kernel->per_sm, all = 0, alone;
	uint32_t held[MODEL_CLASSES] = {0}, others = 0;
	struct sm *sm = sms_of(o, kernel);

	for (uint32_t i = 0; i < o->desc.sms; i++)
		if (sm[i].kernel >= 0) {
			held[o->kernel[sm[i].kernel].bw_class]++;
			others += sm[i].kernel != k;
		}
	if (!others)
		return kernel->cost_ns;
	held[kernel->bw_class] += more;
	for (uint32_t bw = 0; bw < MODEL_CLASSES; bw++)
		all += demand_of(o, bw, held[bw]);
	alone = demand_of(o, kernel->bw_class, full < o->desc.sms ? full : o->desc.sms);
	return thousandths(thousandths(kernel->cost_ns, most(1000, all * 1000 / most(1000, alone))),
			   1000 + o->desc.corun_permille * others / o->desc.sms);
}

/* Of the block that the i-th of `more` SMs starts, when the kernel has none yet. */
static uint64_t staggered(const struct oracle *o, const struct kernel *kernel, uint64_t length,
			  uint32_t i, uint32_t more)
{
	uint32_t parts = more < 4 ? more : 4, part = 0;

	if (!o->desc.stagger_permille || kernel->blocks <= kernel->max_sms * kernel->per_sm ||
	    parts < 2)
		return length;
	while (i >= more * (part + 1) / parts)
		part++;
	return thousandths(length, 1000 - o->desc.stagger_permille +
					   2 * o->desc.stagger_permille * part / (parts - 1));
}

static int best_of(struct oracle *o, int proc)
{
	int best = -1;

	for (int k = 0; k < KERNELS; k++) {
		struct kernel *kernel = &o->kernel[k];

		if (!is_ready(o, kernel) || !kernel->left || sms_held(o, k) >= kernel->max_sms ||
		    (proc >= 0 && o->proc[kernel->stream] != (uint32_t)proc))
			continue;
		if (best < 0 || comes_before(o, k, best))
			best = k;
	}
	return best;
}

static uint32_t free_of(const struct oracle *o, const struct sm *sm)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < o->desc.sms; i++)
		count += sm[i].kernel < 0;
	return count;
}

/* As many SMs as are free and as it can use. */
static void give_to(struct oracle *o, struct sm *sm, int k)
{
	struct kernel *kernel = &o->kernel[k];
	uint32_t held = sms_held(o, k), more = (kernel->left + kernel->per_sm - 1) / kernel->per_sm;
	uint32_t given = 0;
	uint64_t length;

	if (more > kernel->max_sms - held)
		more = kernel->max_sms - held;
	if (more > free_of(o, sm))
		more = free_of(o, sm);
	length = block_length(o, k, more);
	for (uint32_t i = 0; given < more; i++) {
		if (sm[i].kernel >= 0)
			continue;
		sm[i].kernel = k;
		sm[i].remaining_ns =
			(uint32_t)(held ? length : staggered(o, kernel, length, given, more));
		sm[i].blocks = kernel->left < kernel->per_sm ? kernel->left : kernel->per_sm;
		kernel->left -= sm[i].blocks;
		given++;
	}
	if (kernel->start_ns == MODEL_NEVER)
		kernel->start_ns = o->now;
}

static void give_out(struct oracle *o, struct sm *sm, int proc)
{
	int best;

	while (free_of(o, sm) && (best = best_of(o, proc)) >= 0)
		give_to(o, sm, best);
}

static void walk(struct oracle *o)
{
	finish_blocks(o);
	find_ready(o);
	if (o->desc.mps) {
		give_out(o, o->sm[0], -1);
	} else {
		take_turns(o);
		if (o->active >= 0)
			give_out(o, o->sm[o->active], o->active);
	}
	for (int p = 0; p < PROCS; p++)
		for (uint32_t i = 0; i < o->desc.sms; i++)
			if (o->sm[p][i].kernel >= 0 && (o->desc.mps || p == o->active))
				o->sm[p][i].remaining_ns--;
	o->now++;
}

static bool all_ended(const struct oracle *o)
{
	for (int k = 0; k < KERNELS; k++)
		if (o->kernel[k].end_ns == MODEL_NEVER)
			return false;
	return true;
}

static void make_up(struct oracle *o, bool mps, bool shares)
{
	uint64_t at = 0;

	memset(o, 0, sizeof(*o));
	o->desc = device_desc(1 + random_below(SMS_MAX), mps);
	o->desc.slice_ns = 20 + random_below(200);
	o->desc.switch_ns = 1 + random_below(30);
	o->desc.idle_hold_ns = random_below(20);
	/* Not 0: work that is submitted in the instant in which SMs come free is too late for them
	 * in the model, and just in time here. */
	o->desc.launch_latency_ns = 1 + random_below(10);
	o->desc.kernel_gap_ns = 1 + random_below(5);
	if (shares)
		device_share(&o->desc);
	o->desc.merge_ns = 0;	 /* it would be the same sums here */
	o->desc.coalesce_ns = 0; /* every SM is by itself here */
	o->active = o->target = o->resident = -1;
	o->last = PROCS - 1;
	for (int s = 0; s < STREAMS; s++) {
		o->proc[s] = random_below(PROCS);
		o->priority[s] = -(int32_t)random_below(3);
	}
	for (int p = 0; p < PROCS; p++) {
		o->rank[p] = shares ? (int32_t)random_below(3) - 1 : 0;
		for (int i = 0; i < SMS_MAX; i++)
			o->sm[p][i].kernel = -1;
	}
	for (int k = 0; k < KERNELS; k++) {
		struct kernel *kernel = &o->kernel[k];

		at += random_below(4) ? random_below(10) : random_below(300);
		kernel->submit_ns = at;
		kernel->ready_ns = kernel->start_ns = kernel->end_ns = MODEL_NEVER;
		kernel->stream = random_below(STREAMS);
		kernel->blocks = kernel->left = 1 + random_below(20);
		kernel->per_sm = 1 + random_below(3);
		kernel->max_sms = 1 + random_below(o->desc.sms);
		kernel->cost_ns = 1 + random_below(60) + (shares ? 10 : 0);
		kernel->bw_class = random_below(MODEL_CLASSES);
	}
}

static void play_model(struct oracle *o, struct model_done *done)
{
	struct model *model = device_create(&o->desc);
	uint32_t proc[PROCS], stream[STREAMS];
	struct model_done got;

	for (int p = 0; p < PROCS; p++) {
		proc[p] = device_proc(model);
		MUST_EQ(model_set_priority(model, 0, proc[p], o->rank[p]), 0);
	}
	for (int s = 0; s < STREAMS; s++)
		stream[s] = device_stream(model, proc[o->proc[s]], o->priority[s]);
	for (int k = 0; k < KERNELS; k++) {
		struct kernel *kernel = &o->kernel[k];

		device_submit(model, kernel->submit_ns, stream[kernel->stream],
			      (struct model_op_desc){.kind = MODEL_KERNEL,
						     .cookie = (uint64_t)k,
						     .blocks = kernel->blocks,
						     .blocks_per_sm = kernel->per_sm,
						     .max_sms = kernel->max_sms,
						     .bw_class = kernel->bw_class,
						     .block_ns = kernel->cost_ns});
	}
	model_advance(model, 10 * MS);
	for (int p = 0; p < PROCS; p++)
		while (model_collect(model, proc[p], 1, &got))
			done[got.cookie] = got;
	free(model);
}

static void compare(bool mps, bool shares, uint64_t run)
{
	static struct oracle o;
	struct model_done done[KERNELS] = {0};

	seed = run * 1000003;
	make_up(&o, mps, shares);
	play_model(&o, done);
	while (o.now < 100000 && !all_ended(&o))
		walk(&o);
	for (int k = 0; k < KERNELS; k++) {
		const struct kernel *kernel = &o.kernel[k];

		MUST_NE(done[k].op, 0);
		if (done[k].start_ns != kernel->start_ns || done[k].end_ns != kernel->end_ns)
			ck_abort_msg("%s%s, seed %lu, kernel %d: %lu to %lu, must be %lu to %lu",
				     mps ? "mps" : "slices", shares ? ", effects" : "", run, k,
				     done[k].start_ns, done[k].end_ns, kernel->start_ns,
				     kernel->end_ns);
	}
}

/* Bit 0: MPS; bit 1: the effects of sharing. */
START_TEST(same_times_as_the_oracle)
{
	for (uint64_t run = 1; run <= 25 * EFFORT; run++)
		compare(_i & 1, _i & 2, run);
}
END_TEST

static void add(TCase *tcase)
{
	tcase_add_loop_test(tcase, same_times_as_the_oracle, 0, 4);
}

int main(void)
{
	return device_main("device oracle", add);
}
