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

arbiter_start
doctor 0 env
says '^ok +preload .*/libsluice\.so$'
says '^ok +driver .*/libcuda\.so\.1$'
says '^ok +arbiter +pid [0-9]+ at '
says '^ok +memfd '
says ' uid map '
says ' seccomp '
says '^note +MPS +not running'

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
	[ $status = 1 ] || say_bad "without a driver: exit status $status"
	says '^FAIL +driver .*sluice run --simulated'
fi
# A folder that a container would have to mount.
"$sluice" doctor -S "$out/away/sluiced.sock" >"$out/said" 2>&1
says "^note +mount .*-v $out/away:$out/away"
exit "$bad"
