#!/bin/sh
# Who may include whom: include -> libc; shim -> include and CUDA headers; scheduler/core ->
# include; daemon -> core; tools never the scheduler; simgpu never shim or scheduler; samples only
# CUDA; nothing includes tests/.
set -u
bad=0

# forbid WHERE PATTERN WHY: no #include in WHERE's files matches PATTERN.
forbid()
{
	# shellcheck disable=SC2086 # globs
	found=$(grep -nE "^#[[:space:]]*include[[:space:]]+[<\"]($2)" $1 2>/dev/null)
	[ -z "$found" ] && return
	printf '%s\n  -> %s\n' "$found" "$3"
	bad=1
}

for folder in include/sluice shim scheduler/core scheduler/daemon tools/sluice tools/demo tools/plan; do
	ls "$folder"/*.[ch] >/dev/null 2>&1 || continue
	case $folder in
	include/sluice)
		forbid "$folder/*.h" 'cuda|libconfig|systemd|jansson|shim/|core/|daemon/|device/' 'include depends on libc alone'
		;;
	shim)
		forbid "$folder/*.[ch]" 'libconfig|systemd|jansson|zstd|lz4|core/|daemon/|scheduler|simgpu|device/|uthash|stdio' 'the shim depends on include, CUDA headers and libc, without stdio'
		;;
	scheduler/core)
		forbid "$folder/*.[ch]" 'cuda|libconfig|systemd|jansson|daemon/|shim|simgpu|device/|stdio|unistd|sys/|pthread|time\.h|fcntl|sluice/clock|sluice/wire_io' 'the core is pure'
		;;
	scheduler/daemon)
		forbid "$folder/*.[ch]" 'cuda|jansson|shim|simgpu|device/|ptx/' 'the daemon depends on core, libconfig, libsystemd'
		;;
	tools/plan)
		forbid "$folder/*.[ch] $folder/*/*.[ch]" 'cuda|systemd|daemon/|scheduler|ptx/|driver/|pthread|(shim/)?(gate|link|launch|activity|request)\.h' 'the planner plays the core, the device model, and of the shim gate_decide alone'
		;;
	*)
		forbid "$folder/*.[ch]" 'core/|daemon/|scheduler|shim/|simgpu/|device/' 'tools never reach into scheduler, shim or simgpu'
		;;
	esac
done
forbid 'tools/simgpu/*/*.[ch]' 'core/|daemon/|scheduler|shim/|sluice/(wire|pages|escrow)' 'the simulated GPU models the driver, never Sluice'
forbid 'tools/simgpu/device/model*.[ch]' 'cuda|libconfig|pthread|unistd|time\.h|stdio|fcntl|sys/' 'the model is pure'
forbid 'samples/*.c samples/*.cu' 'sluice|simgpu|libconfig|jansson' 'samples know CUDA alone'
forbid 'include/sluice/*.h shim/*.[ch] scheduler/*/*.[ch] tools/*/*.[ch] tools/simgpu/*/*.[ch] samples/*' 'tests/|support/' 'nothing includes tests'
if grep -nil 'sluice' samples/*.c samples/*.cu 2>/dev/null; then
	echo '  -> no line of a sample knows Sluice'
	bad=1
fi
if grep -n 'getenv *(' shim/*.c | grep -v '^shim/environment\.c:'; then
	echo '  -> the shim reads its environment once, in environment.c'
	bad=1
fi
exit $bad
