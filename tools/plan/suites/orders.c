/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/suites/orders.h"

static const struct order_scene *const scenes[] = {
	&order_classes, &order_gaps, &order_width,     &order_pairs,
	&order_slo,	&order_shed, &order_residency,
};

const struct order_scene *order_at(uint32_t index)
{
	return index < sizeof(scenes) / sizeof(scenes[0]) ? scenes[index] : NULL;
}

void suite_do_order(struct suite *suite, const struct suite_job *job, struct suite_result *result)
{
	const struct order_scene *scene = order_at(job->row);
	struct order_terms terms = {
		.catalog = &suite->catalog, .seed = job->be + 1, .quick = suite->quick};

	for (uint32_t side = 0; !result->error && side < ORDER_SIDES; side++)
		result->error = scene->play(&terms, side, result->order.of[side]);
	result->seeds = !result->error;
}

/* ---- the verdict ---- */

/* By how much `with` is better than `without`, as a fraction of the latter. */
static double gain_of(const struct order_figure *figure, double without, double with)
{
	double more = with - without;

	if (without <= 0)
		return 0; /* nothing to be compared with */
	return (figure->less_is_better ? -more : more) / without;
}

static bool figure_holds(const struct order_figure *figure, uint32_t index,
			 const struct order_values *value, uint32_t seeds,
			 const struct order_verdict *verdict)
{
	double wanted = figure->permille / 1000.0;

	if (figure->use == ORDER_GUARD)
		return gain_of(figure, verdict->value[ORDER_WITHOUT][index],
			       verdict->value[ORDER_WITH][index]) >= -wanted;
	for (uint32_t i = 0; figure->use == ORDER_GAIN && i < seeds; i++) {
		double gain = gain_of(figure, value[i].of[ORDER_WITHOUT][index],
				      value[i].of[ORDER_WITH][index]);

		if (gain <= 0 || gain < wanted)
			return false;
	}
	return true;
}

void order_judge(const struct order_scene *scene, const struct order_values *value, uint32_t seeds,
		 uint32_t failed, struct order_verdict *ret_verdict)
{
	*ret_verdict =
		(struct order_verdict){.seeds = seeds, .failed = failed, .wins = seeds && !failed};
	for (uint32_t i = 0; seeds && scene->figure[i].name; i++) {
		for (uint32_t side = 0; side < ORDER_SIDES; side++) {
			for (uint32_t seed = 0; seed < seeds; seed++)
				ret_verdict->value[side][i] += value[seed].of[side][i];
			ret_verdict->value[side][i] /= seeds;
		}
		ret_verdict->wins &= figure_holds(&scene->figure[i], i, value, seeds, ret_verdict);
	}
}
