#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVTX process ranges as requests: a tenant whose target counts them has its latency from arrival, and
# another tool's injection that was set before gets every range as well.
set -u
. tests/support/system.sh

cat >"$out/costs.conf" <<'CONF'
costs = ( { kernel = "*"; duration_us = 2000.0; sms = 4096; } );
CONF
SIMGPU_COSTS=$out/costs.conf
export SIMGPU_COSTS
config <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); };
    target = { p99 = "15 ms"; of = "range:infer"; }; },
  { name = "other"; class = "latency-critical"; match = { uid = $(id -u); };
    target = { p99 = "1 s"; }; }
);
CONF
arbiter_start
${CC:-gcc} -shared -fPIC -O1 -o "$out/injector.so" tests/e2e/nvtx/injector.c || exit 1

is()
{
	[ "$2" = "$3" ] || say_bad "$1: '$3', not '$2'"
}

# Two come at a time, and each takes 10 ms: every second one takes 20 from its arrival, and is late.
begin chat under chat -- "$programs/ranges" 40
await chat
is 'served' 'served 40 launched 200' "$(cat "$out/chat")"
late=$(status_now tenants name chat requests_late)
[ "${late:-0}" -ge 20 ] || say_bad "late: $late of 40, not 20 at least"
[ "${late:-0}" -le 40 ] || say_bad "late: $late of 40"
# Status reads the page; what why knows is taken from the ring at times, and at the process's end.
all_taken()
{
	sluice why --json chat >"$out/why.json" || say_bad 'why failed'
	[ "$late" = "$(grep -c '"ended_ago_ns"' "$out/why.json")" ]
}
wait_until 'as many late as status says' all_taken
awk '/"queued_ns"/ { gsub(/[^0-9]/, ""); if ($0 + 0 > 5e6) some++ } END { exit some < 20 }' \
	"$out/why.json" || say_bad "those that waited for another: $(grep queued_ns "$out/why.json")"

# The other tenant's target counts what the shim sees.
NVTX_INJECTION64_PATH=$out/injector.so
export NVTX_INJECTION64_PATH
begin other under other -- "$programs/ranges" 10
await other
is 'served' 'served 10 launched 50' "$(cat "$out/other")"
is 'what the other tool saw' 'injector: inits 1 started 15 ended 15' "$(cat "$out/other.err")"
begin again under chat -- "$programs/ranges" 10
await again
is 'what the other tool saw' 'injector: inits 1 started 15 ended 15' "$(cat "$out/again.err")"
more=$(status_now tenants name chat requests_late)
[ "${more:-0}" -ge $((late + 5)) ] || say_bad "late behind the other tool: $more after $late"
exit "$bad"
