#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A program that should be managed and whose first call finds no arbiter, or one that hangs, runs on,
# and comes under the arbiter as soon as that is there.
set -u
. tests/support/system.sh

costs count 500
config <<CONF
tenants = ( { name = "train"; memory = { max = "1 GiB"; }; } );
CONF

# With the shim, as the command would start it, but without looking for the arbiter first.
# shellcheck disable=SC2317 # by begin
unasked_exec()
{
	exec env SLUICE_SOCKET="$out/socket" SLUICE_TENANT=train \
		LD_LIBRARY_PATH="$preload_build/simgpu" \
		LD_PRELOAD="$(preload_list "$preload_build/lib/libsluice.so")" "$@"
}

# shellcheck disable=SC2317 # by wait_until
has_come()
{
	[ "$(status_now processes pid "$(pid_of "$1")" device)" = 0 ]
}

# A pause that holds proves that the process listens to the arbiter.
is_governed()
{
	sluice pause train || say_bad 'pause failed'
	wait_until "$1 to be held" stands_still "$1"
	sluice resume train || say_bad 'resume failed'
	goes_on "$1"
}

# ---- none there ----
begin early unasked "$programs/worker" busy 4
goes_on early
arbiter_start
wait_until 'the early one' has_come early
is_governed early
ends_well early

# ---- it hangs, before it has answered ----
kill -STOP "$arbiter"
begin meanwhile unasked "$programs/worker" busy 4
goes_on meanwhile
goes_on meanwhile
kill -CONT "$arbiter"
wait_until 'the one that came meanwhile' has_come meanwhile
is_governed meanwhile
ends_well meanwhile
exit "$bad"
