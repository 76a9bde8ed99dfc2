#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Best-effort processes take turns; whoever has the turn is killed, again and again, or stopped: the
# others go on, and no launch of theirs is lost or done twice.
set -u
. tests/support/system.sh

costs count 1000
config <<'CONF'
tenants = (
  { name = "a"; gpu = { weight = 100; }; },
  { name = "b"; gpu = { weight = 300; }; }
);
CONF
arbiter_start

# shellcheck disable=SC2317 # by wait_until
holder_is_known()
{
	status_read || return 1
	for name in $victims; do
		case " $(status_get processes pid "$(pid_of "$name")" state) " in
		*' open '*)
			holder=$name
			return 0
			;;
		esac
	done
	return 1
}

begin stays1 under a -- "$programs/worker" busy 16
begin stays2 under b -- "$programs/worker" busy 16
goes_on stays1
goes_on stays2

round=0
while [ $round -lt 6 ]; do
	round=$((round + 1))
	victims=
	for tenant in a b; do
		begin "victim-$tenant$round" under $tenant -- "$programs/worker" busy 32
		victims="$victims victim-$tenant$round"
	done
	for name in $victims; do
		goes_on "$name"
	done
	holder=
	wait_until 'one that holds the turn' holder_is_known
	# Stopped, it cannot give the turn back: the others must have it all the same.
	if [ $((round % 3)) = 0 ]; then
		signal STOP "$holder"
		goes_on stays1
		goes_on stays2
		signal CONT "$holder"
		goes_on "$holder"
	fi
	signal KILL "$holder"
	goes_on stays1
	goes_on stays2
	for name in $victims; do
		[ "$name" = "$holder" ] && continue
		goes_on "$name"
		ends_well "$name"
	done
done
ends_well stays1
ends_well stays2
# shellcheck disable=SC2317 # by wait_until
all_have_ended()
{
	status_read && ! grep -q '"pid"' "$out/status.json"
}
wait_until 'every process to be seen to end' all_have_ended
exit "$bad"
