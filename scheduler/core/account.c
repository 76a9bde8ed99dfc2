/* SPDX-License-Identifier: Apache-2.0 */
#include "account.h"

/* An idle process saves up no more than this: readings may be late, but not by more. */
#define ALLOW_MAX_NS 1000000000ull
#define SECOND_NS 1000000000ull
#define PSI_WINDOW_NS 2000000000ull

/* exp(-2 s / 10, 60, 300 s), 11 bits: the constants of the kernel's PSI. */
static const uint64_t psi_decay_q11[3] = {1677, 1981, 2034};

uint64_t gate_account_charge(struct gate_account *account, uint64_t wall_ns, bool could_run,
			     uint64_t completed_ns)
{
	uint64_t charge_ns;

	if (could_run)
		account->allow_ns += wall_ns < ALLOW_MAX_NS ? wall_ns : ALLOW_MAX_NS;
	if (account->allow_ns > ALLOW_MAX_NS)
		account->allow_ns = ALLOW_MAX_NS;
	account->owed_ns += completed_ns < ALLOW_MAX_NS ? completed_ns : ALLOW_MAX_NS;
	if (account->owed_ns > ALLOW_MAX_NS)
		account->owed_ns = ALLOW_MAX_NS;
	charge_ns = account->owed_ns < account->allow_ns ? account->owed_ns : account->allow_ns;
	account->allow_ns -= charge_ns;
	account->owed_ns -= charge_ns;
	/* Complete before its time: the estimate was too high, and the rest is not owed. */
	if (!could_run)
		account->owed_ns = 0;
	return charge_ns;
}

void account_tick(struct account *account, uint64_t now_ns)
{
	account->ring_at_ns[account->ring_next] = now_ns;
	account->ring_used_ns[account->ring_next] = account->used_ns;
	account->ring_next = (account->ring_next + 1) % ACCOUNT_RING;
}

uint32_t account_used_permille(const struct account *account, uint64_t now_ns)
{
	uint64_t at_ns = 0, used_ns = 0, permille;

	/* The youngest note that is a second old; else the oldest there is. */
	for (uint32_t i = 1; i <= ACCOUNT_RING; i++) {
		uint32_t slot = (account->ring_next + ACCOUNT_RING - i) % ACCOUNT_RING;

		if (!account->ring_at_ns[slot])
			break;
		at_ns = account->ring_at_ns[slot];
		used_ns = account->ring_used_ns[slot];
		if (now_ns - at_ns >= SECOND_NS)
			break;
	}
	if (!at_ns || now_ns <= at_ns)
		return 0;
	permille = (account->used_ns - used_ns) * 1000 / (now_ns - at_ns);
	/* Work seen complete late, or processes that overlap: a GPU has no more than itself. */
	return permille > 1000 ? 1000 : (uint32_t)permille;
}

void pressure_held(struct pressure *pressure, uint64_t held_ns)
{
	if (held_ns > pressure->stretch_held_ns)
		pressure->stretch_held_ns = held_ns;
}

static void pressure_average(struct pressure *pressure, uint64_t window_ns)
{
	uint64_t share_q11 = (pressure->window_held_ns * 1000 << 11) / window_ns;
	uint64_t windows = window_ns / PSI_WINDOW_NS;

	/* A long silence counts as so many windows of the same share; 300 of them settle it. */
	if (windows > 300)
		windows = 300;
	for (int i = 0; i < 3; i++) {
		for (uint64_t n = 0; n < windows; n++)
			pressure->avg_q11[i] = (pressure->avg_q11[i] * psi_decay_q11[i] +
						share_q11 * (2048 - psi_decay_q11[i])) >>
					       11;
	}
}

void pressure_tick(struct pressure *pressure, uint64_t now_ns)
{
	uint64_t stretch_ns = now_ns - pressure->stretch_start_ns;
	uint64_t held_ns = pressure->stretch_held_ns;

	if (!pressure->stretch_start_ns) {
		pressure->window_start_ns = now_ns;
		stretch_ns = 0;
	}
	if (held_ns > stretch_ns)
		held_ns = stretch_ns;
	pressure->total_ns += held_ns;
	pressure->window_held_ns += held_ns;
	pressure->stretch_held_ns = 0;
	pressure->stretch_start_ns = now_ns;
	if (now_ns - pressure->window_start_ns >= PSI_WINDOW_NS) {
		pressure_average(pressure, now_ns - pressure->window_start_ns);
		pressure->window_start_ns = now_ns;
		pressure->window_held_ns = 0;
	}
}
