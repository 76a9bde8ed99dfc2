/* SPDX-License-Identifier: Apache-2.0 */
#include "activity.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "fd_info.h"
#include "futex.h"
#include "gate.h"
#include "gate_decide.h"
#include "request.h"
#include "shim.h"

#define PLACES (SLUICE_MAX_DEVICES * SLUICE_MAX_ACTIVITY)
_Static_assert(sizeof(struct sluice_activity) <= SHIM_PAGE, "a place holds the page");

#define GUARD_DEFAULT_NS 60000u

struct activity_place {
	_Atomic uint32_t generation; /* of the page mapped there; 0: none. Under gate->lock */
	uint32_t owner_device;
};

static struct {
	_Atomic(struct gate *) idle_gate; /* of shim.idle */
	unsigned char *base;		  /* PLACES places to read at, then one for our own page */
	size_t place_bytes;		  /* a page of the machine's */
	struct activity_place place[SLUICE_MAX_DEVICES][SLUICE_MAX_ACTIVITY];
	_Atomic(struct sluice_activity *) own; /* NULL: we have none */
	struct fd_info own_file;
	_Atomic uint32_t own_device[SLUICE_MAX_DEVICES];
} state;

const _Atomic uint64_t activity_none;

/* ---- reader ---- */

static int place_reserve(void)
{
	void *base;

	if (state.base)
		return 0;
	state.place_bytes = getauxval(AT_PAGESZ);
	base = mmap(NULL, (PLACES + 1) * state.place_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	if (base == MAP_FAILED)
		return -errno;
	state.base = base;
	return 0;
}

static void *place_address(uint32_t device, uint32_t slot)
{
	return state.base + (device * SLUICE_MAX_ACTIVITY + slot) * state.place_bytes;
}

/* Maps a page over its place in one step, whatever fails: before Linux 6.13 the kernel refuses a sealed
 * file only when it has unmapped what was there, hence the detour. */
static int place_map(void *address, int protection, int fd)
{
	size_t bytes = state.place_bytes;
	struct fd_info about;
	void *fresh;
	int error;

	/* A file that could shrink under us would fault. */
	if (!fd_look(fd, &about) || about.bytes < sizeof(struct sluice_activity))
		return -EINVAL;
	fresh = mmap(NULL, bytes, protection, MAP_SHARED, fd, 0);
	if (fresh == MAP_FAILED)
		return -errno;
	if (mremap(fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) != MAP_FAILED)
		return 0;
	error = -errno;
	munmap(fresh, bytes);
	return error;
}

static bool is_valid(const struct sluice_msg_activity *about)
{
	return about->device < SLUICE_MAX_DEVICES && about->slot < SLUICE_MAX_ACTIVITY &&
	       about->owner_device < SLUICE_MAX_DEVICES;
}

static void place_set(const struct sluice_msg_activity *about, uint32_t generation)
{
	struct gate *gate = gate_at(about->device);
	struct activity_place *place = &state.place[about->device][about->slot];

	futex_lock(&gate->lock);
	place->owner_device = about->owner_device;
	place->generation = generation;
	gate->watch_stale = true;
	futex_unlock(&gate->lock);
}

int activity_see(const struct sluice_msg_activity *about, int fd)
{
	int result = is_valid(about) && about->generation ? place_reserve() : -EINVAL;

	if (result)
		return result;
	place_set(about, 0);
	result = place_map(place_address(about->device, about->slot), PROT_READ, fd);
	if (!result)
		place_set(about, about->generation);
	return result;
}

void activity_drop(const struct sluice_msg_activity *about)
{
	if (!is_valid(about) || !state.base)
		return;
	place_set(about, 0);
	mmap(place_address(about->device, about->slot), state.place_bytes, PROT_READ,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void activity_refresh(struct gate *gate)
{
	struct sluice_grant *grant = &gate->page->grant;

	gate->watch_count = 0;
	for (uint32_t slot = 0; slot < SLUICE_MAX_ACTIVITY; slot++) {
		struct activity_place *place = &state.place[gate->index][slot];
		uint32_t generation = atomic_load_explicit(&grant->activity[slot].generation,
							   memory_order_relaxed);
		const struct sluice_activity *page;

		if (!generation || generation != place->generation)
			continue;
		page = place_address(gate->index, slot);
		gate->watch[gate->watch_count++] = &page->device[place->owner_device];
	}
}

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* What the arbiter saw still is this very request, and not the one after it. */
static bool is_still(const struct gate *gate, const struct sluice_activity_device *device,
		     uint64_t word)
{
	size_t place = (size_t)((const unsigned char *)device - state.base) / state.place_bytes;
	uint32_t epoch = atomic_load_explicit(
		&gate->page->grant.activity[place % SLUICE_MAX_ACTIVITY].still_epoch,
		memory_order_relaxed);

	return epoch && epoch == sluice_activity_epoch(word);
}

void activity_look(const struct gate *gate, uint64_t now_ns, struct gate_view *view)
{
	view->active = view->is_still = false;
	view->activity = NULL;
	view->idle_since_ns = view->drain_ns = view->busy_since_ns = 0;
	for (uint32_t i = 0; i < gate->watch_count; i++) {
		const struct sluice_activity_device *device = gate->watch[i];
		/* The futex word first: a clear between the two loads then ends the wait at once. */
		uint32_t wake = atomic_load_explicit(&device->wake, memory_order_acquire);
		uint64_t word = atomic_load_explicit(&device->word, memory_order_acquire);
		uint64_t since_ns = load(&device->idle_since_ns);
		uint64_t busy_ns = load(&device->busy_since_ns);

		if (sluice_activity_active(word)) {
			view->active = true;
			view->activity = device;
			view->wake = wake;
			view->busy_since_ns = 0;
			view->is_still = is_still(gate, device, word);
			view->is_told = sluice_activity_active(word) != SLUICE_ACTIVITY_RAISED;
			if (!view->is_told)
				return;
			view->drain_ns = load(&device->drain_ns);
			view->busy_since_ns = busy_ns < now_ns ? busy_ns : now_ns;
			return;
		}
		/* A time in the future is a lie that would hold us for ever. */
		if (since_ns > now_ns)
			since_ns = now_ns;
		if (busy_ns > view->busy_since_ns && busy_ns <= now_ns) {
			view->busy_since_ns = busy_ns;
			view->activity = device;
			view->wake = wake;
		}
		if (since_ns > view->idle_since_ns)
			view->idle_since_ns = since_ns;
	}
}

uint32_t activity_generation(const struct sluice_activity_device *activity)
{
	/* Places are pages of the machine's. */
	const struct sluice_activity *page =
		(const struct sluice_activity *)((uintptr_t)activity &
						 ~(uintptr_t)(state.place_bytes - 1));

	return page->generation;
}

/* ---- owner ---- */

static struct sluice_activity_device *own_device(const struct gate *gate)
{
	/* Without the lock only as a hint of what to fetch. */
	struct sluice_activity *own = atomic_load_explicit(&state.own, memory_order_acquire);
	uint32_t device =
		atomic_load_explicit(&state.own_device[gate->index], memory_order_relaxed);

	return own ? &own->device[device] : NULL;
}

/* Changes the count of active streams; epoch moves, once for a raise and its mark. Only this process
 * writes the word, and all its writers hold gate->lock but for activity_raise. */
static void own_change(struct sluice_activity_device *device, uint32_t active)
{
	uint64_t old = load(&device->word), new;
	bool is_raised;

	do {
		is_raised = sluice_activity_active(old) == SLUICE_ACTIVITY_RAISED;
		new = (uint64_t)(sluice_activity_epoch(old) + !is_raised) << 32 | active;
	} while (!atomic_compare_exchange_weak_explicit(
		&device->word, &old, new, memory_order_acq_rel, memory_order_relaxed));
}

/* With gate->lock. A process of several GPUs launches on some of them while others are idle: there
 * each launch would begin with a look at what is not its own. */
static void idle_set(struct gate *gate)
{
	struct sluice_activity_device *device = own_device(gate);
	bool is_idle = device && gate->page && !gate->marked && shim.device_count == 1 &&
		       request_is_tracked(gate);

	if (is_idle == ((shim_flags() & SHIM_IDLE) != 0))
		return;
	if (is_idle) {
		atomic_store_explicit(&state.idle_gate, gate, memory_order_relaxed);
		atomic_store_explicit(&shim.idle, device, memory_order_relaxed);
	}
	/* Releases both; pairs with the acquire in launch_begin. */
	shim_set_flags(is_idle ? SHIM_IDLE : 0, is_idle ? 0 : SHIM_IDLE);
}

void activity_tracked(struct gate *gate)
{
	idle_set(gate);
}

static void wake_one(struct gate *gate, struct sluice_activity_device *device)
{
	/* After the word: whoever reads the new count finds the word idle. */
	atomic_fetch_add_explicit(&device->wake, 1, memory_order_release);
	if (atomic_load_explicit(&gate->page->grant.flags, memory_order_relaxed) &
	    SLUICE_GRANT_WAITERS)
		futex_wake(&device->wake, 1);
}

void activity_lower(void)
{
	struct sluice_activity_device *device =
		atomic_load_explicit(&shim.idle, memory_order_relaxed);
	uint64_t old = load(&device->word);

	shim_thread.is_raised = 0;
	if (sluice_activity_active(old) != SLUICE_ACTIVITY_RAISED ||
	    !atomic_compare_exchange_strong_explicit(
		    &device->word, &old, (uint64_t)(sluice_activity_epoch(old) + 1) << 32,
		    memory_order_acq_rel, memory_order_relaxed))
		return;
	/* As wake_one, but for the grant, which is the lock's. */
	atomic_fetch_add_explicit(&device->wake, 1, memory_order_release);
	futex_wake(&device->wake, 1);
}

void activity_settle(void)
{
	struct gate *gate = atomic_load_explicit(&state.idle_gate, memory_order_relaxed);
	struct sluice_activity_device *device;

	futex_lock(&gate->lock);
	device = own_device(gate);
	if (device && !gate->marked &&
	    sluice_activity_active(load(&device->word)) == SLUICE_ACTIVITY_RAISED) {
		own_change(device, 0);
		wake_one(gate, device);
	}
	futex_unlock(&gate->lock);
}

/* Work that is marked now is marked in the new page. */
static void own_settle(uint32_t index, const struct sluice_msg_activity *about)
{
	struct gate *gate = gate_at(index);

	futex_lock(&gate->lock);
	if (index == about->device)
		state.own_device[index] = about->owner_device;
	if (gate->marked)
		own_change(own_device(gate), gate->marked);
	if (index == about->device)
		idle_set(gate);
	futex_unlock(&gate->lock);
}

/* Right before the flags, but where a larger page would cover them as well. */
static void *own_place(void)
{
	if (state.own)
		return state.own;
	return state.place_bytes == SHIM_PAGE ? shim.near : state.base + PLACES * state.place_bytes;
}

static int own_map(int fd)
{
	void *place = own_place();
	struct fd_info about;
	int result;

	/* It comes once for each device, and cannot be mapped to be written once it is sealed. */
	if (state.own && fd_look(fd, &about) && fd_is_same(&about, &state.own_file))
		return 0;
	result = place_map(place, PROT_READ | PROT_WRITE, fd);
	if (result)
		return result;
	(void)fd_look(fd, &state.own_file);
	/* A child of fork does not raise it. Among the library's own data there is to be no hole. */
	if (place != shim.near)
		madvise(place, state.place_bytes, MADV_DONTFORK);
	return 0;
}

int activity_own(const struct sluice_msg_activity *about, int fd)
{
	int result = is_valid(about) ? place_reserve() : -EINVAL;

	if (!result)
		result = own_map(fd);
	if (result)
		return result;
	for (uint32_t i = 0; !state.own && i < SLUICE_MAX_DEVICES; i++)
		state.own_device[i] = i;
	/* Before the marks: one that is cleared meanwhile must find the page. */
	state.own = own_place();
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		own_settle(i, about);
	return 0;
}

void activity_mark(struct gate *gate, uint64_t now_ns, uint64_t drain_ns)
{
	struct sluice_activity_device *device = own_device(gate);
	uint64_t guard_ns = load(&gate->page->grant.guard_ns);

	gate->marked++;
	if (!device)
		return;
	if (gate->marked == 1) {
		uint64_t idle_ns = load(&device->idle_since_ns);

		if (!idle_ns || now_ns - idle_ns >= (guard_ns ? guard_ns : GUARD_DEFAULT_NS))
			atomic_store_explicit(&device->busy_since_ns, now_ns, memory_order_relaxed);
		atomic_store_explicit(&device->drain_ns, drain_ns, memory_order_relaxed);
		atomic_store_explicit(&device->requests, load(&device->requests) + 1,
				      memory_order_relaxed);
	}
	/* Releases the stores above; pairs with the acquire in activity_look. */
	own_change(device, gate->marked);
	idle_set(gate);
}

void activity_clear(struct gate *gate, uint64_t now_ns)
{
	struct sluice_activity_device *device = own_device(gate);

	gate->marked--;
	if (!device)
		return;
	if (gate->marked) {
		own_change(device, gate->marked);
		return;
	}
	atomic_store_explicit(&device->idle_since_ns, now_ns, memory_order_relaxed);
	atomic_store_explicit(&device->drain_ns, 0, memory_order_relaxed);
	own_change(device, 0);
	wake_one(gate, device);
	idle_set(gate);
}

void activity_warm(const struct gate *gate)
{
	const struct sluice_activity_device *device = own_device(gate);

	if (device)
		__builtin_prefetch(device, 1);
	__builtin_prefetch(&gate->page->grant.flags);
}

void activity_forked(void)
{
	/* The parent's. */
	if ((void *)state.own == shim.near)
		mmap(shim.near, SHIM_PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	state.base = NULL;
	state.own = NULL;
	shim_set_flags(0, SHIM_IDLE);
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++) {
		for (uint32_t j = 0; j < SLUICE_MAX_ACTIVITY; j++)
			state.place[i][j] = (struct activity_place){0};
	}
}
