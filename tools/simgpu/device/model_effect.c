/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects of sharing: how long a block takes beside others. All is fixed when the block is given
 * its SM, in permille of its length alone; a kernel that has the SMs to itself takes its own time.
 *
 * Bandwidth. A kernel that holds n SMs asks for n / saturation_sms of its class of the device's
 * bandwidth. Where all that run ask for more than there is, blocks are stretched by that much;
 * what a kernel alone on the device lacks is in its length already, so it is taken out again.
 *
 * Co-running. Whatever the classes, blocks beside other kernels take up to corun_permille longer:
 * that, times the share of the SMs that the others hold (caches, memory banks).
 *
 * Stagger. The first blocks of a kernel of several waves end over +- stagger_permille of a block's
 * length, in STAGGER_PARTS parts of its SMs, and so do all later ones: SMs come free little by
 * little. Over sizes of the last wave the mean length of a kernel stays what it was; full waves
 * end that much later.
 *
 * Merging. Waves shorter than merge_ns are played as fewer, longer ones, which take as long
 * together: a kernel of many tiny waves costs no more events than a long one.
 *
 * Coalescing (model_kernel.c). Blocks that would end within half of coalesce_ns of others of their
 * kernel, before or after, end with them: kernels that trade SMs one by one would cost an event a
 * block.
 */

#include "device/model_impl.h"

#define WHOLE 1000u /* permille */
#define STAGGER_PARTS 4u

static uint64_t scaled(uint64_t ns, uint64_t permille)
{
	return ns / WHOLE * permille + ns % WHOLE * permille / WHOLE;
}

void effect_init(struct model *model)
{
	for (uint32_t bw = 0; bw < MODEL_CLASSES; bw++)
		for (uint32_t sms = 0; sms <= model->desc.sms; sms++) {
			uint32_t saturation = model->desc.saturation_sms[bw];

			model->demand[bw][sms] = saturation ? sms * WHOLE / saturation : 0;
		}
}

static uint32_t at_least_whole(uint32_t permille)
{
	return permille > WHOLE ? permille : WHOLE;
}

/* With `sms` more for the kernel than it holds. */
static uint32_t bandwidth_stretch(const struct model *model, const struct runq *runq,
				  const struct op *op, uint32_t sms)
{
	uint32_t all = model->demand[op->bw_class][runq->class_sms[op->bw_class] + sms];
	uint32_t full = model->desc.sms;

	for (uint32_t bw = 0; bw < MODEL_CLASSES; bw++)
		all += bw == op->bw_class ? 0 : model->demand[bw][runq->class_sms[bw]];
	if (all <= WHOLE)
		return WHOLE;
	if ((uint64_t)full * op->blocks_per_sm > op->blocks)
		full = (op->blocks + op->blocks_per_sm - 1) / op->blocks_per_sm;
	return at_least_whole(all * WHOLE / at_least_whole(model->demand[op->bw_class][full]));
}

uint64_t effect_block_ns(const struct model *model, const struct runq *runq, const struct op *op,
			 uint32_t sms)
{
	uint32_t others = model->desc.sms - runq->free_sms - op->sms, corun;
	uint64_t ns;

	if (!others || op->cost_ns == MODEL_UNKNOWN)
		return op->cost_ns;
	corun = model->desc.corun_permille * others / model->desc.sms;
	ns = scaled(op->cost_ns, bandwidth_stretch(model, runq, op, sms));
	return scaled(ns, WHOLE + corun);
}

static bool is_staggered(const struct model *model, const struct op *op)
{
	return model->desc.stagger_permille && op->cost_ns != MODEL_UNKNOWN &&
	       op->blocks > op->asked_sms * op->blocks_per_sm;
}

uint32_t effect_parts(const struct model *model, const struct op *op, uint32_t sms)
{
	if (op->sms || !is_staggered(model, op))
		return 1;
	return sms < STAGGER_PARTS ? sms : STAGGER_PARTS;
}

uint64_t effect_stagger(const struct model *model, uint64_t block_ns, uint32_t part, uint32_t parts)
{
	uint64_t stagger = model->desc.stagger_permille;

	if (parts < 2)
		return block_ns;
	return scaled(block_ns, WHOLE - stagger + 2 * stagger * part / (parts - 1));
}

uint64_t effect_least_ns(const struct model *model, const struct op *op)
{
	uint64_t earlier = model->desc.coalesce_ns / 2, ns = op->cost_ns;

	if (is_staggered(model, op))
		ns = scaled(ns, WHOLE - model->desc.stagger_permille);
	return ns > earlier ? ns - earlier : 0;
}

void effect_merge(const struct model *model, uint64_t per_wave, uint32_t *blocks,
		  uint64_t *block_ns)
{
	uint64_t waves = (*blocks + per_wave - 1) / per_wave, total_ns, merged;

	if (waves < 2 || *block_ns >= model->desc.merge_ns)
		return;
	total_ns = waves * *block_ns;
	merged = total_ns / model->desc.merge_ns;
	if (!merged)
		merged = 1;
	*blocks = (uint32_t)((*blocks * merged + waves - 1) / waves);
	*block_ns = total_ns / merged;
}
