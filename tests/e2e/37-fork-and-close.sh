#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs that fork, exec, become daemons and close descriptors that they do not know, under Sluice
# and where the shim is inert: all their launches are done, their files stay as they are, children
# that use the GPU are processes of the tenant and others are not, and one that closed the shim's
# socket still obeys.
set -u
. tests/support/system.sh

# Threads in a child of fork are what loaders of data have.
TSAN_OPTIONS="die_after_fork=0${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
export TSAN_OPTIONS
config <<'CONF'
tenants = ( { name = "batch"; memory = { max = "4 GiB"; }; } );
CONF

forks()
{
	forks_name=$1
	shift
	"$@" >"$out/$forks_name" 2>"$out/$forks_name.err" || {
		say_bad "$forks_name: status $?"
		show "$forks_name"
	}
	[ -s "$out/$forks_name.err" ] && {
		say_bad "$forks_name: on stderr:"
		show "$forks_name"
	}
}

# shellcheck disable=SC2317 # by wait_until
nobody_is_left()
{
	status_read && ! grep -q '"pid"' "$out/status.json"
}

for mode in workers before close; do
	forks "alone-$mode" alone "$programs/forks" $mode
	# Preloaded by hand, and no arbiter there.
	forks "inert-$mode" alone env SLUICE_SOCKET="$out/socket" \
		LD_PRELOAD="$(preload_list "$preload_build/lib/libsluice.so")" "$programs/forks" $mode
done
arbiter_start
for mode in workers before close; do
	forks "under-$mode" under batch -- "$programs/forks" $mode
done
wait_until 'all to be gone' nobody_is_left

# Beside another process of the tenant, memory has to be asked for through the socket, too.
begin hog under batch -- "$samples/memhog" --chunk 64 --total 512 --hold 600
wait_until hog grep -qs '^memhog: ' "$out/hog"
for mode in workers before close; do
	forks "beside-$mode" under batch -- "$programs/forks" $mode
done

# A child of fork that does not use the GPU is no process of the tenant; what it execs is.
begin shell under batch -- sh -c "\"$programs/worker\" busy & echo \$!; wait"
wait_until 'the child' grep -qs '^at ' "$out/shell"
status_read
grep -q "\"pid\": $(pid_of shell)," "$out/status.json" && say_bad 'a shell counts as GPU process'
child=$(sed -n '/^[0-9]*$/p' "$out/shell")
[ "$(status_get processes pid "$child" tenant)" = batch ] ||
	say_bad "the shell's child is of '$(status_get processes pid "$child" tenant)'"
kill -TERM "$child"
await shell

# The socket was closed under the shim: it connects again, is the same process, and obeys.
begin closed under batch -- "$programs/forks" closed
goes_on closed
goes_on closed
sluice pause batch || say_bad 'pause failed'
wait_until 'one without its socket to be held' stands_still closed
sluice resume batch || say_bad 'resume failed'
goes_on closed
status_read
[ "$(grep -c "\"pid\": $(pid_of closed)," "$out/status.json")" -le 1 ] || say_bad 'two rows for one'
ends_well closed
exit "$bad"
