#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The whole of Sluice for a script, as a user has it: arbiter, command, shim, and a simulated GPU of
# the script's own. To be sourced, with BUILD (and SAN) in the environment. Makes a scratch folder,
# `out`, and takes everything away at the end of the script.
#
#   config                        standard input becomes the arbiter's configuration
#   arbiter_start, arbiter_kill   from arbiter.sh; so is wait_until
#   under TENANT [OPTION...] -- PROGRAM [ARG...]
#                                 `sluice run` on the simulated GPU; TENANT - asks for none
#   alone PROGRAM [ARG...]        the same without Sluice
#   begin NAME under|alone ...    in the background: output in $out/NAME and $out/NAME.err, pid in
#                                 `pid` and $out/NAME.pid
#   await NAME [STATUS]           waits for it; fails the script's run where it ended otherwise
#   status_read                   `sluice status --json` into $out/status.json
#   status_get ARRAY KEY VALUE FIELD
#                                 one field of the row of ARRAY (devices, tenants, processes) whose
#                                 KEY is VALUE, as it stands there; lists as words
#   signal SIGNAL NAME...         to programs that were begun, as long as they are there: numbers of
#                                 processes are used again
#   costs KERNEL MICROSECONDS     how long a kernel that fills the GPU takes, for all that follows
#   at NAME                       how far a `worker` (tests/e2e/worker.c) says it is
#   goes_on NAME, stands_still NAME
#                                 waits until it has come further; whether it does not for half a second
#   ends_well NAME                ends a worker and checks that all its launches were done, once
#   say_bad TEXT                  a check has failed; the script goes on
#
# The last line of a script is `exit "$bad"`.

. tests/support/preload.sh
out=$(mktemp -d)
. tests/support/arbiter.sh

# shellcheck disable=SC2034 # scripts use them
samples=$preload_build/samples
# shellcheck disable=SC2034
programs=$preload_build/tests/e2e
sluice=$preload_build/bin/sluice
bad=0
pids=
wait_limit=1200 # a minute: only what hangs fails
ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export ASAN_OPTIONS
# Children of a program with threads start threads of their own, which tsan else ends them for.
TSAN_OPTIONS="die_after_fork=0${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
export TSAN_OPTIONS
# A user's own setting is none of these tests' business.
unset SLUICE_SOCKET SLUICE_TENANT SLUICE_LOG SIMGPU_COSTS SIMGPU_CONFIG SIMGPU_PRESET SIMGPU_MPS

# shellcheck disable=SC2317 # by the trap
end()
{
	trap '' INT TERM HUP
	for end_pid in $pids; do
		is_our_child "$end_pid" && kill -9 "$end_pid" 2>/dev/null
	done
	arbiter_kill
	wait 2>/dev/null
	# Whoever was killed had no time to fail by it.
	if grep -lsE 'SUMMARY: [A-Za-z]*Sanitizer|runtime error: ' "$out"/*; then
		grep -hsE -A 25 'ERROR: |WARNING: |runtime error: ' "$out"/* | head -n 60
		rm -rf "$out"
		exit 1
	fi
	rm -rf "$out" /dev/shm/simgpu-*-"$SIMGPU_INSTANCE"*
}
trap end EXIT
trap 'exit 1' INT TERM HUP

config()
{
	cat >"$out/sluice.conf"
}

say_bad()
{
	printf '%s\n' "$*"
	# shellcheck disable=SC2034 # the script's exit status
	bad=1
}

under_exec()
{
	under_tenant=$1
	shift
	under_preload=
	# `sluice run` leaves a list alone that has the shim in it.
	[ -z "${SAN:-}" ] || under_preload=$(preload_list "$preload_build/lib/libsluice.so")
	[ "$under_tenant" = - ] || set -- --tenant="$under_tenant" "$@"
	exec env LD_PRELOAD="$under_preload" "$sluice" run --socket="$out/socket" --simulated "$@"
}

under()
{
	(under_exec "$@")
}

alone_exec()
{
	exec env LD_LIBRARY_PATH="$preload_build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		LD_PRELOAD="$(preload_list)" "$@"
}

alone()
{
	(alone_exec "$@")
}

begin()
{
	begin_name=$1
	begin_how=$2
	shift 2
	"${begin_how}_exec" "$@" >"$out/$begin_name" 2>"$out/$begin_name.err" &
	pid=$!
	pids="$pids $pid"
	echo "$pid" >"$out/$begin_name.pid"
}

pid_of()
{
	cat "$out/$1.pid"
}

signal()
{
	signal_name=$1
	shift
	for signal_to in "$@"; do
		signal_pid=$(pid_of "$signal_to")
		is_our_child "$signal_pid" && kill "-$signal_name" "$signal_pid"
	done
}

# show NAME: what a program said.
show()
{
	tail -n 15 "$out/$1" "$out/$1.err"
}

await()
{
	wait "$(pid_of "$1")"
	await_status=$?
	[ "$await_status" = "${2:-0}" ] && return 0
	say_bad "$1 ended with status $await_status, not ${2:-0}"
	show "$1"
	return 1
}

costs()
{
	printf 'costs = ( { kernel = "%s"; duration_us = %s.0; sms = 4096; } );\n' "$1" "$2" \
		>"$out/costs.conf"
	SIMGPU_COSTS=$out/costs.conf
	export SIMGPU_COSTS
}

at()
{
	sed -n 's/^at //p' "$out/$1" 2>/dev/null | tail -n 1
}

# shellcheck disable=SC2317 # by wait_until
is_beyond()
{
	is_beyond_at=$(at "$1")
	[ "${is_beyond_at:-0}" -gt "$2" ]
}

goes_on()
{
	goes_on_from=$(at "$1")
	wait_until "$1 beyond ${goes_on_from:-0}" is_beyond "$1" "${goes_on_from:-0}"
}

stands_still()
{
	stands_at=$(at "$1")
	sleep 0.5
	[ "$(at "$1")" = "$stands_at" ]
}

ends_well()
{
	signal TERM "$1"
	await "$1" || return
	grep -Eq '^launched ([1-9][0-9]*) counted \1$' "$out/$1" && return
	say_bad "$1: not all its launches were done"
	show "$1"
}

result_of()
{
	sed -n 's/^result: //p' "$out/$1"
}

sluice()
{
	sluice_command=$1
	shift
	"$sluice" "$sluice_command" --socket="$out/socket" "$@"
}

status_read()
{
	sluice status --json >"$out/status.json" 2>"$out/status.err"
}

status_get()
{
	awk -v list="$1" -v key="$2" -v want="$3" -v field="$4" '
		function plain(text)
		{
			sub(/^ *"[^"]*": */, "", text)
			sub(/,$/, "", text)
			gsub(/^"|"$/, "", text)
			return text
		}
		/^  "/ { inside = $0 ~ "^  \"" list "\": \\[" }
		!inside { next }
		/^    \{/ { match_key = ""; value = ""; seen = 0 }
		$0 ~ "^      \"" key "\": " { match_key = plain($0) }
		$0 ~ "^      \"" field "\": [^\\[{]" { value = plain($0); seen = 1 }
		$0 ~ "^      \"" field "\": \\[" { listing = $0 !~ /\]/; seen = 1; next }
		listing && /^      \]/ { listing = 0 }
		listing { word = $1; gsub(/[",]/, "", word); value = value (value == "" ? "" : " ") word }
		/^    \}/ && seen && match_key == want { print value; exit }
	' "$out/status.json"
}

# status_now ARRAY KEY VALUE FIELD: of a status asked for now.
status_now()
{
	status_read && status_get "$@"
}
