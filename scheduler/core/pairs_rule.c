/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the slowdowns. Two who compete run side by side until that was seen to be
 * worse than turns. For that each has to be seen alone: predictions are no measure, since who came
 * while another ran has learned his beside it. So they take turns for a moment (a trial, in which
 * predictions are corrected too), run side by side again, and are judged. Judged to share, they are
 * tried again in minutes. Judged to wait, they take turns for some seconds, twice as long each time
 * that a moment side by side shows the same. Three and more who compete run side by side: nobody's
 * slowdown is anybody's.
 */

#include "pairs.h"

#include "pairs_impl.h"
#include "turns.h"

#include "sluice/pages.h"

#define WHOLE 1000u
#define COMPETES_NS (3 * CORE_SLOW_TICK_NS / 2) /* since it was held, or its window full */
#define LOOK_NS 1000000ull
#define SETTLE_NS 30000000ull  /* after a change: pipes drain, predictions settle */
#define TRIAL_NS 2000000000ull /* at most */
#define STAY_FIRST_NS 4000000000ull
#define STAY_MOST_NS 64000000000ull
#define RENEW_NS 300000000000ull /* between two trials of those who share */
#define WATCH_NS TRIAL_NS	 /* so long after turns began, looks are made for evidence */
/* Turns cost a drained pipe at each change; and who is in turns gains enough by leaving them. */
#define TURNS_LESS_PERMILLE 940u
#define BESIDE_MORE_PERMILLE 980u

/* ---- the tests ------------------------------------------------------------------------------- */

uint32_t pairs_progress_permille(uint32_t xi_a, uint32_t xi_b)
{
	if (!xi_a || !xi_b)
		return 2 * WHOLE;
	return WHOLE * WHOLE / xi_a + WHOLE * WHOLE / xi_b;
}

/* With h = xi * left, and A the one whose h is larger: T_share = left_A / 2 + (1 - 1 / (2 xi_A)) h_B
 * against T_seq = left_B + left_A / 2, so left_A and left_B drop out. */
bool pairs_completes_sooner(uint32_t xi_a, uint64_t left_a_ns, uint32_t xi_b, uint64_t left_b_ns)
{
	uint64_t longer = xi_a, shorter = xi_b;
	bool known = left_a_ns && left_b_ns;
	bool b_outlasts =
		known ? (__uint128_t)xi_b * left_b_ns > (__uint128_t)xi_a * left_a_ns : xi_b > xi_a;

	if (b_outlasts) {
		longer = xi_b;
		shorter = xi_a;
	}
	return shorter * (2 * longer - WHOLE) < 2 * longer * WHOLE;
}

bool pairs_meets_target(uint32_t xi, uint64_t alone_ns, uint64_t target_ns)
{
	return (__uint128_t)alone_ns * xi <= (__uint128_t)target_ns * WHOLE;
}

bool pairs_shares(enum pairs_test test, uint32_t xi_a, uint32_t xi_b, bool waited)
{
	if (test == PAIRS_COMPLETION) {
		/* From turns back: as if each were a twentieth slower than it is. */
		uint32_t more = waited ? WHOLE / 20 : 0;

		return pairs_completes_sooner(xi_a + xi_a * more / WHOLE, 0,
					      xi_b + xi_b * more / WHOLE, 0);
	}
	return pairs_progress_permille(xi_a, xi_b) >=
	       (waited ? BESIDE_MORE_PERMILLE : TURNS_LESS_PERMILLE);
}

/* ---- what is known of two -------------------------------------------------------------------- */

static bool pair_was_alone(const struct pair_set *set)
{
	return set && set->alone.samples >= PAIRS_LEAST_ALONE;
}

uint32_t pair_xi(const struct engine *engine, uint32_t device, uint32_t tenant, uint32_t partner,
		 bool *ret_sure)
{
	struct pair_set *set = pair_set_of(engine, device, tenant);
	const struct pair_partner *beside = pair_find(set, partner);
	uint64_t alone = 1000000, xi;

	*ret_sure = false;
	if (!beside || !beside->beside.millionths)
		return 0;
	if (pair_was_alone(set)) {
		alone = set->alone.millionths;
		*ret_sure = beside->beside.samples >= PAIRS_LEAST_BESIDE;
	}
	xi = alone * WHOLE / beside->beside.millionths;
	return xi < WHOLE ? WHOLE : xi > PAIRS_XI_MAX ? PAIRS_XI_MAX : (uint32_t)xi;
}

enum pair_verdict pair_judge(const struct engine *engine, const struct device *device, uint32_t a,
			     uint32_t b, bool waited)
{
	enum pairs_test test =
		engine->pairs == PAIRS_COMPLETION ? PAIRS_COMPLETION : PAIRS_PROGRESS;
	bool sure_a, sure_b;
	uint32_t xi_a = pair_xi(engine, device->index, a, b, &sure_a);
	uint32_t xi_b = pair_xi(engine, device->index, b, a, &sure_b);

	if (!sure_a || !sure_b)
		return PAIR_UNKNOWN;
	return pairs_shares(test, xi_a, xi_b, waited) ? PAIR_SHARE : PAIR_WAIT;
}

/* ---- phases ---------------------------------------------------------------------------------- */

static bool pair_was_beside(const struct engine *engine, uint32_t device, uint32_t tenant,
			    uint32_t partner)
{
	const struct pair_partner *beside = pair_find(pair_set_of(engine, device, tenant), partner);

	return beside && beside->beside.samples >= PAIRS_LEAST_BESIDE;
}

static bool both_were_alone(const struct engine *engine, const struct device *device)
{
	const struct pair_set *a = pair_set_of(engine, device->index, device->pairs.a);
	const struct pair_set *b = pair_set_of(engine, device->index, device->pairs.b);

	return pair_was_alone(a) && pair_was_alone(b);
}

static void pairs_enter(struct device *device, enum pairs_phase phase, uint64_t now_ns)
{
	struct pairs_device *pairs = &device->pairs;

	/* What turns and leads know of the time between is out of date. */
	if ((phase == PAIRS_BESIDE) != (pairs->phase == PAIRS_BESIDE)) {
		turns_forget(device, device->turn.gate);
		device->looked_ns = 0;
		pairs->counts_ns = now_ns + SETTLE_NS;
	}
	pairs->phase = phase;
	pairs->entered_ns = now_ns;
}

static void pairs_enter_beside(struct engine *engine, struct device *device, bool retested,
			       uint64_t now_ns)
{
	uint32_t a = device->pairs.a, b = device->pairs.b;
	struct pair_set *set_a = pair_set_of(engine, device->index, a);
	struct pair_set *set_b = pair_set_of(engine, device->index, b);

	pairs_enter(device, PAIRS_BESIDE, now_ns);
	device->pairs.retested = retested;
	if (set_a)
		pair_restart_beside(set_a, b);
	if (set_b)
		pair_restart_beside(set_b, a);
}

static void pairs_enter_trial(struct engine *engine, struct device *device, uint64_t now_ns)
{
	struct pairs_device *pairs = &device->pairs;

	pairs_enter(device, PAIRS_TRIAL, now_ns);
	/* Else the last one was too short, and this goes on from there. */
	if (both_were_alone(engine, device)) {
		pair_restart_alone(pair_set_of(engine, device->index, pairs->a));
		pair_restart_alone(pair_set_of(engine, device->index, pairs->b));
	}
	pairs->rest_ns = pairs->rest_ns ? 2 * pairs->rest_ns : STAY_FIRST_NS;
	if (pairs->rest_ns > STAY_MOST_NS)
		pairs->rest_ns = STAY_MOST_NS;
	pairs->trial_ns = now_ns + pairs->rest_ns;
	pairs->renew_ns = now_ns + RENEW_NS;
}

static void pairs_enter_stay(struct device *device, uint64_t now_ns)
{
	struct pairs_device *pairs = &device->pairs;

	pairs->stay_ns = pairs->retested && pairs->stay_ns ? 2 * pairs->stay_ns : STAY_FIRST_NS;
	if (pairs->stay_ns > STAY_MOST_NS)
		pairs->stay_ns = STAY_MOST_NS;
	pairs_enter(device, PAIRS_STAY, now_ns);
}

static void pairs_beside(struct engine *engine, struct device *device, uint64_t now_ns)
{
	struct pairs_device *pairs = &device->pairs;

	switch (pair_judge(engine, device, pairs->a, pairs->b, pairs->retested)) {
	case PAIR_WAIT: pairs_enter_stay(device, now_ns); break;
	case PAIR_SHARE:
		if (pairs->retested)
			pairs->stay_ns = 0;
		pairs->retested = false;
		if (now_ns >= pairs->renew_ns)
			pairs_enter_trial(engine, device, now_ns);
		break;
	case PAIR_UNKNOWN:
		if (now_ns >= pairs->trial_ns &&
		    pair_was_beside(engine, device->index, pairs->a, pairs->b) &&
		    pair_was_beside(engine, device->index, pairs->b, pairs->a))
			pairs_enter_trial(engine, device, now_ns);
		break;
	}
}

static void pairs_step(struct engine *engine, struct device *device, uint64_t now_ns)
{
	struct pairs_device *pairs = &device->pairs;
	uint64_t since_ns = now_ns - pairs->entered_ns;

	switch (pairs->phase) {
	case PAIRS_BESIDE: pairs_beside(engine, device, now_ns); break;
	case PAIRS_TRIAL:
		if (both_were_alone(engine, device) || since_ns >= TRIAL_NS)
			pairs_enter_beside(engine, device, false, now_ns);
		break;
	case PAIRS_STAY:
		if (since_ns >= pairs->stay_ns)
			pairs_enter_beside(engine, device, true, now_ns);
		break;
	}
}

/* Under turns whoever competes is held, side by side its window may be what holds it. */
static uint32_t pairs_rivals(const struct engine *engine, const struct device *device,
			     uint64_t now_ns, uint32_t ret_who[2])
{
	uint32_t rivals = 0;

	for (uint32_t t = 0; t < engine->tenants && rivals < 3; t++) {
		const struct share *share =
			engine->tenant[t] ? &engine->tenant[t]->on[device->index] : NULL;
		uint64_t at_ns;

		if (!share || !share->gates || engine->tenant[t]->paused)
			continue;
		at_ns = share->backlogged_ns > share->held_seen_ns ? share->backlogged_ns
								   : share->held_seen_ns;
		if (at_ns && now_ns - at_ns <= COMPETES_NS && rivals++ < 2)
			ret_who[rivals - 1] = t;
	}
	return rivals;
}

bool pairs_take_turns(struct engine *engine, struct device *device, uint64_t now_ns)
{
	struct pairs_device *pairs = &device->pairs;
	uint32_t who[2];

	if (!device->record.mps || engine->pairs == PAIRS_ALWAYS ||
	    pairs_rivals(engine, device, now_ns, who) != 2) {
		if (pairs->phase != PAIRS_BESIDE)
			pairs_enter(device, PAIRS_BESIDE, now_ns);
		return false;
	}
	if (who[0] != pairs->a || who[1] != pairs->b) {
		pairs_enter(device, PAIRS_BESIDE, now_ns);
		*pairs = (struct pairs_device){.a = who[0],
					       .b = who[1],
					       .look = pairs->look,
					       .looked_ns = pairs->looked_ns,
					       .counts_ns = pairs->counts_ns,
					       .entered_ns = now_ns,
					       .renew_ns = now_ns + RENEW_NS};
	}
	pairs_step(engine, device, now_ns);
	return pairs->phase != PAIRS_BESIDE;
}

bool pairs_are_in_turns(const struct device *device)
{
	return device->pairs.phase != PAIRS_BESIDE;
}

void pairs_watch(struct device *device, uint64_t now_ns)
{
	struct gate *holder = device->turn.gate;

	if (!pairs_are_in_turns(device))
		return;
	if (now_ns - device->pairs.entered_ns < WATCH_NS && now_ns + LOOK_NS < device->next_ns)
		device->next_ns = now_ns + LOOK_NS;
	for (uint32_t i = 0; holder && i < device->gates; i++) {
		const struct gate *gate = device->gate[i];

		if (gate != holder && !gate->process->latency && gate_in_flight(gate))
			holder->next.flags &= ~SLUICE_GRANT_EXCLUSIVE;
	}
}
