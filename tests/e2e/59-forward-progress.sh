#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A latency-critical process whose work waits for what a best-effort one is held with: that one gets
# through all the same, long before the lease, and status says so. With MPS and without.
set -u
. tests/support/system.sh

config <<CONF
lease = "3600 s";
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; },
  { name = "train"; }
);
CONF
instance=$SIMGPU_INSTANCE

# shellcheck disable=SC2317 # by wait_until
is_done()
{
	grep -qsx 'done' "$out/$1"
}

for mps in 0 1; do
	export SIMGPU_MPS=$mps SIMGPU_INSTANCE="$instance-$mps"
	arbiter_start
	begin other$mps under train -- "$programs/wait_for" other "$out/words$mps"
	begin holder$mps under chat -- "$programs/wait_for" holder "$out/words$mps"
	wait_until "the held launch, mps $mps" is_done other$mps
	await holder$mps
	is_done holder$mps || say_bad "mps $mps: the holder is not done"
	sluice status >"$out/text"
	grep -q "^note: tenant train (pid $(pid_of other$mps)): .* went through a shut gate" "$out/text" || {
		say_bad "mps $mps: no note on what went through"
		cat "$out/text"
	}
	signal KILL other$mps
	await other$mps 137
	arbiter_kill
done
SIMGPU_INSTANCE=$instance
exit "$bad"
