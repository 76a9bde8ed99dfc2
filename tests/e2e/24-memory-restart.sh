#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The arbiter is killed and comes back while a process holds memory: what was granted stays usable,
# more is out of memory after the deadline, and the new arbiter learns what is in use.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
arbiter=
program=
# shellcheck disable=SC2317 # by the trap
end()
{
	exec 3>&-
	[ -n "$program" ] && kill -9 "$program" 2>/dev/null
	[ -n "$arbiter" ] && kill -9 "$arbiter" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$out"
}
trap end EXIT

cat >"$out/sluice.conf" <<'CONF'
default = { class = "best-effort"; memory = { max = "64 MiB"; }; };
fail = { memory_deadline = "300 ms"; };
CONF

fail()
{
	echo "$1"
	cat "$out/said"
	tail -n 20 "$out/arbiter"
	exit 1
}

# until_true WHAT COMMAND...: waits for it, ten seconds at most.
until_true()
{
	what=$1
	shift
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 200 ] || fail "waited in vain: $what"
		sleep 0.05
	done
}

start_arbiter()
{
	ASAN_OPTIONS=detect_leaks=0 "$preload_build/bin/sluiced" --user --socket="$out/socket" \
		--config="$out/sluice.conf" >>"$out/arbiter" 2>&1 &
	arbiter=$!
}

tenant()
{
	env SLUICE_SOCKET="$out/socket" LD_LIBRARY_PATH="$preload_build/nulldriver" \
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$(preload_list "$preload_build/lib/libsluice.so")" \
		"$preload_build/tests/e2e/quota" "$@"
}

lines=0
# step COMMAND EXPECTED: the program does it and says so.
step()
{
	printf '%s\n' "$1" >&3
	lines=$((lines + 1))
	until_true "$1" line_is_there
	said=$(sed -n "${lines}p" "$out/said")
	[ "$said" = "$2" ] || fail "$1: said '$said', not '$2'"
}
line_is_there()
{
	[ "$(wc -l <"$out/said")" -ge $lines ]
}

: >"$out/said"
start_arbiter
until_true 'the socket' test -S "$out/socket"
mkfifo "$out/steps"
tenant steps <"$out/steps" >"$out/said" 2>&1 &
program=$!
exec 3>"$out/steps"
step 'alloc 40' 'alloc: 0'
step 'alloc 8' 'alloc: 0'
step 'free' 'free: 0'

kill -9 "$arbiter"
wait "$arbiter" 2>/dev/null
# Within what was granted nobody is asked; beyond it the deadline passes.
step 'alloc 8' 'alloc: 0'
step 'alloc 32' 'alloc: 2'
step 'free' 'free: 0'

rm -f "$out/socket"
start_arbiter
until_true 'the socket again' test -S "$out/socket"
back()
{
	step info "info: free 24 total 64 device 64"
}
# Its next call finds the new arbiter.
knows()
{
	printf 'info\n' >&3
	lines=$((lines + 1))
	until_true info line_is_there
	[ "$(sed -n "${lines}p" "$out/said")" = 'info: free 24 total 64 device 64' ]
}
until_true 'the new arbiter knows what is in use' knows
back
tenant fill >"$out/beside" 2>&1
grep -qx 'to be had: 24' "$out/beside" || { cat "$out/beside"; fail 'another process had not 24'; }
step 'alloc 24' 'alloc: 0'
step 'alloc 1' 'alloc: 2'
step 'free' 'free: 0'
step 'free' 'free: 0'
step info 'info: free 64 total 64 device 64'
