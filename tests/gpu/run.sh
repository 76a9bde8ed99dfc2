#!/bin/sh
# make check-gpu: what only a real GPU can show. Skips with a message where there is none. Compares
# every sample's result alone and under Sluice, then runs the demo, and keeps what it saw under
# tests/gpu/results/ with the GPU, the driver's version and the date.
set -u

: "${BUILD:?BUILD names the build folder}"
here=$(pwd)
cuda_lib=$(sed -n 's/^CUDA_LIB := //p' build/deps.mk)
LD_LIBRARY_PATH=$cuda_lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
passed=0
failed=0
skipped=0

finish()
{
	printf '%s passed, %s failed, %s skipped\n' "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ]
	exit $?
}

if ! "$BUILD/samples/vecadd" >/dev/null 2>&1; then
	echo 'check-gpu: no GPU here (vecadd does not run on the installed driver); nothing was tested'
	skipped=1
	finish
fi

out=$(mktemp -d)
socket=$out/sluiced.sock
"$BUILD/bin/sluiced" --user --socket "$socket" >"$out/sluiced.log" 2>&1 &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait; rm -rf "$out"' EXIT
sleep 1

# compare NAME COMMAND...: same status and same result line, alone and under Sluice.
compare()
{
	name=$1
	shift
	"$@" >"$out/$name.alone" 2>&1
	alone=$?
	"$here/$BUILD/bin/sluice" run -S "$socket" -- "$@" >"$out/$name.sluice" 2>&1
	managed=$?
	a=$(grep '^result: ' "$out/$name.alone")
	b=$(grep '^result: ' "$out/$name.sluice")
	if [ $alone = 0 ] && [ $managed = 0 ] && [ -n "$a" ] && [ "$a" = "$b" ]; then
		passed=$((passed + 1))
		printf 'ok   %s (%s)\n' "$name" "$a"
	else
		failed=$((failed + 1))
		printf 'FAIL %s: alone status %s "%s", under Sluice status %s "%s"\n' "$name" \
			$alone "$a" $managed "$b"
		tail -n 5 "$out/$name.sluice"
	fi
}

compare vecadd "$BUILD/samples/vecadd"
compare serve "$BUILD/samples/serve" --requests 200
compare train "$BUILD/samples/train" --steps 50
compare graphs "$BUILD/samples/graphs"
compare memhog "$BUILD/samples/memhog" --total 1024

results=tests/gpu/results/$(date +%Y-%m-%d).txt
mkdir -p tests/gpu/results
{
	date
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null ||
		cat /proc/driver/nvidia/version
	BUILD=$BUILD DEMO_OUT=$out/demo sh tools/demo/run.sh
	BUILD=$BUILD sh tests/bench/run.sh
} >"$results" 2>&1
printf 'check-gpu: demo and bench are in %s\n' "$results"
finish
