#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Dozens of processes of many tenants at once, with weights, latency-critical ones among them, with
# and without MPS: all finish with the right results. More than a user may have are told so in one
# sentence each, and the rest is not disturbed.
set -u
. tests/support/system.sh

many=48
limit=24
[ -z "${SAN:-}" ] || many=16 limit=8
settings()
{
	echo "connections = $1;"
	echo 'tenants = ('
	echo "  { name = \"chat\"; class = \"latency-critical\"; match = { uid = $(id -u); }; }"
	tenant=0
	while [ $tenant -lt 12 ]; do
		echo ", { name = \"team$tenant\"; gpu = { weight = $((tenant * 100 + 50)); }; memory = { max = \"$((tenant + 1)) GiB\"; }; }"
		tenant=$((tenant + 1))
	done
	echo ');'
}

# begin_many RUN OPTION...
begin_many()
{
	run=$1
	shift
	number=0
	while [ $number -lt $many ]; do
		tenant=team$((number % 12))
		[ $((number % 16)) = 15 ] && tenant=chat
		case $((number % 3)) in
		0) set -- "$samples/graphs" --replays 20 ;;
		*) set -- "$samples/vecadd" --rounds 8 ;;
		esac
		# shellcheck disable=SC2086 # options
		begin "$run-$number" under $tenant $options -- "$@"
		number=$((number + 1))
	done
}

# right NAME NUMBER
right()
{
	case $(($2 % 3)) in
	0) right_result=$(result_of graphs) ;;
	*) right_result=$(result_of vecadd) ;;
	esac
	[ "$(result_of "$1")" = "$right_result" ] && return
	say_bad "$1: '$(result_of "$1")', not '$right_result'"
	show "$1"
}

alone "$samples/graphs" --replays 20 >"$out/graphs" || say_bad 'graphs alone failed'
alone "$samples/vecadd" --rounds 8 >"$out/vecadd" || say_bad 'vecadd alone failed'

settings 256 | config
arbiter_start
for options in '' --mps; do
	begin_many "all$options"
	number=0
	while [ $number -lt $many ]; do
		await "all$options-$number" && right "all$options-$number" $number
		number=$((number + 1))
	done
done
# Nothing is left of them.
# shellcheck disable=SC2317 # by wait_until
nobody_is_left()
{
	status_read && ! grep -q '"pid"' "$out/status.json"
}
wait_until 'all to be gone' nobody_is_left
[ "$(grep -c '"name": "team' "$out/status.json")" = 12 ] || say_bad 'not twelve teams in status'

# ---- more than allowed ----
settings $limit | config
sluice reload || say_bad 'reload failed'
number=0
while [ $number -lt $limit ]; do
	begin "hold-$number" under "team$((number % 12))" -- "$samples/memhog" --chunk 2 --total 4 --hold 600
	wait_until "hold-$number" grep -qs '^memhog: 2 chunks' "$out/hold-$number"
	number=$((number + 1))
done
number=0
while [ $number -lt 5 ]; do
	begin "over-$number" under team1 -- "$samples/vecadd"
	number=$((number + 1))
done
number=0
while [ $number -lt 5 ]; do
	await "over-$number" 1
	if [ "$(wc -l <"$out/over-$number.err")" != 1 ] ||
		! grep -q 'as many connections as the arbiter allows (connections in' "$out/over-$number.err"; then
		say_bad "over-$number: not the one sentence"
		show "over-$number"
	fi
	number=$((number + 1))
done
# One goes, one may come.
signal KILL hold-0
# shellcheck disable=SC2317 # by wait_until
may_come()
{
	under team1 -- "$samples/vecadd" >"$out/next" 2>&1
}
wait_until 'a place' may_come
grep -q '^result: ' "$out/next" || say_bad 'the next one has no result'
exit "$bad"
