#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The system's arbiter and two users: each sees what is theirs, only administrators change anything,
# a match on the user holds, and one user's flood does not shut the other out. --user serves one.
set -u
. tests/support/system.sh

other=65534
as_other()
{
	setpriv --reuid="$other" --regid="$other" --clear-groups "$@"
}
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
	echo 'needs root and setpriv, to be two users'
	exit 77
fi
chmod 755 "$out"
if ! as_other test -x "$sluice" || ! as_other test -r "$preload_build/simgpu/libcuda.so.1"; then
	echo "user $other cannot read $preload_build"
	exit 77
fi

costs count 500
config <<CONF
connections = 16;
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = 0; }; },
  { name = "theirs"; match = { uid = $other; }; memory = { max = "1 GiB"; }; },
  { name = "ours"; match = { gid = 0; }; }
);
CONF

# shellcheck disable=SC2317 # by begin
other_exec()
{
	# Another user has another simulated GPU; the arbiter is the same.
	exec setpriv --reuid="$other" --regid="$other" --clear-groups "$@"
}

# shellcheck disable=SC2317 # by begin
other_run_exec()
{
	other_tenant=$1
	shift
	exec env LD_PRELOAD="${SAN:+$(preload_list "$preload_build/lib/libsluice.so")}" \
		setpriv --reuid="$other" --regid="$other" --clear-groups "$sluice" run --socket="$out/socket" \
		--tenant="$other_tenant" --simulated "$@"
}

# fails PATTERN COMMAND...
fails()
{
	pattern=$1
	shift
	"$@" >"$out/said" 2>"$out/why" && say_bad "$*: did not fail"
	[ "$(wc -l <"$out/why")" = 1 ] && grep -Eq "$pattern" "$out/why" && return
	say_bad "$*: not one line with '$pattern':"
	cat "$out/said" "$out/why"
}

# ---- an arbiter of one user's own ----
arbiter_start
fails 'may not connect .* needs to enter its folder' as_other "$sluice" status --socket="$out/socket"
arbiter_kill

# ---- the system's ----
rm -f "$out/socket"
"$preload_build/bin/sluiced" --socket="$out/socket" --config="$out/sluice.conf" >>"$out/arbiter" 2>&1 &
arbiter=$!
wait_until 'the socket' test -S "$out/socket"
begin ours under ours -- "$programs/worker" busy 64
begin theirs other_run theirs -- "$programs/worker" busy 32
goes_on ours
goes_on theirs
status_read
[ "$(status_get processes pid "$(pid_of theirs)" tenant)" = theirs ] || say_bad 'theirs is not theirs'
[ "$(status_get processes pid "$(pid_of theirs)" uid)" = $other ] || say_bad 'theirs is of another user'
as_other "$sluice" status --socket="$out/socket" --json >"$out/status.json" || say_bad 'no status for them'
[ -n "$(status_get processes pid "$(pid_of theirs)" tenant)" ] || say_bad 'they do not see their own'
[ -z "$(status_get processes pid "$(pid_of ours)" tenant)" ] || say_bad 'they see our process'
[ -z "$(status_get tenants name ours class)" ] || say_bad 'they see our tenant'

not_allowed='only root.*admin_group'
fails "$not_allowed" as_other "$sluice" set --socket="$out/socket" theirs gpu.weight=10000
fails "$not_allowed" as_other "$sluice" pause --socket="$out/socket" ours
fails "$not_allowed" as_other "$sluice" resume --socket="$out/socket" ours
fails "$not_allowed" as_other "$sluice" reload --socket="$out/socket"
for tenant in chat ours; do
	fails "tenant $tenant admits" as_other "$sluice" run --socket="$out/socket" --tenant=$tenant -- true
done
goes_on ours

# ---- their flood ----
begin flood other env LD_LIBRARY_PATH="$preload_build/simgpu" \
	LD_PRELOAD="$(preload_list)" "$programs/hostile" flood "$out/socket" 2000
wait_until 'the flood' grep -qs 'connections$' "$out/flood"
fails 'as many connections as the arbiter allows' \
	as_other "$sluice" run --socket="$out/socket" --tenant=theirs -- true
as_other "$sluice" status --socket="$out/socket" >/dev/null ||
	say_bad 'their own flood keeps status from them'
sluice status >/dev/null || say_bad 'their flood shuts us out'
under chat -- "$samples/vecadd" >"$out/vecadd" 2>&1 || say_bad "vecadd: $(cat "$out/vecadd")"
goes_on ours
goes_on theirs
signal KILL flood
# shellcheck disable=SC2317 # by wait_until
they_may()
{
	as_other env LD_PRELOAD="$(preload_list ${SAN:+"$preload_build/lib/libsluice.so"})" "$sluice" run \
		--socket="$out/socket" --tenant=theirs -- true >/dev/null 2>&1
}
wait_until 'them to be heard again' they_may
ends_well ours
ends_well theirs
rm -f /dev/shm/simgpu-$other-"$SIMGPU_INSTANCE"*
exit "$bad"
