#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server with a target on its service beside a trainer: status shows where the controller stands,
# the level moves as the target says, and a target that cannot be met is named with what could be.
# No time is judged: figures appear, and they agree with one another.
set -u
. tests/support/system.sh

SIMGPU_COSTS=$PWD/samples/costs.conf
export SIMGPU_COSTS
config <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); };
    target = { p99 = "+900 %"; of = "service"; }; },
  { name = "train"; }
);
CONF
arbiter_start

# slo FIELD: of chat's controller, in the status that was read last; empty: there is none.
slo()
{
	awk -v field="$1" '
		/^      "name": / { ours = /"chat"/ }
		ours && $0 ~ "^        \"" field "\": " {
			sub(/^[^:]*: /, "")
			gsub(/[",]/, "")
			print
			exit
		}' "$out/status.json"
}

# shellcheck disable=SC2317 # by wait_until
is_in_state()
{
	status_read && [ "$(slo state)" = "$1" ]
}

# is_at COMPARISON LEVEL
# shellcheck disable=SC2317 # by wait_until
is_at()
{
	status_read && awk -v level="$(slo level)" -v than="$2" "BEGIN { exit !(level $1 than) }"
}

# agrees CONDITION over what status says, in awk
agrees()
{
	awk -v level="$(slo level)" -v window="$(slo window_ns)" -v guard="$(slo guard_ns)" \
		-v shared="$(slo service_p99_ns)" -v alone="$(slo service_alone_p99_ns)" \
		-v median="$(slo alone_median_ns)" -v requests="$(slo requests)" \
		"BEGIN { exit !($1) }" || say_bad "not so: $1, in $(cat "$out/status.json")"
}

begin train under train -- "$samples/train" --seconds 600
begin chat under chat -- "$samples/serve" --requests 100000
wait_until 'a server that is being learned' is_in_state learning
agrees 'level == 1 && window == 300000 && guard == 60000'

# As much as anyone could want: to the end of what goes between requests.
wait_until 'a target that is steered by' is_in_state steered
wait_until 'the level above the middle' is_at '>' 1.2
agrees 'level <= 2 && window > 300000 && window <= 1000000'
agrees 'requests >= 40 && median > 1000000 && alone >= median && shared >= alone'
sluice status >"$out/text" || say_bad 'status failed'
grep -Eq '^chat: target p99 \+900 % of service; level [12]\.[0-9]+, window [0-9.]+ (us|ms), guard [0-9.]+ (us|ms); of the last [0-9]+ requests; p99 of service [0-9.]+ ms, alone [0-9.]+ ms \(\+[0-9.]+ %\)' "$out/text" ||
	say_bad "status: no line of the target: $(cat "$out/text")"
grep -q 'note: tenant chat' "$out/text" && say_bad "status: a note on a target that is kept"

# Next to nothing: down, and less is let in.
sluice set chat target.p99='+1 %' >"$out/said" || say_bad 'set failed'
wait_until 'the level below the middle' is_at '<' 0.8
agrees 'window < 300000 && guard > 60000'

# Less than it takes alone: said, with what it would be.
sluice set chat target.p99='1 ms' >"$out/said" || say_bad 'set failed'
wait_until 'a target that cannot be met' is_in_state unreachable
[ "$(slo target_ns)" = 1000000 ] || say_bad "target: $(slo target_ns)"
[ "$(slo reachable_p99_ns)" -gt 1000000 ] || say_bad "reachable: $(slo reachable_p99_ns)"
sluice status >"$out/text"
grep -q '^note: tenant chat: target not reachable with best-effort closed' "$out/text" ||
	say_bad "status: does not say that it cannot be met"

signal TERM chat train
exit "$bad"
