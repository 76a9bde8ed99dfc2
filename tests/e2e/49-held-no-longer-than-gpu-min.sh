#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A latency-critical process takes no more from others than their gpu.min leaves it, and no more than
# its own gpu.max: neither one that never lets its work end, nor one that launches nothing and says
# in its pages that it is busy. Status names it, and whoever ends well has done each launch once.
set -u
. tests/support/system.sh

costs count 2000
config <<CONF
lease = "1 h";
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; },
  { name = "train"; gpu = { min = "30 %"; }; }
);
CONF
arbiter_start

# shellcheck disable=SC2317 # by wait_until
is_excess()
{
	case " $(status_now tenants name chat state) " in
	*' above_gpu_max '*) return 0 ;;
	esac
	return 1
}

# shellcheck disable=SC2317
is_gone()
{
	status_read && ! grep -q "\"pid\": $(pid_of "$1")," "$out/status.json"
}

# shares WITH: train goes on beside it, again and again.
shares()
{
	# shellcheck disable=SC2034 # counts
	for round in 1 2 3 4 5; do
		goes_on train
	done
	wait_until "status to name $1" is_excess
}

begin train under train -- "$programs/worker" busy 64
goes_on train

# ---- always work in flight: its request does not end ----
begin endless under chat -- "$programs/worker" ahead
goes_on endless
shares endless
goes_on endless
ends_well endless

# ---- nothing but words in its own pages ----
for lie in hold fresh; do
	begin $lie under chat -- "$programs/hostile" $lie
	wait_until "$lie" grep -qs '^holding' "$out/$lie"
	shares $lie
	signal KILL $lie
	wait_until "$lie to be gone" is_gone $lie
	goes_on train
done

# ---- its own gpu.max bounds it likewise ----
sluice set train gpu.min='0 %' >/dev/null || say_bad 'set gpu.min failed'
sluice set chat gpu.max='50 %' >/dev/null || say_bad 'set gpu.max failed'
begin endless under chat -- "$programs/worker" ahead
goes_on endless
shares endless
ends_well endless
ends_well train
exit "$bad"
