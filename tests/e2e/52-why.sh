#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `sluice why`: late requests of a server beside a trainer with a long kernel, each with whose work was
# in flight when it came, and sums; nobody's without the trainer. Refusals are one sentence.
set -u
. tests/support/system.sh

# A request takes 3.4 ms by itself, and some slices of 2 ms more beside the worker's far longer kernel.
cat >"$out/costs.conf" <<'CONF'
costs = (
  { kernel = "*count*"; duration_us = 9000.0; sms = 4096; },
  { kernel = "*"; duration_us = 20.0; sms = 4096; }
);
CONF
SIMGPU_COSTS=$out/costs.conf
export SIMGPU_COSTS
config <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); };
    target = { p99 = "4 ms"; }; },
  { name = "batch"; },
  { name = "free"; class = "latency-critical"; match = { uid = $(id -u); }; }
);
CONF
arbiter_start

is_refused()
{
	pattern=$1
	shift
	sluice why "$@" >"$out/said" 2>"$out/refused" && say_bad "why $*: not refused"
	[ "$(wc -l <"$out/refused")" = 1 ] && grep -q "$pattern" "$out/refused" && return
	say_bad "why $*: $(cat "$out/refused")"
}
is_refused 'no tenant nobody' nobody
is_refused 'best-effort' batch
is_refused 'no target' free
is_refused 'minutes' --minutes=0 chat

# What there is to ask: at least one late request that met the other's work. Read again after each
# round of requests, the first of which meets a kernel as likely as not: how many do depends on how
# busy this machine is.
causes_read()
{
	sluice why --json chat >"$out/why.json" || say_bad "why --json: status $?"
	late=$(grep -c '"ended_ago_ns"' "$out/why.json")
	causes=$(grep -c '"behind"' "$out/why.json")
}
begin batch under batch -- "$programs/worker" busy
goes_on batch
causes=0
for _ in 1 2 3 4 5 6 7; do
	[ "$causes" -ge 1 ] && break
	begin chat under chat -- "$samples/serve" --requests 60 --warmup 10
	await chat
	causes_read
done
ends_well batch

# The arbiter reads the last of them when it sees that the process has ended.
# shellcheck disable=SC2317 # by wait_until
all_read()
{
	causes_read
	[ "$late" = "$(status_now tenants name chat requests_late)" ]
}
wait_until 'as many late as status says' all_read
sluice why chat >"$out/why.txt" || say_bad "why: status $?"
cat "$out/why.txt"

# Every cause is the one that there was, and what it took is near the truth.
[ "$late" -ge 1 ] || say_bad "no late request"
[ "$causes" -ge 1 ] || say_bad "no cause of $late late requests"
grep '"tenant": ' "$out/why.json" | grep -vq '"batch"\|"chat"' && say_bad "another tenant's"
grep '"longest_unit": ' "$out/why.json" | grep -vq 'count' && say_bad "another kernel's"
awk '/"longest_unit_ns"/ { gsub(/[^0-9]/, ""); if ($0 + 0 > 12e6) bad = 1; if ($0 + 0 > 6e6) some = 1 }
	END { exit bad || !some }' "$out/why.json" || say_bad "the unit takes 9 ms"
grep -q '^batch .*count' "$out/why.txt" || say_bad "no sum of batch's kernel"

# The target that is set now is not the one that they missed.
sluice set chat target.p99='90 ms' >"$out/set.txt" || say_bad "set: status $?"
sluice why chat >"$out/then.txt" || say_bad "why: status $?"
grep -q "(p99 90 ms of service now; $late late against the target that was then)" "$out/then.txt" ||
	say_bad "no word of the old target: $(head -n 1 "$out/then.txt")"
exit "$bad"
