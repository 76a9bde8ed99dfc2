/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "daemon/connection.h"
#include "daemon/ticks.h"

#define BACKLOG 128

/* No descriptor is left. Whoever knocks keeps waiting; asking again at once would only spin. */
static void server_pause(struct arbiter *arbiter)
{
	log_limited(&arbiter->log_peers, LOG_LEVEL_WARNING, arbiter->now_ns,
		    "accepting a connection: %m; raise LimitNOFILE=");
	(void)sd_event_source_set_enabled(arbiter->listen_source, SD_EVENT_OFF);
	arbiter->listen_paused = true;
	ticks_arm(arbiter);
}

void server_resume(struct arbiter *arbiter)
{
	arbiter->listen_paused = false;
	(void)sd_event_source_set_enabled(arbiter->listen_source, SD_EVENT_ON);
}

static int on_connect(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	struct arbiter *arbiter = userdata;
	int peer;

	arbiter_now(arbiter);
	peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (peer >= 0)
		connection_accept(arbiter, peer);
	else if (errno == EMFILE || errno == ENFILE)
		server_pause(arbiter);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		log_limited(&arbiter->log_peers, LOG_LEVEL_WARNING, arbiter->now_ns,
			    "accepting a connection: %m");
	return 0;
}

/* A socket's file that nobody listens to is left from an arbiter that was killed. */
static int remove_stale(const char *path)
{
	struct stat what;
	int fd;

	if (lstat(path, &what))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(what.st_mode)) {
		log_error("%s: there is a file of that name that is no socket; remove it or pick "
			  "another with --socket",
			  path);
		return -EEXIST;
	}
	fd = sluice_wire_connect(path);
	if (fd >= 0) {
		close(fd);
		log_error("%s: another arbiter listens there; stop it or pick another socket with "
			  "--socket",
			  path);
		return -EADDRINUSE;
	}
	return unlink(path) ? -errno : 0;
}

static int make_folder(const char *path, mode_t mode)
{
	char folder[CONFIG_PATH_MAX];
	char *slash;

	sluice_wire_text(folder, sizeof(folder), path);
	slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return 0;
	*slash = 0;
	return mkdir(folder, mode) && errno != EEXIST ? -errno : 0;
}

static int bind_socket(struct arbiter *arbiter)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = arbiter->socket_path;
	mode_t mode = arbiter->user_mode ? 0600 : 0666, mask;
	int fd, r;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	sluice_wire_text(address.sun_path, sizeof(address.sun_path), path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* The file has its mode from the first instant. */
	mask = umask(0777 & ~mode);
	r = bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	umask(mask);
	if (!r && listen(fd, BACKLOG))
		r = -errno;
	if (r) {
		close(fd);
		return r;
	}
	arbiter->socket_is_ours = true;
	return fd;
}

static int passed_socket(int count)
{
	int fd = SD_LISTEN_FDS_START;

	if (count != 1 || sd_is_socket_unix(fd, SOCK_SEQPACKET, 1, NULL, 0) <= 0) {
		log_error("what systemd passes is not one ListenSequentialPacket= socket");
		return -EPROTOTYPE;
	}
	/* One who knocks and goes before it is accepted must not stop everyone. */
	if (fcntl(fd, F_SETFL, O_NONBLOCK))
		return -errno;
	return fd;
}

static int open_socket(struct arbiter *arbiter)
{
	int r;

	/* By socket activation: systemd listens, and the path is its business. */
	r = sd_listen_fds(1);
	if (r > 0)
		return passed_socket(r);
	r = make_folder(arbiter->socket_path, arbiter->user_mode ? 0700 : 0755);
	if (!r)
		r = remove_stale(arbiter->socket_path);
	return r ? r : bind_socket(arbiter);
}

/* A process takes six descriptors: the soft limit is for programs that use select(). */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int server_listen(struct arbiter *arbiter)
{
	int r;

	raise_descriptor_limit();
	r = open_socket(arbiter);
	if (r >= 0) {
		arbiter->listen_fd = r;
		r = sd_event_add_io(arbiter->loop, &arbiter->listen_source, r, EPOLLIN, on_connect,
				    arbiter);
	}
	if (r >= 0)
		log_info("listening on %s, policy %s", arbiter->socket_path,
			 config_policy_name(&arbiter->config));
	/* These have their own sentences. */
	else if (r != -EADDRINUSE && r != -EEXIST && r != -EPROTOTYPE)
		log_error("%s: cannot listen: %s", arbiter->socket_path, strerror(-r));
	return r < 0 ? r : 0;
}

void server_finish(struct arbiter *arbiter)
{
	while (arbiter->connections)
		connection_destroy(arbiter->connections);
	if (arbiter->listen_source)
		sd_event_source_disable_unref(arbiter->listen_source);
	arbiter->listen_source = NULL;
	if (arbiter->listen_fd >= 0)
		close(arbiter->listen_fd);
	arbiter->listen_fd = -1;
	if (arbiter->socket_is_ours)
		(void)unlink(arbiter->socket_path);
}
