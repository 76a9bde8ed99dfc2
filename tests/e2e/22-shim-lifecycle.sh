#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A shim without an arbiter is inert: across fork, exec and closed descriptors a program prints
# what it prints without it, and errno stays the program's own.
set -u
. tests/support/preload.sh

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bad=0

# run OUTPUT [LIBRARY]
run()
{
	# shellcheck disable=SC2086 # none or one
	env SLUICE_SOCKET="$out/none" LD_LIBRARY_PATH="$preload_build/nulldriver" \
		ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$(preload_list ${2:-})" \
		"$preload_build/tests/e2e/lifecycle" >"$1" 2>"$1.err"
}

run "$out/bare" || { echo "bare: failed"; cat "$out/bare"; bad=1; }
run "$out/shim" "$preload_build/lib/libsluice.so" || { echo "preloaded: failed"; cat "$out/shim"; bad=1; }
diff "$out/bare" "$out/shim" || bad=1
[ -s "$out/shim.err" ] && { echo 'the shim said something:'; cat "$out/shim.err"; bad=1; }
grep -qx 'errno changed: 0' "$out/shim" || { grep errno "$out/shim"; bad=1; }
[ "$(grep -c '^child .* fails: yes$' "$out/shim")" = 3 ] || { grep child "$out/shim"; bad=1; }
grep -qx 'exec ended: 0' "$out/shim" || bad=1
exit $bad
