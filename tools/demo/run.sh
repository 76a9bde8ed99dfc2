#!/bin/sh
# make demo: an inference server and a training loop on one GPU, in four phases with the same
# seeded arrivals: server alone, training alone, both without Sluice, both under Sluice. Uses the
# real GPU where there is one, else the simulated one, and says which. BUILD names the build folder.
#
#   DEMO_REQUESTS  requests a phase (default 1000)
#   DEMO_SEED      of the arrivals (default 1)
#   DEMO_TRAIN_S   seconds of training alone (default 10)
#   DEMO_OUT       where the results go (default build/demo)
#   DEMO_SIMULATED 1: the simulated GPU even where there is a real one
set -u

: "${BUILD:?BUILD names the build folder}"
case $BUILD in /*) build=$BUILD ;; *) build=$PWD/$BUILD ;; esac
requests=${DEMO_REQUESTS:-1000}
seed=${DEMO_SEED:-1}
out=${DEMO_OUT:-build/demo}
load=0.5
train_alone_s=${DEMO_TRAIN_S:-10}
here=$(pwd)
sluice=$build/bin/sluice
serve=$build/samples/serve
train=$build/samples/train
# A socket's path is at most 107 characters long, and a folder's can be longer.
sockets=$(mktemp -d) || exit 1
socket=$sockets/sluiced.sock
daemon=
trainer=

stop_all()
{
	[ -z "$trainer" ] || kill "$trainer" 2>/dev/null
	[ -z "$daemon" ] || kill "$daemon" 2>/dev/null
	wait
	rm -rf "$sockets"
}

die()
{
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

# A real GPU is one on which vecadd runs without the simulated driver in front.
find_gpu()
{
	CUDA_LIB=$(sed -n 's/^CUDA_LIB := //p' build/deps.mk)
	if [ -n "${DEMO_SIMULATED:-}" ]; then
		why='as DEMO_SIMULATED asks'
	elif tried=$("$build/samples/vecadd" 2>&1); then
		simulated=
		LD_LIBRARY_PATH=$CUDA_LIB${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
		export LD_LIBRARY_PATH
		printf 'demo: on the real GPU of this machine\n'
		return
	elif [ -e /dev/nvidiactl ]; then
		why="the GPU here does not run samples/vecadd ($(printf '%s' "$tried" | tail -n 1))"
	else
		why='no GPU found'
	fi
	simulated=1
	SIMGPU_COSTS=$here/samples/costs.conf
	SIMGPU_INSTANCE=demo-$$
	export SIMGPU_COSTS SIMGPU_INSTANCE
	printf 'demo: %s; on the simulated H100, without MPS: all figures are simulated\n' "$why"
}

# start PHASE PROGRAM ARGUMENT...: without Sluice. run_as adds the arbiter.
plain()
{
	if [ -n "$simulated" ]; then
		SIMGPU_REPORT=$out/$phase/%p.simgpu.json SIMGPU_PRESET=h100 \
			LD_LIBRARY_PATH=$build/simgpu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$@"
	fi
	exec "$@"
}

managed()
{
	tenant=$1
	shift
	if [ -n "$simulated" ]; then
		SIMGPU_REPORT=$out/$phase/%p.simgpu.json exec "$sluice" run -S "$socket" -t "$tenant" \
			--simulated=h100 -- "$@"
	fi
	exec "$sluice" run -S "$socket" -t "$tenant" -- "$@"
}

# begin NUMBER-NAME TEXT
begin()
{
	phase=$1
	mkdir -p "$out/$phase"
	rm -f "$out/$phase"/*
	printf 'demo: %s\n' "$2"
}

# serve_with HOW...: the server to its end, at the rate that phase 1 found.
serve_with()
{
	("$@" "$serve" --requests "$requests" --seed "$seed" --rate "$rate" \
		--json "$out/$phase/serve.json") >"$out/$phase/serve.log" 2>&1 || {
		tail -n 5 "$out/$phase/serve.log" >&2
		die "the server failed: see $out/$phase/serve.log"
	}
}

start_training()
{
	("$@" "$train" --seconds 170 --json "$out/$phase/train.json") >"$out/$phase/train.log" 2>&1 &
	trainer=$!
	sleep 1
	kill -0 "$trainer" 2>/dev/null || {
		tail -n 5 "$out/$phase/train.log" >&2
		die "the training loop failed: see $out/$phase/train.log"
	}
}

stop_training()
{
	kill -TERM "$trainer"
	wait "$trainer" || {
		tail -n 5 "$out/$phase/train.log" >&2
		trainer=
		die "the training loop failed: see $out/$phase/train.log"
	}
	trainer=
}

start_arbiter()
{
	uid=$(id -u)
	cat >"$out/sluice.conf" <<CONF
tenants = (
  { name = "chat"; class = "latency-critical"; match = { uid = $uid; };
    target = { p99 = "15 ms"; of = "service"; }; },
  { name = "train"; match = { uid = $uid; }; }
);
CONF
	"$build/bin/sluiced" --user --socket "$socket" --config "$out/sluice.conf" \
		>"$out/sluiced.log" 2>&1 &
	daemon=$!
	tries=0
	until "$sluice" status -S "$socket" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 50 ] && kill -0 "$daemon" 2>/dev/null || {
			tail -n 5 "$out/sluiced.log" >&2
			die "sluiced did not start: see $out/sluiced.log"
		}
		sleep 0.1
	done
}

trap 'stop_all' EXIT
trap 'exit 130' INT TERM
mkdir -p "$out"
find_gpu

begin 1-serve "1 of 4: the server alone, $requests requests"
(plain "$serve" --requests "$requests" --seed "$seed" --load $load --warmup 60 \
	--json "$out/$phase/serve.json") >"$out/$phase/serve.log" 2>&1 || {
	tail -n 5 "$out/$phase/serve.log" >&2
	die "the server failed: see $out/$phase/serve.log"
}
rate=$(sed -n 's/.*"rate": \([0-9.]*\).*/\1/p' "$out/$phase/serve.json")
[ -n "$rate" ] || die "no rate in $out/$phase/serve.json"

begin 2-train '2 of 4: the training loop alone'
(plain "$train" --seconds $train_alone_s --json "$out/$phase/train.json") \
	>"$out/$phase/train.log" 2>&1 || {
	tail -n 5 "$out/$phase/train.log" >&2
	die "the training loop failed: see $out/$phase/train.log"
}

begin 3-shared '3 of 4: both, without Sluice'
start_training plain
serve_with plain
stop_training

begin 4-sluice '4 of 4: both, under Sluice'
start_arbiter
start_training managed train
serve_with managed chat
"$sluice" status -S "$socket" >"$out/status.txt" 2>&1
"$sluice" status -S "$socket" --json >"$out/status.json" 2>&1
stop_training

device=$(sed -n '/"devices"/,/]/s/^ *"name": "\(.*\)",*$/\1/p' "$out/status.json" | head -n 1)
"$build/bin/sluice-demo" ${simulated:+--simulated} --device "${device:-unknown GPU}" "$out"
status=$?
printf 'figures: %s/report.json\nplot: %s/latency.svg\n`sluice status` near the end: %s/status.txt\n' "$out" "$out" "$out"
exit $status
