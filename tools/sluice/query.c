/* SPDX-License-Identifier: Apache-2.0 */
#include "query.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "paths.h"
#include "sluice/wire_io.h"
#include "target.h"

static int receive(struct query *query, struct sluice_packet *ret_packet, char *ret_why)
{
	int r = sluice_wire_wait(query->fd, POLLIN, sluice_now_ns() + QUERY_DEADLINE_NS);

	if (r == 0) {
		r = sluice_wire_recv(query->fd, ret_packet, MSG_DONTWAIT);
		if (r == 1) {
			sluice_wire_close_fds(ret_packet); /* tools are sent none */
			return 0;
		}
		if (r == 0)
			r = -ECONNRESET;
	}
	snprintf(ret_why, QUERY_WHY_MAX, "the arbiter at %s %s", query->socket,
		 r == -ETIMEDOUT    ? "does not answer: is sluiced hung? see its log"
		 : r == -ECONNRESET ? "closed the connection: see its log"
				    : strerror(-r));
	return r;
}

static int send_message(struct query *query, const void *message, char *ret_why)
{
	int r = sluice_wire_send(query->fd, message, NULL, 0, 0);

	if (r < 0)
		snprintf(ret_why, QUERY_WHY_MAX, "the arbiter at %s takes no message: %s",
			 query->socket, strerror(-r));
	return r;
}

/* A REFUSED packet's own words. */
static int refusal(const struct sluice_packet *packet, char *ret_why)
{
	struct sluice_msg_text text;

	sluice_wire_copy(packet, &text, sizeof(text));
	text.text[sizeof(text.text) - 1] = 0;
	snprintf(ret_why, QUERY_WHY_MAX, "%s", text.text);
	return text.header.status < 0 ? text.header.status : -EPERM;
}

static int say_hello(struct query *query, char *ret_why)
{
	struct sluice_msg_tool hello = {.version = SLUICE_PROTOCOL_VERSION,
					.oldest = SLUICE_PROTOCOL_OLDEST};
	struct sluice_packet packet;
	int r;

	sluice_wire_head(&hello, SLUICE_MSG_TOOL, sizeof(hello), 1, 0);
	r = send_message(query, &hello, ret_why);
	/* Who is turned away is told why before anything is asked. */
	if (r == 0 || r == -EPIPE)
		r = receive(query, &packet, ret_why);
	if (r < 0)
		return r;
	if (packet.header.type == SLUICE_MSG_REFUSED)
		return refusal(&packet, ret_why);
	if (packet.header.type != SLUICE_MSG_TOOL_OK) {
		snprintf(ret_why, QUERY_WHY_MAX, "what listens at %s is not a sluiced",
			 query->socket);
		return -EPROTO;
	}
	sluice_wire_copy(&packet, &query->arbiter, sizeof(query->arbiter));
	query->arbiter.config[sizeof(query->arbiter.config) - 1] = 0;
	return 0;
}

/* The command that starts an arbiter for this user, at the socket that was looked at. */
static void how_to_start(const struct query *query, bool given, size_t size, char *ret_text)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	const char *user = geteuid() ? " --user" : "";
	char program[PATH_MAX];

	/* A user's PATH has no sbin. */
	if (!target_find("sluiced", sizeof(program), program) ||
	    paths_sluiced(sizeof(program), program) < 0)
		snprintf(program, sizeof(program), "sluiced");
	if (given)
		snprintf(ret_text, size, "%s%s --socket %s &", program, user, query->socket);
	else if (!*user || (runtime && *runtime))
		snprintf(ret_text, size, "%s%s &", program, user);
	else
		snprintf(ret_text, size,
			 "%s --user --socket PATH & and set SLUICE_SOCKET=PATH (XDG_RUNTIME_DIR is "
			 "not set)",
			 program);
}

static void say_unreachable(const struct query *query, bool given, int error, char *ret_why)
{
	char how[PATH_MAX + sizeof(query->socket)];

	if (error == -EACCES) {
		snprintf(ret_why, QUERY_WHY_MAX,
			 "may not connect to the arbiter at %s: %s; whoever is to use it needs to "
			 "enter its folder and to write to it (in a container: mount it as it is)",
			 query->socket, strerror(-error));
		return;
	}
	how_to_start(query, given, sizeof(how), how);
	snprintf(ret_why, QUERY_WHY_MAX, "no arbiter answers at %s (%s); start one: %s",
		 query->socket, strerror(-error), how);
}

int query_open(struct query *query, const char *socket_path, char *ret_why)
{
	const char *set = secure_getenv("SLUICE_SOCKET");
	int r;

	memset(query, 0, sizeof(*query));
	if (socket_path)
		snprintf(query->socket, sizeof(query->socket), "%s", socket_path);
	else
		paths_socket(sizeof(query->socket), query->socket);
	query->fd = sluice_wire_connect(query->socket);
	if (query->fd < 0) {
		r = query->fd;
		say_unreachable(query, socket_path || (set && *set), r, ret_why);
		return r;
	}
	r = say_hello(query, ret_why);
	if (r < 0)
		query_close(query);
	return r;
}

void query_close(struct query *query)
{
	if (query->fd >= 0)
		close(query->fd);
	query->fd = -1;
}

static int send_set(struct query *query, uint32_t type, const char *tenant, const char *key,
		    const char *value, char *ret_why)
{
	struct sluice_msg_set message = {.tenant = ""};

	if ((tenant && strlen(tenant) >= sizeof(message.tenant)) ||
	    (key && strlen(key) >= sizeof(message.key)) ||
	    (value && strlen(value) >= sizeof(message.value))) {
		snprintf(ret_why, QUERY_WHY_MAX, "names and values have at most %d characters",
			 SLUICE_NAME_MAX - 1);
		return -EINVAL;
	}
	sluice_wire_text(message.tenant, sizeof(message.tenant), tenant ? tenant : "");
	sluice_wire_text(message.key, sizeof(message.key), key ? key : "");
	sluice_wire_text(message.value, sizeof(message.value), value ? value : "");
	sluice_wire_head(&message, type,
			 type == SLUICE_MSG_RELOAD ? (uint32_t)sizeof(message.header)
						   : (uint32_t)sizeof(message),
			 2, 0);
	return send_message(query, &message, ret_why);
}

int query_ask(struct query *query, uint32_t type, const char *tenant, const char *key,
	      const char *value, char *ret_remark, char *ret_why)
{
	struct sluice_packet packet;
	struct sluice_msg_text text;
	int r = send_set(query, type, tenant, key, value, ret_why);

	if (r == 0)
		r = receive(query, &packet, ret_why);
	if (r < 0)
		return r;
	if (packet.header.type == SLUICE_MSG_REFUSED || packet.header.status < 0)
		return refusal(&packet, ret_why);
	sluice_wire_copy(&packet, &text, sizeof(text));
	text.text[sizeof(text.text) - 1] = 0;
	if (ret_remark)
		snprintf(ret_remark, SLUICE_TEXT_MAX, "%s", text.text);
	return 0;
}

/* Appends one row, as this side knows it, to a growing array. */
static int append(const struct sluice_packet *packet, size_t known, void **array, size_t *count)
{
	char *grown = realloc(*array, (*count + 1) * known);

	if (!grown)
		return -ENOMEM;
	sluice_wire_copy(packet, grown + *count * known, known);
	*array = grown;
	(*count)++;
	return 0;
}

static int take_row(const struct sluice_packet *packet, struct status *status)
{
	switch (packet->header.type) {
	case SLUICE_MSG_STATUS_DEVICE:
		return append(packet, sizeof(*status->device), (void **)&status->device,
			      &status->devices);
	case SLUICE_MSG_STATUS_TENANT:
		return append(packet, sizeof(*status->tenant), (void **)&status->tenant,
			      &status->tenants);
	case SLUICE_MSG_STATUS_PROCESS:
		return append(packet, sizeof(*status->process), (void **)&status->process,
			      &status->processes);
	case SLUICE_MSG_STATUS_NOTE:
		return append(packet, sizeof(*status->note), (void **)&status->note,
			      &status->notes);
	case SLUICE_MSG_STATUS_PAIR:
		return append(packet, sizeof(*status->pair), (void **)&status->pair,
			      &status->pairs);
	default: return 0; /* a newer arbiter's row */
	}
}

int query_status(struct query *query, struct status *ret_status, char *ret_why)
{
	struct sluice_msg_header ask;
	struct sluice_packet packet;
	int r;

	memset(ret_status, 0, sizeof(*ret_status));
	sluice_wire_head(&ask, SLUICE_MSG_STATUS, sizeof(ask), 3, 0);
	r = send_message(query, &ask, ret_why);
	while (r == 0) {
		r = receive(query, &packet, ret_why);
		if (r == 0 && packet.header.type == SLUICE_MSG_STATUS_END)
			return 0;
		if (r == 0 && packet.header.type == SLUICE_MSG_REFUSED)
			r = refusal(&packet, ret_why);
		if (r == 0)
			r = take_row(&packet, ret_status);
		if (r == -ENOMEM)
			snprintf(ret_why, QUERY_WHY_MAX, "out of memory");
	}
	status_finish(ret_status);
	return r;
}

static int take_late(const struct sluice_packet *packet, struct late *late)
{
	int r = 0;

	switch (packet->header.type) {
	case SLUICE_MSG_WHY_REQUEST:
		return append(packet, sizeof(*late->request), (void **)&late->request,
			      &late->requests);
	case SLUICE_MSG_WHY_CAUSE:
		r = append(packet, sizeof(*late->cause), (void **)&late->cause, &late->causes);
		/* One that belongs to no row that came before it is left out. */
		if (!r && late->cause[late->causes - 1].request >= late->requests)
			late->causes--;
		return r;
	case SLUICE_MSG_WHY_END:
		sluice_wire_copy(packet, &late->end, sizeof(late->end));
		late->end.of[sizeof(late->end.of) - 1] = 0;
		return 1;
	default: return 0; /* a newer arbiter's row */
	}
}

int query_why(struct query *query, const char *tenant, const char *minutes, struct late *ret_late,
	      char *ret_why)
{
	struct sluice_packet packet;
	int r;

	memset(ret_late, 0, sizeof(*ret_late));
	r = send_set(query, SLUICE_MSG_WHY, tenant, NULL, minutes, ret_why);
	while (r == 0) {
		r = receive(query, &packet, ret_why);
		if (r == 0 && packet.header.type == SLUICE_MSG_REFUSED)
			r = refusal(&packet, ret_why);
		else if (r == 0)
			r = take_late(&packet, ret_late);
		if (r == -ENOMEM)
			snprintf(ret_why, QUERY_WHY_MAX, "out of memory");
	}
	if (r < 0)
		late_finish(ret_late);
	return r < 0 ? r : 0;
}

void late_finish(struct late *late)
{
	free(late->request);
	free(late->cause);
	memset(late, 0, sizeof(*late));
}

void status_finish(struct status *status)
{
	free(status->device);
	free(status->tenant);
	free(status->process);
	free(status->note);
	free(status->pair);
	memset(status, 0, sizeof(*status));
}

int query_trace(struct query *query, const char *tenant, struct sluice_msg_record *question,
		int (*take)(void *context, const struct sluice_msg_trace *trace), void *context,
		struct sluice_msg_trace_end *ret_end, char *ret_why)
{
	struct sluice_msg_trace trace;
	struct sluice_packet packet;
	int r;

	sluice_wire_text(question->tenant, sizeof(question->tenant), tenant);
	sluice_wire_head(question, SLUICE_MSG_RECORD, sizeof(*question), 5, 0);
	r = send_message(query, question, ret_why);
	while (r == 0) {
		r = receive(query, &packet, ret_why);
		if (r == 0 && packet.header.type == SLUICE_MSG_REFUSED)
			return refusal(&packet, ret_why);
		if (r == 0 && packet.header.type == SLUICE_MSG_TRACE_END) {
			sluice_wire_copy(&packet, ret_end, sizeof(*ret_end));
			return 0;
		}
		if (r || packet.header.type != SLUICE_MSG_TRACE)
			continue;
		sluice_wire_copy(&packet, &trace, sizeof(trace));
		if (trace.count > SLUICE_TRACE_PACKET)
			trace.count = SLUICE_TRACE_PACKET;
		r = take(context, &trace);
		if (r)
			snprintf(ret_why, QUERY_WHY_MAX, "out of memory");
	}
	return r;
}
