/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sluice/wire_io.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

static int identity_refuse(int error, char *ret_why, size_t room, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static int identity_refuse(int error, char *ret_why, size_t room, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ret_why, room, format, args);
	va_end(args);
	return error;
}

/* Reads a file of /proc/PID whole, NUL-terminated. Bytes read, or -errno. */
static ssize_t read_proc(pid_t pid, const char *name, char *ret_text, size_t room)
{
	char path[64];
	ssize_t got, used = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	do {
		got = read(fd, ret_text + used, room - 1 - (size_t)used);
		if (got > 0)
			used += got;
	} while (got > 0 && (size_t)used < room - 1);
	close(fd);
	ret_text[used] = 0;
	return used;
}

/* Field `number` (3 is the state) of /proc/PID/stat: after the name, which may hold anything. */
static const char *stat_field(const char *stat, int number)
{
	const char *field = strrchr(stat, ')');

	for (int at = 2; field && at < number; at++) {
		field = strchr(field, ' ');
		if (field)
			field++;
	}
	return field;
}

bool identity_is_stopped(pid_t pid)
{
	char stat[1024];
	const char *state;

	if (read_proc(pid, "stat", stat, sizeof(stat)) <= 0)
		return false;
	state = stat_field(stat, 3);
	return state && (*state == 'T' || *state == 't');
}

uint64_t identity_start_ns(pid_t pid)
{
	char stat[1024];
	const char *field;
	long ticks = sysconf(_SC_CLK_TCK);

	if (read_proc(pid, "stat", stat, sizeof(stat)) <= 0 || ticks <= 0)
		return 0;
	field = stat_field(stat, 22);
	return field ? strtoull(field, NULL, 10) * (SLUICE_NS_PER_S / (uint64_t)ticks) : 0;
}

static uint64_t boot_time_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * SLUICE_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The kernel's own pidfd of the peer, or one by number with a check that the number was not used
 * again since the connection was made. -errno. */
static int peer_pidfd(int fd, pid_t pid)
{
	uint64_t seen_ns = boot_time_ns();
	socklen_t size;
	int pidfd = -1;

	size = sizeof(pidfd);
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size))
		return pidfd;
	if (errno != ENOPROTOOPT && errno != EINVAL)
		return -errno;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	if (identity_start_ns(pid) > seen_ns) {
		close(pidfd);
		return -ESRCH;
	}
	return pidfd;
}

/* Lines are ID:CONTROLLERS:PATH, with `0::PATH` for version 2. */
void identity_parse_cgroups(const char *text, char *ret_paths, size_t room)
{
	size_t used = 0;

	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *path = memchr(text, ':', length);
		size_t path_length;

		if (path)
			path = memchr(path + 1, ':', length - (size_t)(path + 1 - text));
		if (path) {
			path++;
			path_length = length - (size_t)(path - text);
			if (path_length && used + path_length + 2 <= room) {
				memcpy(ret_paths + used, path, path_length);
				used += path_length;
				ret_paths[used++] = 0;
			}
		}
		text += length + (text[length] == '\n');
	}
	ret_paths[used] = 0;
}

static void read_program(pid_t pid, size_t room, char *ret_program)
{
	char path[64], target[512];
	const char *name;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return;
	target[length] = 0;
	name = strrchr(target, '/');
	sluice_wire_text(ret_program, room, name ? name + 1 : target);
}

bool identity_of_stranger(pid_t pid, uid_t *ret_uid, size_t room, char *ret_program)
{
	char path[64], text[64];
	struct stat about;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (pid <= 0 || stat(path, &about))
		return false;
	*ret_uid = about.st_uid;
	*ret_program = 0;
	read_program(pid, room, ret_program);
	/* Whose executable is not shown to us: fifteen bytes of it. */
	if (!*ret_program && read_proc(pid, "comm", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = 0;
		sluice_wire_text(ret_program, room, text);
	}
	return true;
}

int identity_of_peer(int fd, struct identity *ret_identity, char *ret_why, size_t room)
{
	struct identity identity = {.pidfd = -1};
	char text[IDENTITY_CGROUPS_MAX];
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return identity_refuse(-errno, ret_why, room, "who you are cannot be asked: %m");
	if (!peer.pid)
		return identity_refuse(
			-EPERM, ret_why, room,
			"your process is in a pid namespace that the arbiter cannot "
			"see into; start the container with the host's pid namespace "
			"(--pid=host), or run the arbiter inside it");
	identity.pid = peer.pid;
	identity.uid = peer.uid;
	identity.gid = peer.gid;
	identity.pidfd = peer_pidfd(fd, peer.pid);
	if (identity.pidfd < 0)
		return identity_refuse(identity.pidfd, ret_why, room,
				       "process %d cannot be held on to: %s", (int)peer.pid,
				       strerror(-identity.pidfd));
	if (read_proc(peer.pid, "cgroup", text, sizeof(text)) > 0)
		identity_parse_cgroups(text, identity.cgroups, sizeof(identity.cgroups));
	read_program(identity.pid, sizeof(identity.program), identity.program);
	*ret_identity = identity;
	return 0;
}

void identity_finish(struct identity *identity)
{
	if (identity->pidfd >= 0)
		close(identity->pidfd);
	identity->pidfd = -1;
}
