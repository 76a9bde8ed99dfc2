#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Across fork, exec and closed descriptors a program prints what it prints without the shim, and
# errno stays its own: without an arbiter, where the shim is inert, and under one.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
. tests/support/arbiter.sh
# shellcheck disable=SC2317 # by the trap
end()
{
	arbiter_kill
	rm -rf "$out"
}
trap end EXIT
bad=0

# check NAME: the run is as the bare one.
check()
{
	diff "$out/bare" "$out/$1" || { echo "$1: differs"; bad=1; }
	[ -s "$out/$1.err" ] && { echo "$1: the shim said something"; cat "$out/$1.err"; bad=1; }
	grep -qx 'errno changed: 0' "$out/$1" || { echo "$1: errno"; bad=1; }
	[ "$(grep -c '^child .* fails: yes$' "$out/$1")" = 3 ] || { echo "$1: the child"; bad=1; }
	grep -qx 'exec ended: 0' "$out/$1" || { echo "$1: the exec"; bad=1; }
}

env LD_LIBRARY_PATH="$preload_build/nulldriver" LD_PRELOAD="$(preload_list)" \
	"$preload_build/tests/e2e/lifecycle" >"$out/bare" || bad=1
managed lifecycle >"$out/inert" 2>"$out/inert.err" || bad=1
check inert

# What it says when it is asked to: one line.
SLUICE_LOG=info managed lifecycle >"$out/loud" 2>"$out/loud.err" || bad=1
sed 's/pid [0-9]*/pid N/' "$out/loud.err" | sort -u >"$out/loud.lines"
printf 'sluice (pid N): not managed: no arbiter\n' | diff - "$out/loud.lines" || bad=1
[ "$(wc -l <"$out/loud.err")" = 2 ] || { echo 'not once for each process'; bad=1; }

printf 'default = { class = "best-effort"; memory = { max = "64 MiB"; }; };\n' >"$out/sluice.conf"
arbiter_start
managed lifecycle >"$out/under" 2>"$out/under.err" || bad=1
check under
SLUICE_LOG=info managed lifecycle >"$out/told" 2>"$out/told.err" || bad=1
sed 's/pid [0-9]*/pid N/' "$out/told.err" | sort -u >"$out/told.lines"
printf 'sluice (pid N): %s\n' 'device 0: managed' 'under Sluice as tenant default, best-effort' |
	diff - "$out/told.lines" || bad=1
# The program and what it exec'd, twice; the child of fork that asks for nothing has not come.
[ "$(grep -c 'lifecycle has come' "$out/arbiter")" = 4 ] || { cat "$out/arbiter"; bad=1; }
exit $bad
