/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/sluice_gate.h"

#include "plan/workload.h"

#define WANT_CREDIT_NS 10000000u /* as the shim's gate.c: between two words about credit ... */
#define WANT_AGAIN_NS 100000000u /* ... and about one and the same hold */
#define NEAR_NS 1000000u	 /* as gate_wait.c: the longest sleep near an opening */
#define FAR_NS 10000000u	 /* and of all */
#define GUARD_DEFAULT_NS 60000u	 /* as activity.c: where the grant names none */

static bool gate_is_free(const struct sluice_gate *gate)
{
	uint32_t flags = gate->grant.flags;

	return (flags & SLUICE_GRANT_LATENCY) &&
	       !(flags & (SLUICE_GRANT_EXCESS | SLUICE_GRANT_PAUSED));
}

static bool is_large_copy(const struct sluice_gate_terms *terms, const struct workload_op *op)
{
	if (op->bytes < GATE_LARGE_COPY_BYTES)
		return false;
	if (op->kind == WORKLOAD_KERNEL)
		return terms->collectives;
	return terms->copies && (op->kind == WORKLOAD_COPY_H2D || op->kind == WORKLOAD_COPY_D2H);
}

static struct gate_view gate_look(const struct sluice_gate *gate,
				  const struct sluice_activity_seen *seen,
				  const struct sluice_gate_terms *terms,
				  const struct workload_op *op)
{
	const struct plan_proc *proc = gate->proc;
	uint64_t in_flight_ns = proc->launched_ns - proc->seen_ns;

	return (struct gate_view){
		.gate_word = gate->word,
		.flags = gate->grant.flags,
		.credit_ns = gate->grant.credit_ns,
		.window_ns = gate->grant.window_ns,
		.guard_ns = gate->grant.guard_ns,
		.progress_ns = terms->progress_ns,
		.launched_ns = proc->launched_ns,
		.in_flight_ns = in_flight_ns,
		.done_ns = proc->moved_ns + in_flight_ns,
		.was_done_ns = proc->moved_ns + in_flight_ns,
		.moved_ns = proc->moved_ns,
		.is_large_copy = is_large_copy(terms, op),
		/* Only best-effort processes map activity pages. */
		.active = !proc->latency && seen->active,
		.idle_since_ns = proc->latency || seen->active ? 0 : seen->idle_since_ns,
		.busy_since_ns = proc->latency ? 0 : seen->busy_since_ns,
		.cap_sms = gate->grant.cap_sms,
		.busy_limit_ns = gate->grant.busy_limit_ns,
		.quiet_from_ns = gate->grant.quiet_from_ns,
		.quiet_until_ns = gate->grant.quiet_until_ns,
	};
}

/* The first launch that meets a request, as the shim's arrival_count. */
static void gate_meet(struct sluice_gate *gate, const struct gate_view *view)
{
	if (!view->active || view->busy_since_ns == gate->met_since_ns)
		return;
	gate->met_since_ns = view->busy_since_ns;
	gate->met_ns = gate_met_ns(view, view->busy_since_ns);
}

static void gate_tell(struct sluice_gate *gate, const struct sluice_gate_terms *terms,
		      uint64_t now_ns)
{
	bool told = gate->want_ns && gate->want_word == gate->word;
	uint64_t again_ns = gate->reason == GATE_CREDIT ? WANT_CREDIT_NS : WANT_AGAIN_NS;

	if (gate->reason == GATE_WINDOW || gate->reason == GATE_GUARD ||
	    gate->reason == GATE_QUIET || (told && now_ns - gate->want_ns < again_ns))
		return;
	gate->want_ns = now_ns;
	gate->want_word = gate->word;
	if (gate->want_at_ns == UINT64_MAX)
		gate->want_at_ns = now_ns + terms->message_ns;
}

static void gate_count(struct sluice_gate *gate, uint64_t now_ns)
{
	if (gate->counted || gate->reason == GATE_WINDOW)
		return;
	gate->counted = true;
	gate->counted_since_ns = now_ns;
}

static void gate_uncount(struct sluice_gate *gate, uint64_t now_ns)
{
	if (gate->counted)
		gate->counted_ns += now_ns - gate->counted_since_ns;
	gate->counted = false;
}

/* When it looks again though nobody woke it: a sleeper's own deadline, or where it spins. */
static uint64_t gate_look_again_ns(const struct sluice_gate *gate, uint64_t until_ns,
				   uint64_t now_ns)
{
	switch (gate->reason) {
	case GATE_GUARD:
	case GATE_QUIET: return until_ns;
	case GATE_CREDIT:
	case GATE_WINDOW: return now_ns + NEAR_NS;
	default: return now_ns + FAR_NS;
	}
}

bool sluice_gate_ask(struct sluice_gate *gate, const struct sluice_activity_seen *seen,
		     const struct sluice_gate_terms *terms, const struct workload_op *op,
		     uint64_t cost_ns, uint64_t now_ns, uint64_t *ret_wake_ns)
{
	struct gate_view view;
	uint64_t until_ns = 0;

	/* A collective is never held, as in the shim. */
	if (gate_is_free(gate) || (op->kind == WORKLOAD_KERNEL && op->bytes))
		return true;
	view = gate_look(gate, seen, terms, op);
	gate_meet(gate, &view);
	gate->reason = gate_decide(&view, cost_ns, gate->proc->held_since_ns, now_ns, &until_ns);
	if (gate->reason <= GATE_FORCED) {
		gate->forced += gate->reason == GATE_FORCED;
		gate_uncount(gate, now_ns);
		return true;
	}
	gate_count(gate, now_ns);
	gate_tell(gate, terms, now_ns);
	*ret_wake_ns = gate_look_again_ns(gate, until_ns, now_ns);
	return false;
}

void sluice_gate_launched(struct sluice_gate *gate, const struct sluice_gate_terms *terms,
			  const struct workload_op *op, uint64_t cost_ns)
{
	uint64_t before_ns = gate->proc->launched_ns - cost_ns;

	if (!is_large_copy(terms, op))
		return;
	if (gate->copies_until_ns != before_ns)
		gate->copies_from_ns = before_ns;
	gate->copies_until_ns = gate->proc->launched_ns;
}

void sluice_gate_begin(struct sluice_gate *gate, uint64_t now_ns)
{
	uint64_t guard_ns = gate->grant.guard_ns ? gate->grant.guard_ns : GUARD_DEFAULT_NS;
	uint64_t idle_ns = gate->proc->idle_since_ns;

	if (!idle_ns || now_ns - idle_ns >= guard_ns)
		gate->busy_since_ns = now_ns;
}

uint64_t sluice_gate_met(const struct sluice_gate *gate, uint64_t busy_since_ns)
{
	const struct plan_proc *proc = gate->proc;

	if (gate->met_since_ns == busy_since_ns)
		return gate->met_ns;
	/* Nothing in flight, and nothing launched since the last look. */
	return proc->launched_ns == gate->rest_launched_ns && proc->seen_ns >= proc->launched_ns
		       ? 0
		       : UINT64_MAX;
}

struct event_usage sluice_gate_usage(const struct sluice_gate *gate, uint64_t now_ns)
{
	return (struct event_usage){
		.launched_ns = gate->proc->launched_ns,
		.completed_ns = gate->proc->seen_ns,
		.completed_at_ns = gate->completed_at_ns,
		.copies_ns = gate->copies_until_ns == gate->proc->launched_ns
				     ? gate->copies_until_ns - gate->copies_from_ns
				     : 0,
		.active = gate->proc->latency && gate->counts && gate->proc->active,
		.idle_since_ns = gate->proc->idle_since_ns,
		.held_ns = gate->counted_ns + (gate->counted ? now_ns - gate->counted_since_ns : 0),
		.want = gate->counted};
}

void sluice_gate_grant(struct sluice_gate *gate, const struct grant *grant)
{
	bool was_open = !(gate->word & 1);

	gate->grant = *grant;
	if (was_open != grant->open)
		gate->word++;
}
