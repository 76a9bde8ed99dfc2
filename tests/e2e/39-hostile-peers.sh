#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Peers that send rubbish, flood, do not listen, or write over the pages that they share: the arbiter
# stays up and answers, others go on, and their results and accounts are right.
set -u
. tests/support/system.sh

costs count 500
settings()
{
	cat <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; },
  { name = "train"; memory = { max = "1 GiB"; }; },
  { name = "bad"; memory = { max = "256 MiB"; }; }
);
CONF
}
settings | config
arbiter_start
first=$arbiter

# well WHEN: everyone is as before.
well()
{
	kill -0 "$first" 2>/dev/null || {
		say_bad "$1: the arbiter is gone"
		tail -n 30 "$out/arbiter"
		exit 1
	}
	sluice status >"$out/text" 2>&1 || say_bad "$1: no status: $(cat "$out/text")"
	goes_on train
	goes_on chat
	used=$(status_now processes pid "$(pid_of train)" memory_used_bytes)
	[ "${used:-none}" = "$train_bytes" ] || say_bad "$1: train uses $used, not $train_bytes"
}

# shellcheck disable=SC2317 # by wait_until
is_gone()
{
	status_read && ! grep -q "\"pid\": $(pid_of "$1")," "$out/status.json"
}

begin train under train -- "$programs/worker" busy 64
begin chat under chat -- "$programs/worker" request 32
goes_on train
goes_on chat
train_bytes=$(status_now processes pid "$(pid_of train)" memory_used_bytes)

# ---- on the socket ----
alone "$programs/hostile" versions "$out/socket" || say_bad 'versions'
well versions
for number in 1 2; do
	begin "noise$number" alone "$programs/hostile" noise "$out/socket" $number
done
begin deaf alone "$programs/hostile" deaf "$out/socket"
for number in 1 2; do
	await "noise$number"
done
await deaf
well noise
# Of one user's connections only so many are taken; when they go, all is as it was.
begin flood alone "$programs/hostile" flood "$out/socket" 4000
wait_until 'the flood' grep -qs 'connections$' "$out/flood"
goes_on train
goes_on chat
# The flood is our own: status and changes have room all the same.
well 'in the flood'
sluice set train gpu.weight=200 >/dev/null || say_bad 'in the flood: set failed'
signal KILL flood
# shellcheck disable=SC2317 # by wait_until
may_come()
{
	under train -- "$samples/vecadd" >/dev/null 2>&1
}
wait_until 'a place after the flood' may_come
well flood

# ---- on the shared pages, as either class ----
for tenant in bad chat; do
	for number in 1 2; do
		begin "$tenant$number" under $tenant -- "$programs/hostile" scribble $number
	done
	for number in 1 2; do
		# It ends itself after two seconds.
		await "$tenant$number"
		wait_until 'a scribbler to be gone' is_gone "$tenant$number"
	done
	well "scribble as $tenant"
	for key in requests requests_late longest_unit_ns service_p99_ns; do
		told=$(status_now tenants name $tenant $key)
		[ "$told" = null ] || [ "${told:-0}" -lt 10000000000 ] ||
			say_bad "what $tenant scribbled is shown: $key $told"
	done
done
[ "$(status_now tenants name bad memory_used_bytes)" = 0 ] || say_bad 'bad is gone and uses memory'
under bad -- "$samples/memhog" --chunk 64 >"$out/hog" 2>&1 || say_bad 'memhog as bad failed'
grep -q '^memhog: 4 chunks' "$out/hog" || say_bad "bad has not its quota back: $(cat "$out/hog")"

# What one is told is what the others have: accounts are still kept.
sluice pause train || say_bad 'pause failed'
wait_until 'train to be held' stands_still train
sluice resume train || say_bad 'resume failed'
ends_well train
ends_well chat
exit "$bad"
