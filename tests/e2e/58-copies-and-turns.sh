#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where processes take turns, large copies of one go on while another has the turn: many to each of
# that one's kernels, four of which have to drain at a change. Small ones wait for a turn.
set -u
. tests/support/system.sh

costs count 100000
config <<'CONF'
tenants = (
  { name = "computes"; gpu = { weight = 100; }; },
  { name = "copies"; gpu = { weight = 100; }; }
);
CONF
arbiter_start

begin computes under computes -- "$programs/worker" busy 16
goes_on computes
begin large under copies -- "$programs/worker" copies 16
goes_on large
first=$(at large)
until=$(($(at computes) + 20))
has_computed()
{
	[ "$(at computes)" -ge $until ]
}
wait_until 'twenty more kernels' has_computed
# 16 MiB take some 2 ms, a kernel 100. With turns of its own, of a few ms each, it would make about two a
# round of four kernels.
copies=$(($(at large) - first))
[ $copies -ge 150 ] || say_bad "$copies large copies while 20 kernels ran: they wait for turns"
ends_well large
ends_well computes
exit "$bad"
