#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The arbiter is killed and comes back while a process holds memory: what was granted stays usable,
# more is out of memory after the deadline, and the new arbiter learns what is in use.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
. tests/support/arbiter.sh
# shellcheck disable=SC2317 # by the trap
end()
{
	# The program ends with its input.
	exec 3>&-
	arbiter_kill
	wait 2>/dev/null
	rm -rf "$out"
}
trap end EXIT

cat >"$out/sluice.conf" <<'CONF'
default = { class = "best-effort"; memory = { max = "64 MiB"; }; };
fail = { memory_deadline = "300 ms"; };
CONF

lines=0
# shellcheck disable=SC2317 # by wait_until
line_is_there()
{
	[ "$(wc -l <"$out/said")" -ge $lines ]
}

# ask COMMAND: the program does it; what it says is in `said`.
ask()
{
	printf '%s\n' "$1" >&3
	lines=$((lines + 1))
	wait_until "$1" line_is_there
	said=$(sed -n "${lines}p" "$out/said")
}

# step COMMAND EXPECTED
step()
{
	ask "$1"
	[ "$said" = "$2" ] && return
	echo "$1: said '$said', not '$2'"
	tail -n 20 "$out/arbiter"
	exit 1
}

: >"$out/said"
mkfifo "$out/steps"
arbiter_start
managed quota steps <"$out/steps" >"$out/said" 2>"$out/errors" &
exec 3>"$out/steps"
step 'alloc 40' 'alloc: 0'
step 'alloc 8' 'alloc: 0'
step 'free' 'free: 0'

arbiter_kill
# Within what was granted nobody is asked; beyond it the deadline passes.
step 'alloc 8' 'alloc: 0'
step 'alloc 32' 'alloc: 2'
step 'free' 'free: 0'

# The new one knows what the earlier one had granted: nobody else gets it first.
arbiter_start
managed quota fill >"$out/early" 2>&1
grep -qx 'to be had: 16' "$out/early" || {
	echo 'before the holder of 48 was back, another process had not 16:'
	cat "$out/early"
	exit 1
}
# shellcheck disable=SC2317 # by wait_until
is_known()
{
	ask info
	[ "$said" = 'info: free 24 total 64 device 64' ]
}
wait_until 'the new arbiter knows what is in use' is_known
managed quota fill >"$out/beside" 2>&1
grep -qx 'to be had: 24' "$out/beside" || {
	echo 'another process had not 24:'
	cat "$out/beside"
	exit 1
}
step 'alloc 24' 'alloc: 0'
step 'alloc 1' 'alloc: 2'
step 'free' 'free: 0'
step 'free' 'free: 0'
step info 'info: free 64 total 64 device 64'
