/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

#include "activity.h"
#include "link.h"
#include "shim.h"
#include "sluice/clock.h"
#include "watch.h"

#define KINDS 64		   /* of requests, told apart by what they launch first */
#define KNOWN_AFTER 3		   /* requests of a kind before its end is predicted */
#define RANGE_KIND 0x72616e6765ull /* of ranges: there is one name a tenant */
#define SMOOTHING 8		   /* a new length counts one eighth ... */
#define STEP 64			   /* ... and moves the mean by a sixty-fourth of itself at most */
#define ASSISTS 4u		   /* requests in a row that the application must show the end of */
#define SHOWN_NS SLUICE_NS_PER_MS  /* so much later than it was found, it was about to be shown */
#define LOOK_LEAST_NS 200000u	   /* between two looks: a thirty-second of what has passed, ... */
#define LOOK_MOST_NS 1000000u	   /* ... at most so long ... */
#define LOOK_LATE_NS 10000000u	   /* ... or, long after it was expected, so long */
#define LATE_NS 100000000u
#define SETTLE_LEAST_NS 50000u /* so long nothing may come once all is empty, for it to be an end */
#define SETTLE_MOST_NS 5000000u
#define SETTLE_ASKED_NS 2000000u

struct request_kind {
	uint64_t key;
	uint64_t length_ns; /* moving mean */
	uint32_t seen;
};

struct request_device {
	uint64_t started_ns;			 /* 0: none open */
	uint64_t last_started_ns, last_ended_ns; /* whatever comes of it; 0: never */
	uint64_t range_ended_ns;		 /* the last that was noted */
	uint32_t kind;
	bool alone;	 /* nothing of another process ran when it started */
	uint8_t assists; /* the end of so many more is looked for, if each is shown; 0: of none */
	bool is_shown;	 /* the end of the latest, by the application itself */
	uint64_t launched_ns, launches; /* of the gate, when it started */
	bool tracked;
	uint64_t found_ns;  /* its end, by looking; 0: it was not */
	uint64_t settle_ns; /* 0: the least */
	struct request_kind kinds[KINDS];
};

static struct request_device devices[SLUICE_MAX_DEVICES];

static uint32_t grant_flags(const struct gate *gate)
{
	return atomic_load_explicit(&gate->page->grant.flags, memory_order_relaxed);
}

bool request_is_tracked(const struct gate *gate)
{
	return (grant_flags(gate) & (SLUICE_GRANT_LATENCY | SLUICE_GRANT_EXCESS)) ==
	       SLUICE_GRANT_LATENCY;
}

/* ---- ends that only looking shows ---- */

/* Whether the ends of this process's requests are looked for is the arbiter's to read, too. */
static void assist(struct gate *gate, uint8_t requests)
{
	_Atomic uint32_t *said = &sluice_channel_of(gate->page, gate->index)->assisted;
	uint32_t bit = 1u << gate->index;

	devices[gate->index].assists = requests;
	if (requests)
		atomic_fetch_or_explicit(said, bit, memory_order_relaxed);
	else if (atomic_load_explicit(said, memory_order_relaxed) & bit)
		atomic_fetch_and_explicit(said, ~bit, memory_order_relaxed);
}

/* An end that was found, and at once there is more: a gap within a request. The next one must be
 * longer to be taken for an end. */
static void settle_learn(struct request_device *device, uint64_t now_ns)
{
	uint64_t settle_ns = device->settle_ns ? device->settle_ns : SETTLE_LEAST_NS;

	if (device->found_ns && now_ns - device->last_ended_ns < 4 * settle_ns)
		settle_ns *= 2;
	else
		settle_ns -= (settle_ns - SETTLE_LEAST_NS) / 16;
	device->settle_ns = settle_ns < SETTLE_MOST_NS ? settle_ns : SETTLE_MOST_NS;
}

/* A request has been opened. The one before it tells whether this one's end is looked for. */
static void assist_next(struct gate *gate, struct request_device *device, uint64_t now_ns)
{
	settle_learn(device, now_ns);
	assist(gate, device->is_shown ? (uint8_t)(device->assists - 1) : ASSISTS);
	device->is_shown = false;
	device->found_ns = 0;
	if (device->assists)
		watch_wake();
}

void request_shown(struct gate *gate, uint64_t now_ns)
{
	struct request_device *device = &devices[gate->index];

	if (unlikely(device->assists) &&
	    (!device->found_ns || now_ns - device->found_ns < SHOWN_NS))
		device->is_shown = true;
}

void request_found(struct gate *gate, uint64_t now_ns)
{
	struct request_device *device = &devices[gate->index];

	device->found_ns = now_ns;
	if (!device->assists)
		assist(gate, ASSISTS);
}

uint64_t request_settle_ns(const struct gate *gate)
{
	const struct request_device *device = &devices[gate->index];

	if (!device->assists)
		return SETTLE_ASKED_NS;
	return device->settle_ns ? device->settle_ns : SETTLE_LEAST_NS;
}

/* Well before the end that is expected: what ends sooner than it is looked at is taken to end then,
 * and what is expected would only grow. */
uint64_t request_look_ns(const struct gate *gate, uint64_t looked_ns)
{
	const struct request_device *device = &devices[gate->index];
	const struct request_kind *kind = &device->kinds[device->kind];
	uint64_t length_ns = kind->seen < KNOWN_AFTER ? 0 : kind->length_ns, passed_ns, step_ns;
	uint64_t first_ns = length_ns - length_ns / 8;

	if (!device->assists || !device->started_ns)
		return 0;
	if (first_ns < LOOK_LEAST_NS)
		first_ns = LOOK_LEAST_NS;
	passed_ns = looked_ns > device->started_ns ? looked_ns - device->started_ns : 0;
	if (passed_ns < first_ns)
		return device->started_ns + first_ns;
	step_ns = passed_ns > 2 * length_ns + LATE_NS ? LOOK_LATE_NS : LOOK_MOST_NS;
	if (step_ns > passed_ns / 32)
		step_ns = passed_ns / 32 > LOOK_LEAST_NS ? passed_ns / 32 : LOOK_LEAST_NS;
	return looked_ns + step_ns;
}

void request_retrack(struct gate *gate)
{
	struct request_device *device = &devices[gate->index];
	bool tracked = request_is_tracked(gate);

	if (tracked == device->tracked)
		return;
	device->tracked = tracked;
	for (uint32_t i = 0; i < gate->stream_count; i++) {
		if (!gate->stream[i]->dead)
			atomic_store_explicit(&gate->stream[i]->quiet, tracked,
					      memory_order_seq_cst);
	}
	while (gate->marked)
		activity_clear(gate, sluice_now_ns());
	activity_tracked(gate);
	device->started_ns = 0;
}

/* No other process is on the device at all. */
static bool is_alone(const struct gate *gate)
{
	return (grant_flags(gate) & (SLUICE_GRANT_EXCLUSIVE | SLUICE_GRANT_WAITERS)) ==
	       SLUICE_GRANT_EXCLUSIVE;
}

/* All that the process has launched under this page. */
static void sum_launched(const struct gate *gate, uint64_t *ret_ns, uint64_t *ret_count)
{
	*ret_ns = *ret_count = 0;
	for (uint32_t i = 0; i < gate->lanes; i++) {
		const struct sluice_slot *slot = &gate->page->slot[i];

		*ret_ns += atomic_load_explicit(&slot->launched_ns, memory_order_relaxed);
		*ret_count += atomic_load_explicit(&slot->launches, memory_order_relaxed);
	}
}

static void open_request(struct gate *gate, uint64_t key, uint64_t now_ns)
{
	struct request_device *device = &devices[gate->index];
	struct request_kind *kind = &device->kinds[key % KINDS];

	if (kind->key != key)
		*kind = (struct request_kind){.key = key};
	device->kind = (uint32_t)(key % KINDS);
	device->started_ns = device->last_started_ns = now_ns;
	device->alone = is_alone(gate);
	sum_launched(gate, &device->launched_ns, &device->launches);
	activity_mark(gate, now_ns, kind->seen < KNOWN_AFTER ? 0 : now_ns + kind->length_ns);
	if (unlikely(device->assists))
		assist_next(gate, device, now_ns);
}

void request_launch(struct stream_state *stream, uint64_t key, uint64_t now_ns)
{
	struct gate *gate = stream->gate;

	if (!atomic_exchange_explicit(&stream->quiet, 0, memory_order_seq_cst))
		return;
	if (!gate->marked)
		open_request(gate, key, now_ns);
	else
		activity_mark(gate, now_ns, 0);
}

void request_warm(const struct gate *gate, uint64_t key)
{
	const struct request_device *device = &devices[gate->index];

	__builtin_prefetch(&device->started_ns, 1);
	__builtin_prefetch(&device->kinds[key % KINDS], 1);
}

static void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

/* Of the first few the shortest; then a mean that no single request moves far: one that was
 * interrupted says nothing of the others. */
static void kind_learn(struct request_kind *kind, uint64_t length_ns)
{
	int64_t most_ns = (int64_t)(kind->length_ns / STEP);
	int64_t step_ns = (int64_t)(length_ns - kind->length_ns) / SMOOTHING;

	if (kind->seen < KNOWN_AFTER) {
		if (!kind->seen++ || length_ns < kind->length_ns)
			kind->length_ns = length_ns;
		return;
	}
	if (step_ns > most_ns)
		step_ns = most_ns;
	if (step_ns < -most_ns)
		step_ns = -most_ns;
	kind->length_ns += (uint64_t)step_ns;
}

/* For the arbiter's controller. Single writer: gate->lock. */
static void ring_add(struct gate *gate, const struct sluice_request_record *record)
{
	struct sluice_request_ring *ring =
		&sluice_channel_of(gate->page, gate->index)->request[gate->index];
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

	ring->record[head % SLUICE_REQUEST_RECORDS] = *record;
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

static void note_request(struct gate *gate, const struct request_device *device, uint64_t end_ns)
{
	struct sluice_request_record record = {.start_ns = device->started_ns,
					       .end_ns = end_ns,
					       .kind = device->kinds[device->kind].key};
	uint64_t launched_ns, launches;

	if (device->alone && is_alone(gate))
		record.flags |= SLUICE_REQUEST_ALONE;
	sum_launched(gate, &launched_ns, &launches);
	/* A page that came in mid-request starts its own counts. */
	if (launched_ns >= device->launched_ns && launches >= device->launches) {
		record.launched_ns = launched_ns - device->launched_ns;
		record.launches = (uint32_t)(launches - device->launches);
	}
	ring_add(gate, &record);
}

static void close_request(struct gate *gate, uint64_t now_ns)
{
	struct request_device *device = &devices[gate->index];
	struct request_kind *kind = &device->kinds[device->kind];
	struct sluice_counters *counters = &gate->page->counters;
	uint64_t target_ns = link_target_ns();
	/* Another thread may have begun it after the caller looked at the clock. */
	uint64_t end_ns = now_ns > device->started_ns ? now_ns : device->started_ns;
	uint64_t length_ns = end_ns - device->started_ns;

	if (!device->started_ns)
		return;
	note_request(gate, device, end_ns);
	device->started_ns = 0;
	device->last_ended_ns = now_ns;
	kind_learn(kind, length_ns);
	sluice_hist_add(&gate->page->service, length_ns);
	count(&counters->requests);
	if (target_ns && length_ns > target_ns && !link_counts_ranges())
		count(&counters->requests_late);
	if (device->alone && is_alone(gate))
		count(&counters->requests_alone);
}

void request_stream_drained(struct stream_state *stream, uint64_t now_ns)
{
	struct gate *gate = stream->gate;

	if (!gate->marked)
		return;
	if (!now_ns)
		now_ns = sluice_now_ns();
	/* The gates first, the books after. */
	activity_clear(gate, now_ns);
	if (!gate->marked)
		close_request(gate, now_ns);
}

bool request_drained(struct stream_state *stream, uint64_t launched_ns, uint64_t now_ns)
{
	if (atomic_exchange_explicit(&stream->quiet, 1, memory_order_seq_cst))
		return true;
	if (atomic_load_explicit(&stream->launched_ns, memory_order_seq_cst) != launched_ns) {
		atomic_store_explicit(&stream->quiet, 0, memory_order_seq_cst);
		return false;
	}
	request_stream_drained(stream, now_ns);
	return true;
}

/* Its first launch: of the range before it if that ended later than this one came. */
static uint64_t range_start(const struct request_device *device, uint64_t arrival_ns,
			    uint64_t end_ns)
{
	uint64_t ready_ns =
		arrival_ns > device->range_ended_ns ? arrival_ns : device->range_ended_ns;

	if (device->last_started_ns > ready_ns && device->last_started_ns <= end_ns)
		return device->last_started_ns;
	return ready_ns < end_ns ? ready_ns : end_ns;
}

/* With gate->lock. */
static void note_range(struct gate *gate, uint64_t arrival_ns, uint64_t end_ns)
{
	struct request_device *device = &devices[gate->index];
	uint64_t target_ns = link_target_ns();
	struct sluice_request_record record = {.arrival_ns = arrival_ns,
					       .end_ns = end_ns,
					       .kind = RANGE_KIND,
					       .flags = SLUICE_REQUEST_RANGE};

	if (!device->tracked || (!device->started_ns && device->last_ended_ns < arrival_ns))
		return;
	record.start_ns = range_start(device, arrival_ns, end_ns);
	device->range_ended_ns = end_ns;
	ring_add(gate, &record);
	if (target_ns && end_ns - arrival_ns > target_ns)
		count(&gate->page->counters.requests_late);
}

void request_range(uint64_t arrival_ns, uint64_t end_ns)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		struct gate *gate = gate_at(i);

		if (!gate->page)
			continue;
		futex_lock(&gate->lock);
		/* Its ends may have been seen in another order by two threads. */
		if (gate->page && end_ns >= devices[i].range_ended_ns)
			note_range(gate, arrival_ns, end_ns);
		futex_unlock(&gate->lock);
	}
}

void request_forked(void)
{
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		devices[i] = (struct request_device){0};
}
