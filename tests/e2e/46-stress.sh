#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of many threads that make and destroy streams, graphs, captures, contexts and memory of all
# kinds, as best-effort and as latency-critical tenants, with and without MPS, beside one another: the
# results are those without Sluice, nobody hangs, and nothing stays charged.
#
# STRESS_SEED, STRESS_THREADS and STRESS_ROUNDS choose another run.
set -u
. tests/support/system.sh

seed=${STRESS_SEED:-7}
threads=${STRESS_THREADS:-24}
rounds=${STRESS_ROUNDS:-25}
[ -z "${SAN:-}" ] || threads=${STRESS_THREADS:-8}
echo "seed $seed, $threads threads, $rounds rounds"

costs count 50
config <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; memory = { max = "4 GiB"; }; },
  { name = "heavy"; gpu = { weight = 300; }; memory = { max = "1 GiB"; }; },
  { name = "tight"; memory = { max = "6 MiB"; }; }
);
CONF

# has_ended NAME: it has said its last line, or is gone.
# shellcheck disable=SC2317 # by wait_until
has_ended()
{
	grep -q '^launched' "$out/$1" || ! kill -0 "$(pid_of "$1")" 2>/dev/null
}

# is_right NAME LINE: it ended so, and nothing is charged any more.
is_right()
{
	wait_until "the end of $1" has_ended "$1"
	grep -q "$2" "$out/$1" || { say_bad "$1: not '$2'"; show "$1"; }
	bytes=$(status_now processes pid "$(pid_of "$1")" memory_used_bytes)
	[ "${bytes:-9999}" -le 4096 ] || say_bad "$1 has freed everything and is charged ${bytes:-?} bytes"
}

alone "$programs/stress" "$threads" "$rounds" "$seed" >"$out/alone" || say_bad 'alone it fails'
right="^$(grep '^launched' "$out/alone")\$"

# stress NAME TENANT THREADS: begins it, with the options that there are.
stress()
{
	# shellcheck disable=SC2086 # options
	begin "$1" under "$2" $options -- "$programs/stress" "$3" "$rounds" "$seed" stay
}

for options in '' --mps; do
	arbiter_start
	stress first heavy "$threads"
	stress chat chat "$threads"
	stress second heavy "$threads"
	# What it launches depends on what it is refused.
	stress tight tight 4
	for name in first chat second; do
		is_right "$name" "$right"
	done
	is_right tight ' wrong 0$'
	for name in first chat second tight; do
		kill -TERM "$(pid_of "$name")"
		await "$name"
	done
	status_read
	for tenant in chat heavy tight; do
		[ "$(status_get tenants name $tenant memory_used_bytes)" = 0 ] ||
			say_bad "$tenant is gone and uses memory"
	done
	arbiter_kill
done
exit "$bad"
