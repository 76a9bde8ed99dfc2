#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sluice doctor` names what would keep Sluice from working, and has exit status 1 only then.
set -u
. tests/support/system.sh

if [ -n "${SAN:-}" ]; then
	echo "the probe's plain child cannot load a sanitized library by itself"
	exit 77
fi
config <<CONF
tenants = ( { name = "train"; } );
CONF

# doctor STATUS: runs it, with the simulated driver for a driver.
doctor()
{
	wanted=$1
	shift
	LD_LIBRARY_PATH=$preload_build/simgpu "$@" "$sluice" doctor -S "$out/socket" >"$out/said" 2>&1
	status=$?
	[ $status = "$wanted" ] || {
		say_bad "exit status $status, not $wanted:"
		cat "$out/said"
	}
}

says()
{
	grep -Eq "$1" "$out/said" || {
		say_bad "no line like: $1"
		cat "$out/said"
	}
}

doctor 1 env
says '^FAIL +arbiter .*start one: .*sluiced( --user)? --socket .*/socket &'

if unshare -pf --mount-proc true 2>/dev/null; then
	doctor 1 unshare -pf --mount-proc
	says "^note +pid space .*container's own"
else
	echo 'no pid namespace can be made here: a container is not tried'
fi

arbiter_start
doctor 0 env
says '^ok +preload .*/libsluice\.so$'
says '^ok +driver .*/libcuda\.so\.1$'
says '^ok +arbiter +pid [0-9]+ at '
says '^ok +programs '
says '^(ok|note) +uid map +[a-z]'
says '^ok +pid space +the arbiter sees this process$'
for call in memfd pidfd futex socket; do
	says "^ok +$call .* works\$"
done
says '^ok +seccomp +(no filter|a filter is in force, and lets these calls pass)$'
says '^note +MPS +not running'

# Behind a filter that forbids calls: each is named. What the arbiter alone needs is no failure where it runs.
cat >"$out/filter.c" <<'CODE'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
/* filter NUMBER PROGRAM...: 1 forbids pidfd_open, 2 kills whoever calls memfd_create, 3 forbids futex's wait */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define END(what) BPF_STMT(BPF_RET | BPF_K, what)
int main(int argc, char **argv)
{
	struct sock_filter forbid[] = {LOAD(nr), UNLESS(SYS_pidfd_open, 1), END(SECCOMP_RET_ERRNO | EPERM),
				       END(SECCOMP_RET_ALLOW)};
	struct sock_filter kill[] = {LOAD(nr), UNLESS(SYS_memfd_create, 1), END(SECCOMP_RET_KILL_PROCESS),
				     END(SECCOMP_RET_ALLOW)};
	struct sock_filter wait[] = {LOAD(nr), UNLESS(SYS_futex, 3), LOAD(args[1]), UNLESS(9, 1),
				     END(SECCOMP_RET_ERRNO | ENOSYS), END(SECCOMP_RET_ALLOW)};
	struct sock_fprog programs[] = {{sizeof(forbid) / sizeof(*forbid), forbid},
					{sizeof(kill) / sizeof(*kill), kill},
					{sizeof(wait) / sizeof(*wait), wait}};
	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &programs[atoi(argv[1]) - 1]))
		return 77;
	execvp(argv[2], argv + 2);
	return 127;
}
CODE
${CC:-gcc} -o "$out/filter" "$out/filter.c" || exit 1
if "$out/filter" 1 true; then
	doctor 0 "$out/filter" 1 env
	says '^note +pidfd +pidfd_open fails: Operation not permitted; sluiced alone needs it'
	says '^note +seccomp .*not all of these calls pass'
	doctor 0 "$out/filter" 2 env
	says '^note +memfd .*ends the process \(signal 31\)'
	doctor 1 "$out/filter" 3 env
	says '^FAIL +futex +futex fails: Function not implemented: a seccomp filter is in force'
	arbiter_kill
	doctor 1 "$out/filter" 1 env
	says '^FAIL +pidfd .*a seccomp filter is in force, let it pass that call'
	arbiter_start
else
	echo 'no filter can be installed here: seccomp is not tried'
fi

# On a system of musl's.
mkdir "$out/musl"
echo 'int main(void) { return 0; }' >"$out/musl.c"
${CC:-gcc} -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o "$out/musl/sh" "$out/musl.c" || exit 1
doctor 1 env PATH="$out/musl:$PATH"
says '^FAIL +programs .*built for musl'

# A library that answers for the driver before us hides us.
cat >"$out/hider.c" <<'CODE'
#include <string.h>
static int hidden(unsigned int flags)
{
	return (int)flags;
}
void *dlsym(void *handle, const char *name)
{
	(void)handle;
	return strcmp(name, "cuInit") ? (void *)0 : (void *)hidden;
}
CODE
${CC:-gcc} -shared -fPIC -o "$out/hider.so" "$out/hider.c" || exit 1
doctor 1 env LD_PRELOAD="$out/hider.so:$preload_build/lib/libsluice.so"
says '^FAIL +preload .*hider\.so'

# Preloaded by a folder that is not there: the loader says so, and so does the doctor.
doctor 1 env LD_PRELOAD="$out/none/libsluice.so"
says '^FAIL +preload +libsluice\.so is not loaded: .*none/libsluice\.so'

# Where no driver is found.
"$sluice" doctor -S "$out/socket" >"$out/said" 2>&1
status=$?
if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	echo "this machine has a driver: its absence was not tested"
else
	[ $status = 0 ] || say_bad "without a driver: exit status $status"
	says '^WARN +driver .*sluice run --simulated'
	# Where there is no simulated one either.
	mkdir -p "$out/copy/bin"
	cp "$sluice" "$out/copy/bin/sluice"
	ln -s "$(realpath "$preload_build/lib")" "$out/copy/lib"
	"$out/copy/bin/sluice" doctor -S "$out/socket" >"$out/said" 2>&1
	status=$?
	[ $status = 1 ] || say_bad "without any driver: exit status $status"
	says '^FAIL +driver .*install the NVIDIA driver'
fi
# A folder that a container would have to mount.
"$sluice" doctor -S "$out/away/sluiced.sock" >"$out/said" 2>&1
says "^note +mount .*-v $out/away:$out/away"
exit "$bad"
