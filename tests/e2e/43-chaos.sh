#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A dozen programs of three tenants while, at random, they are killed, stopped and continued, tenants
# paused, settings changed, the configuration reloaded, and the arbiter killed and started: whoever
# survives goes on, has done each launch once, and memory is accounted as it is.
#
# CHAOS_SEED and CHAOS_STEPS choose another run.
set -u
. tests/support/system.sh

seed=${CHAOS_SEED:-1}
steps=${CHAOS_STEPS:-60}
workers=8
if [ -n "${SAN:-}" ]; then
	steps=${CHAOS_STEPS:-20}
	workers=4
fi
echo "seed $seed, $steps steps"
# shellcheck disable=SC2016,SC2034 # for wait_until
wait_dump='sluice status; for name in $alive; do echo "$name $(pid_of $name)"; show $name; done'

trap '[ $? = 0 ] || tail -n 150 "$out/steps"; end' EXIT

# Requests are short and far apart, so that there is time left beside many of them.
costs count 100
settings()
{
	cat <<CONF
lease = "1 s";
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; memory = { max = "$1 MiB"; }; },
  { name = "heavy"; gpu = { weight = $1; }; memory = { max = "2 GiB"; }; },
  { name = "light"; gpu = { weight = 50; max = "60 %"; }; memory = { max = "1 GiB"; }; }
);
CONF
}

# roll N: 0 to N-1 into `rolled`; a linear congruential generator with a prime modulus.
state=$((seed % 2147483646 + 1))
roll()
{
	state=$((state * 48271 % 2147483647))
	rolled=$((state / 7 % $1))
}

number=0
alive=
# shellcheck disable=SC2317 # by wait_until
has_started()
{
	[ -n "$(at "$1")" ]
}

# launch: one more program, of a random tenant.
launch()
{
	number=$((number + 1))
	roll 3
	case $rolled in
	0) begin "p$number" under chat -- "$programs/worker" request 16 ;;
	1) begin "p$number" under heavy -- "$programs/worker" busy 64 ;;
	2) begin "p$number" under light -- "$programs/worker" busy 32 ;;
	esac
}

# spawn: one that lives. It is let start in peace: without an arbiter it would not be managed, and
# what an earlier arbiter granted to one that is stopped is nobody else's.
spawn()
{
	for name in $alive; do
		signal CONT "$name"
	done
	for tenant in chat heavy light; do
		sluice resume $tenant
	done
	launch
	wait_until "p$number to start" has_started "p$number"
	alive="$alive p$number"
}

# pick: a random one of those alive, into `picked`.
pick()
{
	# shellcheck disable=SC2086 # words
	set -- $alive
	roll $#
	shift "$rolled"
	picked=$1
}

without()
{
	rest=
	for name in $alive; do
		[ "$name" = "$1" ] || rest="$rest $name"
	done
	alive=$rest
}

step()
{
	roll 14
	case $rolled in
	0 | 1)
		pick
		echo "kill $picked"
		signal KILL "$picked"
		without "$picked"
		spawn
		;;
	2 | 3)
		pick
		echo "stop $picked"
		signal STOP "$picked"
		;;
	4 | 5 | 6)
		echo 'continue all'
		for name in $alive; do
			signal CONT "$name"
		done
		;;
	7)
		roll 3
		tenant=$(echo chat heavy light | cut -d' ' -f$((rolled + 1)))
		echo "pause $tenant"
		sluice pause "$tenant"
		;;
	8)
		echo 'resume all'
		for tenant in chat heavy light; do
			sluice resume "$tenant"
		done
		;;
	9)
		roll 900
		echo "set heavy gpu.weight=$((rolled + 100))"
		sluice set heavy gpu.weight=$((rolled + 100))
		;;
	10)
		roll 900
		echo "reload $((rolled + 100))"
		settings $((rolled + 100)) | config
		sluice reload
		;;
	11)
		echo 'kill the arbiter'
		arbiter_kill
		roll 4
		sleep 0.$rolled
		arbiter_start
		;;
	12)
		echo 'end the arbiter'
		kill -TERM "$arbiter"
		wait "$arbiter" || say_bad "the arbiter ended with status $?"
		arbiter_start
		;;
	13)
		launch
		roll 10
		sleep 0.0$rolled
		echo "kill p$number at once"
		signal KILL "p$number"
		;;
	esac >>"$out/steps" 2>&1
}

settings 500 | config
arbiter_start
while [ $number -lt $workers ]; do
	spawn >>"$out/steps" 2>&1
done
count=0
while [ $count -lt "$steps" ]; do
	step
	kill -0 "$arbiter" 2>/dev/null || {
		echo 'the arbiter died'
		tail -n 20 "$out/arbiter" "$out/steps"
		exit 1
	}
	roll 3
	sleep 0.1$rolled
	count=$((count + 1))
done

# ---- calm: all go on ----
for name in $alive; do
	signal CONT "$name"
done
for tenant in chat heavy light; do
	sluice resume "$tenant" || say_bad "resume $tenant failed"
done
for name in $alive; do
	goes_on "$name"
done
# shellcheck disable=SC2317 # by wait_until
settle()
{
	for name in $alive; do
		bytes=$(status_now processes pid "$(pid_of "$name")" memory_used_bytes)
		[ "${bytes:-0}" -ge $((16 << 20)) ] || return 1
	done
}
wait_until 'all to be accounted for' settle
for name in $alive; do
	ends_well "$name"
done
# shellcheck disable=SC2317 # by wait_until
nobody_is_left()
{
	status_read && ! grep -q '"pid"' "$out/status.json"
}
wait_until 'all to be gone' nobody_is_left
for tenant in chat heavy light; do
	[ "$(status_get tenants name $tenant memory_used_bytes)" = 0 ] || say_bad "$tenant is gone and uses memory"
done
under heavy -- "$samples/memhog" --chunk 128 >"$out/hog" 2>&1 || say_bad 'memhog failed'
grep -q '^memhog: 16 chunks' "$out/hog" || say_bad "heavy has not its 2 GiB: $(cat "$out/hog")"
exit "$bad"
