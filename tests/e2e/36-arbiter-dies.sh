#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The arbiter is killed, hangs and comes back while programs run. Open: they go on, end with the same
# results, and register again, with their memory, when it is back. Hold: each launch waits its
# deadline. Closed: nothing runs until it is back.
set -u
. tests/support/system.sh

costs count 500
steps=60
[ -z "${SAN:-}" ] || steps=10
settings()
{
	cat <<CONF
fail = { mode = "$1"; deadline = "$2"; memory_deadline = "1 s"; };
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; },
  { name = "train"; memory = { max = "1 GiB"; }; },
  { name = "other"; }
);
CONF
}

# shellcheck disable=SC2317 # by wait_until
is_known()
{
	[ "$(status_now processes pid "$(pid_of "$1")" memory_used_bytes)" = "$2" ]
}

# shellcheck disable=SC2317 # by wait_until
has_come()
{
	[ "$(status_now processes pid "$(pid_of "$1")" device)" = 0 ]
}

# A pause that holds proves that the process listens to the arbiter that there is now.
is_governed()
{
	sluice pause "$2" || say_bad "pause $2 failed"
	wait_until "$1 to be held" stands_still "$1"
	sluice resume "$2" || say_bad "resume $2 failed"
	goes_on "$1"
}

settings open '2 s' | config
alone "$samples/graphs" --replays 500 >"$out/alone-graphs" || say_bad 'graphs alone failed'
alone "$samples/train" --steps $steps >"$out/alone-train" || say_bad 'train alone failed'
arbiter_start
begin train under train -- "$programs/worker" busy 64
begin other under other -- "$programs/worker" busy 32
begin chat under chat -- "$programs/worker" request 16
for name in train other chat; do
	goes_on $name
done
train_bytes=$(status_now processes pid "$(pid_of train)" memory_used_bytes)
[ "$train_bytes" -ge $((64 << 20)) ] || say_bad "train uses $train_bytes bytes"

for round in 1 2 3; do
	# ---- killed: programs go on; one that runs meanwhile ends as alone ----
	begin "sample$round" under train -- "$samples/train" --steps $steps
	begin "graphs$round" under other -- "$samples/graphs" --replays 500
	wait_until 'the sample to come' has_come "sample$round"
	wait_until 'the other sample to come' has_come "graphs$round"
	case $round in
	1) arbiter_kill ;;
	2)
		kill -TERM "$arbiter"
		wait "$arbiter" || say_bad "the arbiter ended with status $?"
		arbiter=
		;;
	3)
		# Hung: the connection stands, and nobody answers. Then killed.
		kill -STOP "$arbiter"
		goes_on train
		goes_on chat
		arbiter_kill
		;;
	esac
	for name in train other chat train other chat; do
		goes_on $name
	done

	# ---- back: all are there again, with their memory, and obey ----
	arbiter_start
	wait_until 'train to register again' is_known train "$train_bytes"
	for name in other chat; do
		wait_until "$name to register again" test -n \
			"$(status_now processes pid "$(pid_of $name)" pid)"
	done
	is_governed train train
	under train -- "$samples/memhog" --chunk 64 >"$out/hog" 2>&1 || say_bad 'memhog failed'
	await "sample$round"
	await "graphs$round"
	[ "$(result_of "sample$round")" = "$(result_of alone-train)" ] ||
		say_bad "train when the arbiter died: '$(result_of "sample$round")'"
	[ "$(result_of "graphs$round")" = "$(result_of alone-graphs)" ] ||
		say_bad "graphs when the arbiter died: '$(result_of "graphs$round")'"
done
# What is left of the quota is what train does not hold.
under train -- "$samples/memhog" --chunk 64 >"$out/hog" 2>&1 || say_bad 'memhog failed'
grep -q '^memhog: 14 chunks' "$out/hog" || say_bad "beside 64 MiB of 1 GiB: $(cat "$out/hog")"

# ---- hung and well again ----
kill -STOP "$arbiter"
goes_on train
goes_on other
goes_on chat
kill -CONT "$arbiter"
is_governed train train
is_governed other other
for name in train other chat; do
	ends_well $name
done
arbiter_kill

# ---- hold: launches wait, up to the deadline each, and then go ----
settings hold '300 ms' | config
arbiter_start
begin held under train -- "$programs/worker" busy 64
goes_on held
arbiter_kill
goes_on held
arbiter_start
goes_on held
is_governed held train
ends_well held
arbiter_kill

# ---- closed: nothing until it is back; what was launched is done once ----
settings closed '300 ms' | config
arbiter_start
begin shut under train -- "$programs/worker" busy 64
goes_on shut
arbiter_kill
wait_until 'shut to stand still' stands_still shut
stands_still shut || say_bad 'fail mode closed: it runs without an arbiter'
arbiter_start
goes_on shut
is_governed shut train
ends_well shut
exit "$bad"
