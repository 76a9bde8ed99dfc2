#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A latency-critical process that is killed in the middle of a request, or stopped, does not hold the
# others for ever: training goes on, status says what is the matter, and a stopped one may go on.
set -u
. tests/support/system.sh

costs count 2000
config <<CONF
lease = "1 s";
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $(id -u); }; },
  { name = "train"; }
);
CONF
arbiter_start

# shellcheck disable=SC2317 # by wait_until
process_is()
{
	case " $(status_now processes pid "$(pid_of "$1")" state) " in
	*" $2 "*) return 0 ;;
	esac
	return 1
}

# shellcheck disable=SC2317
is_gone()
{
	status_read && ! grep -q "\"pid\": $(pid_of "$1")," "$out/status.json"
}

begin train under train -- "$programs/worker" busy 64
goes_on train

# ---- killed in the middle of a request ----
for round in 1 2 3; do
	begin "chat$round" under chat -- "$programs/worker" open 128
	goes_on "chat$round"
	# 2 ms every 5 ms and never a wait: its request is open.
	signal KILL "chat$round"
	wait_until 'the killed one to be gone' is_gone "chat$round"
	goes_on train
	used=$(status_now tenants name chat memory_used_bytes)
	[ "${used:-none}" = 0 ] || say_bad "killed, and chat uses $used bytes"
done

# ---- a request that never ends: status says that none is seen; when the process ends, others go on ----
begin endless under chat -- "$programs/worker" ahead
goes_on endless
wait_until 'no request seen' process_is endless no_request
sluice status | grep -q "^note: tenant chat (pid $(pid_of endless)): no request boundary" ||
	say_bad 'no note on a process without an end of its requests'
ends_well endless
goes_on train

# ---- one that launches and never looks: it lives, and holds nobody once its work is done ----
begin idle under chat -- "$programs/worker" once
goes_on idle
goes_on train
goes_on train
ends_well idle

# ---- stopped in the middle of a request ----
begin chat under chat -- "$programs/worker" request
goes_on chat
goes_on train
for round in 1 2 3; do
	signal STOP chat
	goes_on train
	goes_on train
	[ -n "$(status_now processes pid "$(pid_of chat)" state)" ] ||
		say_bad 'status does not know the stopped process'
	signal CONT chat
	goes_on chat
	goes_on train
done
# One stopped while its request is open does not hold the others, and status names it.
begin stuck under chat -- "$programs/worker" open
goes_on stuck
signal STOP stuck
goes_on train
goes_on chat
signal CONT stuck
goes_on stuck
ends_well stuck
goes_on train
ends_well chat
ends_well train
exit "$bad"
