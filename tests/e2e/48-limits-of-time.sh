#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu.max holds one that is alone, gpu.min is due to who has it, a tenant that is not managed is not
# held, and status says what a policy does not enforce.
set -u
. tests/support/system.sh

costs count 500
settings()
{
	cat <<CONF
policy = "$1";
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; target = { p99 = "+10 %"; }; },
  { name = "capped"; gpu = { max = "20 %"; }; },
  { name = "floor"; gpu = { weight = 1; min = "40 %"; }; },
  { name = "plain"; },
  { name = "wild"; managed = false; }
);
CONF
}

note()
{
	sluice status >"$out/text"
	grep -q "^note: .*$1" "$out/text" && return
	say_bad "no note '$1':"
	cat "$out/text"
}

settings share | config
arbiter_start

# ---- gpu.max, with nobody else there: 2,000 launches a second at 100 % ----
begin capped under capped -- "$programs/worker" busy
goes_on capped
sleep 1
from=$(at capped)
start=$(date +%s%N)
sleep 4
did=$(($(at capped) - from))
ns=$(($(date +%s%N) - start))
permille=$((did * 500000 / (ns / 1000)))
echo "gpu.max = 20 %: used $permille permille"
# A slow machine makes it less, never more. "at" lags by up to a tenth of a second.
[ $permille -le 300 ] || say_bad "gpu.max = 20 %: used $permille permille"
[ $permille -ge 10 ] || say_bad "gpu.max = 20 %: used $permille permille, as if it were 1 %"
status_read
case $(status_get tenants name capped gpu_entitled) in
0.2*) ;;
*) say_bad "gpu.max = 20 %: due $(status_get tenants name capped gpu_entitled)" ;;
esac
sluice set capped gpu.max='100 %' >/dev/null || say_bad 'set gpu.max failed'
goes_on capped
ends_well capped

# ---- gpu.min: due before any weight ----
begin floor under floor -- "$programs/worker" busy
begin plain under plain -- "$programs/worker" busy
goes_on floor
goes_on plain
status_read
case $(status_get tenants name floor gpu_entitled) in
0.4*) ;;
*) say_bad "gpu.min = 40 %: due $(status_get tenants name floor gpu_entitled)" ;;
esac
goes_on floor
goes_on plain
ends_well plain
ends_well floor

# ---- what is not managed is not held ----
begin wild under wild -- "$programs/worker" busy
goes_on wild
sluice pause wild 2>"$out/why" && say_bad 'what is not managed can be paused'
grep -q 'managed = false' "$out/why" || say_bad "pause: $(cat "$out/why")"
goes_on wild
note 'tenant wild: managed is false'
ends_well wild

# ---- what is not enforced has a note ----
note 'tenant chat: policy share does not look at latency'
settings slo | config
sluice reload || say_bad 'reload failed'
sluice status >"$out/text"
if grep '^note: tenant chat' "$out/text"; then say_bad 'the slo policy steers by the target, yet there is a note'; fi
exit "$bad"
