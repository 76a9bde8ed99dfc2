/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The machine's own namespaces have these numbers on every Linux (PROC_*_INIT_INO). */
#define INIT_PID_SPACE 0xeffffffcu

/* ---- namespaces ---- */

/* The arbiter takes the peer's uid from the kernel; it must mean the same to it. */
static void check_uid_map(void)
{
	FILE *in = fopen("/proc/self/uid_map", "re");
	unsigned long inside, outside, count;

	if (!in) {
		doctor_say(NOTE, "uid map", "cannot read /proc/self/uid_map: %s", strerror(errno));
		return;
	}
	if (fscanf(in, "%lu %lu %lu", &inside, &outside, &count) != 3)
		doctor_say(NOTE, "uid map", "empty: this user namespace has no users mapped");
	else if (inside != outside)
		doctor_say(NOTE, "uid map",
			   "uid %lu here is %lu outside: match rules by uid see the outer number",
			   inside, outside);
	else
		doctor_say(GOOD, "uid map", "uids are the host's");
	fclose(in);
}

/* It refuses a process whose pid it cannot see. */
static void check_pid_space(bool arbiter)
{
	struct stat own;

	if (arbiter)
		doctor_say(GOOD, "pid space", "the arbiter sees this process");
	else if (stat("/proc/self/ns/pid", &own))
		doctor_say(NOTE, "pid space", "cannot read /proc/self/ns/pid: %s", strerror(errno));
	else if (own.st_ino == INIT_PID_SPACE)
		doctor_say(GOOD, "pid space", "the machine's own");
	else
		doctor_say(
			NOTE, "pid space",
			"a container's own: an arbiter in it, or on the machine itself, sees these "
			"processes; one in another container does not (--pid=host there)");
}

/* ---- calls ---- */

static int try_memfd(void)
{
	int fd = memfd_create("sluice-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, 4096) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		return errno;
	return 0;
}

static int try_pidfd(void)
{
	return syscall(SYS_pidfd_open, getpid(), 0) < 0 ? errno : 0;
}

/* The word is not what is waited for: that is told at once. */
static int try_futex(void)
{
	static unsigned int word = 1;

	if (!syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY))
		return 0;
	return errno == EAGAIN ? 0 : errno;
}

static int try_socket(void)
{
	return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) < 0 ? errno : 0;
}

struct call {
	const char *what, *call, *since;
	int (*try)(void); /* 0 or errno */
	bool arbiter;	  /* it alone makes that call */
};

static const struct call calls[] = {
	{"memfd", "memfd_create with seals", "5.1", try_memfd, true},
	{"pidfd", "pidfd_open", "5.3", try_pidfd, true},
	{"futex", "futex", "2.6.25", try_futex, false},
	{"socket", "socket(AF_UNIX, SOCK_SEQPACKET)", "2.6.4", try_socket, false},
};

/* In a process of its own: a filter may kill whoever makes a call. */
static void try_call(const struct call *call, size_t size, char *ret_why)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(call->try());
	*ret_why = 0;
	if (pid < 0)
		snprintf(ret_why, size, "cannot be tried: %s", strerror(errno));
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFSIGNALED(status))
		snprintf(ret_why, size, "ends the process (signal %d)", WTERMSIG(status));
	else if (pid > 0 && WEXITSTATUS(status))
		snprintf(ret_why, size, "fails: %s", strerror(WEXITSTATUS(status)));
}

/* -1: not known. */
static int seccomp_mode(void)
{
	FILE *in = fopen("/proc/self/status", "re");
	char line[256];
	int mode = -1;

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			break;
	if (in)
		fclose(in);
	return mode;
}

static bool check_call(const struct call *call, bool filtered, bool arbiter)
{
	char why[128];

	try_call(call, sizeof(why), why);
	if (!*why)
		doctor_say(GOOD, call->what, "%s works", call->call);
	else if (call->arbiter && arbiter)
		doctor_say(NOTE, call->what, "%s %s; sluiced alone needs it, and it runs elsewhere",
			   call->call, why);
	else if (filtered)
		doctor_say(BAD, call->what,
			   "%s %s: a seccomp filter is in force, let it pass that call (Docker: "
			   "--security-opt seccomp=PROFILE)",
			   call->call, why);
	else
		doctor_say(BAD, call->what, "%s %s: Linux %s or newer is needed", call->call, why,
			   call->since);
	return !*why;
}

void doctor_check_kernel(bool arbiter)
{
	int mode = seccomp_mode();
	bool all = true;

	check_uid_map();
	check_pid_space(arbiter);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		all &= check_call(&calls[i], mode == 2, arbiter);
	if (mode < 0)
		doctor_say(NOTE, "seccomp", "/proc/self/status does not say whether there is one");
	else if (mode == 0)
		doctor_say(GOOD, "seccomp", "no filter");
	else
		doctor_say(all ? GOOD : NOTE, "seccomp", "a filter is in force, and %s",
			   all ? "lets these calls pass" : "not all of these calls pass");
}
