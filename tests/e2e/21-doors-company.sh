#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The doors in company: plugins with RTLD_DEEPBIND, RUNPATH, constructors, an unloaded driver, and
# other preloaded libraries before and behind the shim.
set -u
. tests/support/preload.sh

if [ -n "${SAN:-}" ]; then
	echo "a sanitizer's runtime is an interposer of its own, which loses RUNPATH and refuses RTLD_DEEPBIND"
	exit 77
fi
CC=${CC:-gcc}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
shim=$preload_build/lib/libsluice.so
driver=$preload_build/nulldriver
bad=0
case $(uname -m) in
aarch64) first=GLIBC_2.17 ;;
*) first=GLIBC_2.2.5 ;;
esac

compile()
{
	# shellcheck disable=SC2068 # arguments as they are
	$CC -D_GNU_SOURCE -O1 -o $@ || exit 1
}
compile "$out/host" tests/e2e/doors/host.c -ldl
compile "$out/user" tests/e2e/doors/user.c -L"$driver" -l:libcuda.so.1 -ldl
compile "$out/plugin.so" -shared -fPIC tests/e2e/doors/plugin.c -L"$driver" -l:libcuda.so.1 -ldl
mkdir "$out/inner"
printf 'int inner_value = 1;\n' >"$out/inner.c"
compile "$out/inner/libinner.so" -shared -fPIC "$out/inner.c"
# shellcheck disable=SC2016 # the loader's own variable
compile "$out/loader.so" -shared -fPIC tests/e2e/doors/loader.c -ldl \
	'-Wl,-rpath,$ORIGIN/inner' -Wl,--enable-new-dtags
compile "$out/other.so" -shared -fPIC tests/e2e/doors/interposer.c -ldl
compile "$out/taker.so" -shared -fPIC -DTAKES_DLSYM "-DFIRST_VERSION=\"$first\"" \
	tests/e2e/doors/interposer.c -ldl

# run PRELOADS COMMAND...: its output in $out/said.
run()
{
	preloads=$1
	shift
	# shellcheck disable=SC2086 # several libraries
	env SLUICE_SOCKET="$out/none" LD_LIBRARY_PATH="$driver" ASAN_OPTIONS=detect_leaks=0 \
		LD_PRELOAD="$(preload_list $preloads)" "$@" >"$out/said" 2>&1 || {
		echo "failed: [$preloads] $*"
		cat "$out/said"
		bad=1
	}
}

# says WHAT LINE: the last run said so.
says()
{
	grep -qxF "$2" "$out/said" && return
	printf '%s: no line "%s" in\n' "$1" "$2"
	sed 's/^/    /' "$out/said"
	bad=1
}

# The flag hides a preload from a bare plugin; under the shim it is taken away.
run '' "$out/host" deep "$out/plugin.so"
says 'deep, bare' 'plugin cuMemAlloc_v2: libcuda.so.1'
for mode in deep local global; do
	run "$shim" "$out/host" $mode "$out/plugin.so"
	says "$mode" 'plugin cuMemAlloc_v2: libsluice.so'
	says "$mode" 'plugin cuDeviceGet: libcuda.so.1'
	says "$mode" 'plugin by RTLD_DEFAULT cuDeviceGet: libcuda.so.1'
	says "$mode" 'plugin by RTLD_NEXT cuMemAlloc_v2: libsluice.so'
	grep 'RTLD_NEXT cuDeviceGet' "$out/said" >"$out/next"
	run '' "$out/host" $mode "$out/plugin.so"
	says "$mode, as bare" "$(cat "$out/next")"
done

run "$shim" "$out/host" local "$out/loader.so"
says loader 'constructor cuMemAlloc_v2: libsluice.so'
says loader 'by its RUNPATH: found'
says loader 'again cuInit: libsluice.so'
says loader 'init: 0'

run "$shim" "$out/user"
says alone 'init: 0'
cp "$out/said" "$out/alone"
for other in other taker; do
	run "$shim $out/$other.so" "$out/user"
	says "shim before $other" 'interposer saw mallocs: yes'
	says "shim before $other" 'program by dlopen cuMemAlloc_v2: libsluice.so'
	says "shim before $other" 'program by dlopen cuDeviceGet: libcuda.so.1'
	says "shim before $other" 'info: 0'
	run "$out/$other.so $shim" "$out/user"
	says "shim behind $other" 'interposer saw mallocs: yes'
	says "shim behind $other" 'interposer by RTLD_NEXT cuMemGetInfo_v2: libsluice.so'
	says "shim behind $other" 'program by dlopen cuMemAlloc_v2: libsluice.so'
	says "shim behind $other" 'program by dlopen cuDeviceGet: libcuda.so.1'
	[ $other = other ] || says "shim behind $other" 'interposer saw look-ups: yes'
done
exit $bad
