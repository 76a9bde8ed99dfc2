/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/arbiter.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "daemon/absent.h"
#include "daemon/connection.h"
#include "daemon/estimates.h"
#include "daemon/nvml.h"
#include "daemon/process.h"
#include "daemon/ticks.h"
#include "daemon/why.h"

uint64_t arbiter_now(struct arbiter *arbiter)
{
	arbiter->now_ns = sluice_now_ns();
	return arbiter->now_ns;
}

/* ---- carrying out the core's actions ------------------------------------------------------------ */

static void set_timer(struct arbiter *arbiter, uint64_t at_ns)
{
	if (at_ns == CORE_NEVER) {
		(void)sd_event_source_set_enabled(arbiter->timer_source, SD_EVENT_OFF);
		return;
	}
	(void)sd_event_source_set_time(arbiter->timer_source, (at_ns + 999) / 1000);
	(void)sd_event_source_set_enabled(arbiter->timer_source, SD_EVENT_ONESHOT);
}

/* The core is answered once it has said all it had to say; it asks one process a device. */
static void take_back(struct arbiter *arbiter, struct process *process, uint32_t local,
		      const struct action *action)
{
	assert(arbiter->answers < CORE_MAX_DEVICES);
	arbiter->answer[arbiter->answers++] =
		(struct event){.kind = EVENT_MEM_TAKEN,
			       .process = action->process,
			       .device = action->device,
			       .units = memory_take_back(process, local, action->units)};
}

static void carry_out(struct arbiter *arbiter, const struct action *action)
{
	struct process *process;
	int local;

	if (action->kind == ACTION_TIMER) {
		set_timer(arbiter, action->at_ns);
		return;
	}
	process = arbiter->process[action->process];
	local = process ? process_local(process, action->device) : -1;
	if (local < 0)
		return;
	switch (action->kind) {
	case ACTION_GRANT: grant_write(process, (uint32_t)local, &action->grant); break;
	case ACTION_ACTIVITY: activity_count(process, (uint32_t)local, action->on); break;
	case ACTION_WATCH: ticks_watch(process, (uint32_t)local, action->on); break;
	case ACTION_MEM_GRANT: memory_granted(process, (uint32_t)local, action->units); break;
	case ACTION_MEM_REFUSE: memory_refused(process, (uint32_t)local, action->status); break;
	case ACTION_MEM_TAKE_BACK: take_back(arbiter, process, (uint32_t)local, action); break;
	default: break;
	}
}

static int feed_one(struct arbiter *arbiter, struct event *event)
{
	struct action action;
	int r;

	event->now_ns = arbiter->now_ns;
	r = engine_event(arbiter->engine, event);
	while (engine_take(arbiter->engine, &action))
		carry_out(arbiter, &action);
	return r;
}

int arbiter_feed(struct arbiter *arbiter, struct event *event)
{
	int r = feed_one(arbiter, event);

	while (arbiter->answers) {
		struct event answer = arbiter->answer[--arbiter->answers];
		int answered = feed_one(arbiter, &answer);

		if (!r)
			r = answered;
	}
	return r;
}

/* ---- signals, start and end ---------------------------------------------------------------------- */

static int on_hangup(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	struct arbiter *arbiter = userdata;
	char text[CONFIG_ERROR_TEXT_MAX];
	struct config_error error;

	arbiter_now(arbiter);
	(void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
			 (unsigned long long)(arbiter->now_ns / 1000));
	if (reload_file(arbiter, &error)) {
		config_describe(&error, text, sizeof(text));
		log_error("%s; the configuration in force stays", text);
	} else {
		config_summary(&arbiter->config, text, sizeof(text));
		log_info("configuration reloaded: %s", text);
	}
	(void)sd_notify(0, "READY=1");
	return 0;
}

static int add_sources(struct arbiter *arbiter)
{
	sd_event *loop = arbiter->loop;
	sigset_t signals;
	int r;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &signals, NULL))
		return -errno;
	r = sd_event_add_signal(loop, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(loop, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(loop, NULL, SIGHUP, on_hangup, arbiter);
	/* Accuracy 1 us: the default lets timers slip by a quarter of a second. */
	if (r >= 0)
		r = sd_event_add_time(loop, &arbiter->timer_source, CLOCK_MONOTONIC, 0, 1,
				      ticks_on_timer, arbiter);
	if (r >= 0)
		r = sd_event_source_set_enabled(arbiter->timer_source, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time(loop, &arbiter->tick_source, CLOCK_MONOTONIC, 0, 1000,
				      ticks_on_tick, arbiter);
	if (r >= 0)
		r = sd_event_source_set_enabled(arbiter->tick_source, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_set_watchdog(loop, 1);
	return r < 0 ? r : 0;
}

static int load_config(struct arbiter *arbiter)
{
	char text[CONFIG_ERROR_TEXT_MAX];
	struct config_error error;

	if (!arbiter->config_file) {
		config_defaults(&arbiter->config);
		return 0;
	}
	if (!config_load(&arbiter->config, arbiter->config_file, 0, &error))
		return 0;
	config_describe(&error, text, sizeof(text));
	log_error("%s", text);
	return -EINVAL;
}

/* Each way to fail has said its own sentence by the time it comes to the caller. */
static int arbiter_fail(int error)
{
	log_error("cannot start: %s", strerror(-error));
	return error;
}

static int arbiter_prepare(struct arbiter *arbiter)
{
	int r = sd_event_new(&arbiter->loop);

	if (r >= 0)
		r = add_sources(arbiter);
	if (r < 0)
		return arbiter_fail(r);
	arbiter->engine = engine_create(arbiter->now_ns);
	return arbiter->engine ? 0 : arbiter_fail(-ENOMEM);
}

int arbiter_create(const struct options *options, struct arbiter **ret_arbiter)
{
	struct arbiter *arbiter = calloc(1, sizeof(*arbiter));
	int r;

	if (!arbiter)
		return arbiter_fail(-ENOMEM);
	arbiter->listen_fd = -1;
	arbiter->user_mode = options->user;
	arbiter->config_file = options->config;
	sluice_wire_text(arbiter->socket_path, sizeof(arbiter->socket_path), options->socket);
	arbiter_now(arbiter);
	r = load_config(arbiter);
	if (!r)
		r = arbiter_prepare(arbiter);
	if (!r) {
		arbiter->nvml = options->nvml ? options->nvml : nvml_open();
		reload_apply(arbiter);
		r = server_listen(arbiter);
	}
	/* The socket is ours by now, and so is the file beside it. */
	if (r >= 0)
		absent_load(arbiter);
	if (r >= 0) {
		arbiter->estimates = estimates_create(options->state);
		r = arbiter->estimates ? 0 : arbiter_fail(-ENOMEM);
	}
	if (r < 0) {
		arbiter_destroy(arbiter);
		return r;
	}
	*ret_arbiter = arbiter;
	return 0;
}

int arbiter_run(struct arbiter *arbiter)
{
	int r;

	(void)sd_notify(0, "READY=1");
	r = sd_event_loop(arbiter->loop);
	(void)sd_notify(0, "STOPPING=1");
	return r;
}

void arbiter_destroy(struct arbiter *arbiter)
{
	if (!arbiter)
		return;
	arbiter->ending = true;
	server_finish(arbiter);
	for (uint32_t i = 0; i < arbiter->process_end; i++) {
		if (arbiter->process[i])
			process_destroy(arbiter->process[i], "is left alone: the arbiter ends");
	}
	absent_finish(arbiter);
	estimates_destroy(arbiter->estimates);
	why_destroy(arbiter->why);
	sd_event_source_unref(arbiter->timer_source);
	sd_event_source_unref(arbiter->tick_source);
	sd_event_unref(arbiter->loop);
	nvml_close(arbiter->nvml);
	engine_destroy(arbiter->engine);
	for (uint32_t i = 0; i < CORE_MAX_TENANTS; i++)
		reload_forget(&arbiter->tenant[i]);
	free(arbiter);
}
