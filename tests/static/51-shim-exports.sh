#!/bin/sh
# libsluice.so exports the hooks and the loader's look-ups in both versions, and nothing else;
# it needs libc.so.6 alone, and no symbol version above GLIBC_2.28 (the oldest libc that CUDA 13
# runs on), so that older containers can load it.
set -u
: "${BUILD:?}"
library=$BUILD/lib/libsluice.so
[ -e "$library" ] || { echo "no $library"; exit 1; }
work=$BUILD/check/shim-exports
mkdir -p "$work"
bad=0

case $(uname -m) in
aarch64) old=GLIBC_2.17 ;;
*) old=GLIBC_2.2.5 ;;
esac
{
	for name in InitializeInjectionNvtx2 cuptiActivityRegisterCallbacks cuptiSubscribe cuptiSubscribe_v2; do
		echo "$name@@SLUICE_1"
	done
	sed -n 's/^HOOK(\([A-Za-z0-9_]*\),.*/\1@@SLUICE_1/p' shim/hooks.def
	for name in dlsym dlvsym dlopen; do
		printf '%s@%s\n%s@@GLIBC_2.34\n' "$name" "$old" "$name"
	done
} | sort >"$work/expected"
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort >"$work/exported"
if ! diff "$work/expected" "$work/exported" >"$work/difference"; then
	echo 'exported names differ (< expected, > found):'
	cat "$work/difference"
	bad=1
fi

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')
if [ "$needed" != 'libc.so.6 ' ]; then
	echo "needs $needed, may need libc.so.6 alone"
	bad=1
fi

objdump -T "$library" | sed -n 's/.*\*UND\*.*(\?GLIBC_\([0-9.]*\))\? *\(.*\)/\1 \2/p' |
	while read -r version name; do
		newest=$(printf '%s\n2.28\n' "$version" | sort -V | tail -n 1)
		[ "$newest" = 2.28 ] || echo "$name binds to GLIBC_$version, newer than 2.28"
	done >"$work/versions"
if [ -s "$work/versions" ]; then
	cat "$work/versions"
	bad=1
fi

readelf -lW "$library" | grep -q 'GNU_STACK.*RW ' || { echo 'the stack must not be executable'; bad=1; }
readelf -d "$library" | grep -q TEXTREL && { echo 'has text relocations'; bad=1; }
exit $bad
