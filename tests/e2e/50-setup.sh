#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The dependency step on machines that lack something: one line that says what to do, status 2.
set -u
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
setup=$PWD/tools/setup/deps.sh
bad=0
mkdir "$out/bin"

# stand_in NAME LINE...: of a program.
stand_in()
{
	stand_in=$out/bin/$1
	shift
	{
		echo '#!/bin/sh'
		printf '%s\n' "$@"
	} >"$stand_in"
	chmod +x "$stand_in"
}

# stops PATTERN [NAME=VALUE...]
stops()
{
	pattern=$1
	shift
	(cd "$out" && env -u CUDA_HOME SLUICE_NO_SYSTEM_CUDA=1 PATH="$out/bin:/usr/bin:/bin" "$@" \
		sh "$setup" >said 2>why)
	status=$?
	[ $status = 2 ] && [ ! -s "$out/said" ] && [ "$(wc -l <"$out/why")" = 1 ] &&
		grep -Eqx "sluice: $pattern" "$out/why" && [ ! -e "$out/build/deps.mk" ] && return
	echo "status $status, and not '$pattern':"
	cat "$out/said" "$out/why"
	bad=1
}

# shellcheck disable=SC2016 # for the stand-in to expand
stand_in pkg-config '[ "$2" != jansson ]'
stand_in python3 'exit 1'
stand_in apt-get 'touch installed'
stand_in id 'echo 1000'
stops "missing packages; run: sudo apt-get update && sudo apt-get install -y libjansson-dev( uthash-dev)? +python3 python3-venv"
stand_in pkg-config 'exit 0'
[ -e /usr/include/uthash.h ] &&
	stops 'missing packages; run: sudo apt-get update && sudo apt-get install -y python3 python3-venv'
stops "CUDA_HOME is $out, but it holds no bin/nvcc.*: set it to a CUDA [0-9.]+ toolkit or unset it" CUDA_HOME="$out"
[ -e "$out/installed" ] && {
	echo 'one who is not root had packages installed'
	bad=1
}
exit $bad
