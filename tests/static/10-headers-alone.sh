#!/bin/sh
# Each of our headers compiles on its own.
set -u
cuda=$(sed -n 's/^CUDA_INCLUDE := //p' build/deps.mk)
check_flags=$(sed -n 's/^CHECK_CFLAGS := //p' build/deps.mk)
bad=0
for header in include/sluice/*.h shim/*.h scheduler/*/*.h tools/sluice/*.h tools/demo/*.h tools/plan/*.h tools/plan/*/*.h \
	tools/simgpu/*/*.h tests/*/*.h; do
	[ -e "$header" ] || continue
	# shellcheck disable=SC2086 # a list of flags
	gcc -std=gnu11 -D_GNU_SOURCE -Iinclude -Ishim -Ischeduler -Itools -Itools/simgpu -Itests/support \
		-isystem "$cuda" $check_flags -fsyntax-only -Wall -Wno-unused -x c "$header" || {
		echo "$header does not compile alone"
		bad=1
	}
done
exit $bad
