/* SPDX-License-Identifier: Apache-2.0 */
#include "link.h"

#include <errno.h>
#include <string.h>

#include "cancel.h"
#include "escrow_client.h"
#include "gate.h"
#include "link_device.h"
#include "link_session.h"
#include "shim.h"
#include "shim_log.h"

#define ATTACH_NS (2 * SLUICE_NS_PER_S) /* for an arbiter that is there and slow */
#define ANSWER_NS (2 * SLUICE_NS_PER_S) /* for a device: without it, unmanaged for a while */
#define QUERY_NS (500 * SLUICE_NS_PER_MS)
#define HUNG_NS SLUICE_NS_PER_S		  /* without a heartbeat */
#define LOOK_NS (5 * SLUICE_NS_PER_MS)	  /* between two looks for a hang-up */
#define RETRY_NS (100 * SLUICE_NS_PER_MS) /* between two attempts to connect */

static struct {
	_Atomic uint32_t away;
	bool has_asked;		   /* for a session; under session.lock */
	_Atomic uint64_t look_ns;  /* when to look at the socket again */
	_Atomic uint64_t retry_ns; /* when to connect again */
	_Atomic uint32_t mail[SLUICE_MAX_DEVICES];
} link_now;

static struct sluice_channel *channel_now(void)
{
	/* Pairs with the release in pages_adopt. */
	return atomic_load_explicit(&session.channel, memory_order_acquire);
}

/* Both return what session_release takes; session_try: -1, somebody else holds it. */
static int session_hold(void)
{
	int cancel = cancel_hold();

	futex_lock(&session.lock);
	return cancel;
}

static int session_try(void)
{
	uint32_t free_state = 0;
	int cancel = cancel_hold();

	if (atomic_compare_exchange_strong_explicit(&session.lock.state, &free_state, 1,
						    memory_order_acquire, memory_order_relaxed))
		return cancel;
	cancel_resume(cancel);
	return -1;
}

static void session_release(int cancel)
{
	futex_unlock(&session.lock);
	cancel_resume(cancel);
}

/* ---- devices --------------------------------------------------------------------------------------- */

/* With session.lock. */
static int device_ask(uint32_t ordinal, uint32_t held_units, struct sluice_msg_device *ret_about,
		      struct sluice_msg_device_ok *ret_ok)
{
	struct sluice_packet answer;
	int result;

	link_describe(ordinal, ret_about);
	ret_about->held_bytes = held_units * (uint64_t)SLUICE_ESCROW_UNIT;
	result = session_ask(ret_about, SLUICE_MSG_DEVICE, sizeof(*ret_about),
			     sluice_now_ns() + ANSWER_NS, &answer);
	if (result)
		return result;
	sluice_wire_copy(&answer, ret_ok, sizeof(*ret_ok));
	sluice_wire_close_fds(&answer);
	if (answer.header.type == SLUICE_MSG_REFUSED)
		return session_refused(&answer);
	if (answer.header.type != SLUICE_MSG_DEVICE_OK)
		return -EPROTO;
	if (ret_ok->header.status)
		return ret_ok->header.status;
	return ret_ok->index < SLUICE_MAX_DEVICES ? 0 : -EPROTO;
}

/* The device's part of the channel page; not under session.lock: the gate is locked. */
static void device_home(uint32_t ordinal, uint32_t index)
{
	struct sluice_channel_device *page = &channel_now()->device[index];

	atomic_store_explicit(&shim.device[ordinal].channel, page, memory_order_release);
	gate_rehome(index, ordinal, page);
}

/* ---- the session's life -------------------------------------------------------------------------------- */

static void set_away(bool away)
{
	if (atomic_exchange_explicit(&link_now.away, away, memory_order_relaxed) == away)
		return;
	shim_set_flags(away ? SHIM_AWAY : 0, away ? 0 : SHIM_AWAY);
	shim_log(SHIM_LOG_ERROR, away ? "arbiter gone or hung" : "arbiter back");
}

/* Nobody listens or answers, or has hung up. */
static bool is_away(int error)
{
	return error == -EAGAIN || error == -ECONNREFUSED || error == -ECONNRESET ||
	       error == -ENOTCONN || error == -EPIPE || error == -ETIMEDOUT;
}

const char *link_why(int error)
{
	switch (error) {
	case -ECANCELED: return "the tenant bypasses";
	case LINK_REFUSED: return "the arbiter refuses";
	case -EACCES: return "no permission to connect to the arbiter";
	case -EAGAIN:
	case -ENOENT:
	case -ECONNREFUSED: return "no arbiter";
	default: return NULL;
	}
}

int link_attach(void)
{
	int saved = errno, cancel;
	int result;

	cancel = session_hold();
	result = session.greeted ? 0 : session_greet();
	if (!result)
		result = session_welcome(sluice_now_ns() + (link_now.has_asked ? 0 : ATTACH_NS));
	/* An answer may still come. */
	if (result && result != -EAGAIN)
		session_close();
	link_now.has_asked = true;
	shim.mem_deadline_ns = session.mem_deadline_ns;
	session_release(cancel);
	errno = saved;
	if (!result && !session.managed)
		return -ECANCELED;
	return is_away(result) || (result == -ENOENT && session_is_expected()) ? -EAGAIN : result;
}

static bool has_heartbeat(const struct sluice_channel *channel, uint64_t now_ns)
{
	uint64_t beat_ns = atomic_load_explicit(&channel->heartbeat_ns, memory_order_relaxed);

	if (beat_ns < session.up_since_ns)
		beat_ns = session.up_since_ns;
	return beat_ns > now_ns || now_ns - beat_ns <= HUNG_NS;
}

/* Into the new session, with what it holds if the page is another. */
static int device_again(uint32_t index)
{
	struct session_device *again = &session.device[index];
	struct shim_device *device = &shim.device[again->ordinal];
	struct sluice_msg_device about;
	struct sluice_msg_device_ok ok;
	int result =
		device_ask(again->ordinal, again->rehome ? escrow_leave(device) : 0, &about, &ok);

	if (result)
		return result;
	/* Gates and accounts go by the index: an arbiter that numbers them otherwise cannot have
	 * them. */
	if (ok.index != index)
		return -EPROTO;
	if (again->rehome)
		escrow_rehome(device, &session.escrow->device[index].word);
	again->rehome = false;
	device_home(again->ordinal, index);
	return 0;
}

/* With session.lock. */
static int devices_again(void)
{
	int result = 0;

	for (uint32_t i = 0; !result && i < SLUICE_MAX_DEVICES; i++)
		result = session.device[i].used ? device_again(i) : 0;
	return result;
}

/* One step towards a new session, without waiting for an arbiter that hangs. With session.lock. */
static void reconnect(uint64_t now_ns)
{
	int result = 0;

	if (!session.greeted)
		result = session_greet();
	if (!result)
		result = session_welcome(now_ns);
	if (!result)
		result = devices_again();
	if (!result)
		set_away(false);
	else if (result != -EAGAIN)
		session_close();
}

/* The session to ask in; where it is gone, a step towards the next. With session.lock. */
static int session_again(uint64_t now_ns)
{
	if (session.fd < 0 || session.greeted) {
		/* Whoever else looks at the socket must not take the answer for mail. */
		set_away(true);
		reconnect(now_ns);
	} else if (!has_heartbeat(channel_now(), now_ns)) {
		return -ETIMEDOUT;
	}
	return session.fd < 0 || session.greeted ? -ENOTCONN : 0;
}

int link_device_register(uint32_t ordinal)
{
	struct shim_device *device = &shim.device[ordinal];
	struct sluice_msg_device about;
	struct sluice_msg_device_ok ok;
	int saved = errno, cancel;
	int result;

	cancel = session_hold();
	result = session_again(sluice_now_ns());
	if (!result)
		result = device_ask(ordinal, 0, &about, &ok);
	if (!result) {
		session.device[ok.index] =
			(struct session_device){.used = true, .ordinal = ordinal};
		device->index = ok.index;
		memcpy(device->uuid, about.uuid, sizeof(device->uuid));
		atomic_store_explicit(&device->escrow, &session.escrow->device[ok.index].word,
				      memory_order_release);
		device_home(ordinal, ok.index);
		atomic_store_explicit(&device->state, SHIM_DEVICE_MANAGED, memory_order_release);
	}
	session_release(cancel);
	errno = saved;
	return is_away(result) ? -EAGAIN : result;
}

static void tick_away(struct sluice_channel *channel, uint64_t now_ns)
{
	int cancel;

	if (now_ns < atomic_load_explicit(&link_now.look_ns, memory_order_relaxed))
		return;
	cancel = session_try();
	if (cancel < 0)
		return;
	atomic_store_explicit(&link_now.look_ns, now_ns + LOOK_NS, memory_order_relaxed);
	if (link_now.away && session.fd >= 0 && !session.greeted) {
		/* Hung, not gone: the connection is good as long as it is there. */
		if (session_serve() && has_heartbeat(channel, now_ns))
			set_away(false);
	} else if (link_now.away &&
		   now_ns >= atomic_load_explicit(&link_now.retry_ns, memory_order_relaxed)) {
		atomic_store_explicit(&link_now.retry_ns, now_ns + RETRY_NS, memory_order_relaxed);
		reconnect(now_ns);
	}
	session_release(cancel);
}

/* Mail, and whether the other end is there. */
static void tick_up(struct sluice_channel *channel, uint32_t device_index, uint64_t now_ns)
{
	uint32_t mail = atomic_load_explicit(&channel->device[device_index].grant.mail,
					     memory_order_acquire);
	int cancel;

	if (!has_heartbeat(channel, now_ns)) {
		set_away(true);
		return;
	}
	if (mail == atomic_load_explicit(&link_now.mail[device_index], memory_order_relaxed) &&
	    now_ns < atomic_load_explicit(&link_now.look_ns, memory_order_relaxed))
		return;
	cancel = session_try();
	if (cancel < 0)
		return;
	atomic_store_explicit(&link_now.look_ns, now_ns + LOOK_NS, memory_order_relaxed);
	atomic_store_explicit(&link_now.mail[device_index], mail, memory_order_relaxed);
	if (!session_serve()) {
		set_away(true);
		atomic_store_explicit(&link_now.retry_ns, now_ns, memory_order_relaxed);
	}
	session_release(cancel);
}

enum link_state link_tick(uint32_t device_index, uint64_t now_ns)
{
	struct sluice_channel *channel = channel_now();
	int saved;

	if (!channel)
		return LINK_OPEN;
	saved = errno;
	if (likely(!atomic_load_explicit(&link_now.away, memory_order_relaxed)))
		tick_up(channel, device_index, now_ns);
	if (unlikely(atomic_load_explicit(&link_now.away, memory_order_relaxed)))
		tick_away(channel, now_ns);
	errno = saved;
	if (likely(!atomic_load_explicit(&link_now.away, memory_order_relaxed)))
		return LINK_UP;
	return session.fail_mode == SLUICE_FAIL_OPEN ? LINK_OPEN : LINK_HOLD;
}

uint64_t link_hold_ns(void)
{
	return session.fail_mode == SLUICE_FAIL_CLOSED ? UINT64_MAX : session.fail_deadline_ns;
}

uint64_t link_patience_ns(void)
{
	return session.fail_mode == SLUICE_FAIL_OPEN ? 0 : link_hold_ns();
}

bool link_is_up(void)
{
	return channel_now() && !atomic_load_explicit(&link_now.away, memory_order_relaxed);
}

uint64_t link_target_ns(void)
{
	struct sluice_channel *channel = channel_now();

	return channel ? atomic_load_explicit(&channel->target_ns, memory_order_relaxed) : 0;
}

bool link_counts_ranges(void)
{
	struct sluice_channel *channel = channel_now();

	return channel && channel->range[0];
}

bool link_channel(void **ret_base, size_t *ret_bytes)
{
	struct sluice_channel *channel = channel_now();

	*ret_base = channel;
	/* The GPU writes to no more of it. */
	*ret_bytes = SLUICE_CHANNEL_LEAST_BYTES;
	return channel != NULL;
}

void link_forked(void)
{
	session_forked();
	link_now.away = 0;
	link_now.has_asked = false;
	for (uint32_t i = 0; i < SLUICE_MAX_DEVICES; i++)
		link_now.mail[i] = 0;
}

/* ---- questions ------------------------------------------------------------------------------------------- */

bool link_want(uint32_t device_index, uint64_t cost_ns)
{
	struct sluice_msg_want want = {.device = device_index, .cost_ns = cost_ns};
	int saved = errno, cancel;

	/* Whoever has the lock may be waiting for an answer. */
	cancel = session_try();
	if (cancel < 0)
		return false;
	if (!session.greeted)
		session_tell(&want, SLUICE_MSG_WANT, sizeof(want));
	session_release(cancel);
	errno = saved;
	return true;
}

/* Notices, as a launch would, that the arbiter is gone or back: a program that only allocates. */
static bool is_up_now(uint32_t device_index)
{
	return link_tick(device_index, sluice_now_ns()) == LINK_UP;
}

int link_mem_request(uint32_t device_index, uint32_t units, uint64_t deadline_ns)
{
	struct sluice_msg_mem question = {.device = device_index, .units = units}, reply;
	struct sluice_packet answer;
	int saved = errno, cancel;
	int result = -ENOTCONN;

	if (!is_up_now(device_index))
		return result;
	cancel = session_hold();
	result = session_ask(&question, SLUICE_MSG_MEM_REQUEST, sizeof(question), deadline_ns,
			     &answer);
	session_release(cancel);
	if (!result) {
		sluice_wire_copy(&answer, &reply, sizeof(reply));
		sluice_wire_close_fds(&answer);
		result = reply.header.type == SLUICE_MSG_MEM_ANSWER ? reply.header.status : -EPROTO;
	}
	errno = saved;
	return result;
}

int link_mem_query(uint32_t device_index, uint64_t *ret_max_bytes, uint64_t *ret_used_bytes)
{
	struct sluice_msg_mem question = {.device = device_index};
	struct sluice_msg_mem_state reply;
	struct sluice_packet answer;
	int saved = errno, cancel;
	int result = -ENOTCONN;

	if (!is_up_now(device_index))
		return result;
	cancel = session_hold();
	result = session_ask(&question, SLUICE_MSG_MEM_QUERY, sizeof(question),
			     sluice_now_ns() + QUERY_NS, &answer);
	session_release(cancel);
	if (!result) {
		sluice_wire_copy(&answer, &reply, sizeof(reply));
		sluice_wire_close_fds(&answer);
		result = reply.header.type == SLUICE_MSG_MEM_STATE ? reply.header.status : -EPROTO;
	}
	if (!result) {
		*ret_max_bytes = reply.max_bytes;
		*ret_used_bytes = reply.used_bytes;
	}
	errno = saved;
	return result;
}
