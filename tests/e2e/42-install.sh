#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make install` puts under DESTDIR works from there, with nothing of the build tree, and
# `make uninstall` leaves neither file nor folder.
set -u
. tests/support/system.sh

root=$out/root
prefix=/opt/sluice
there=$root$prefix
mkdir "$out/run" "$out/programs"

# `all` is what is being tested: it is not made again.
install_make()
{
	make -s -o all SAN="${SAN:-}" BUILD_DIR="$BUILD" DESTDIR="$root" PREFIX=$prefix "$@" \
		>"$out/make" 2>&1 || {
		echo "make $*: failed"
		tail -n 20 "$out/make"
		exit 1
	}
}

install_make install

for file in bin/sluice sbin/sluiced lib/sluice/libsluice.so lib/sluice/simgpu/libcuda.so.1 \
	lib/sluice/simgpu/libcudart.so.13; do
	[ -x "$there/$file" ] || say_bad "not installed, or not executable: $file"
done
for file in share/sluice/presets/h100.conf share/sluice/presets/a100.conf share/sluice/presets/l4.conf \
	share/sluice/samples/serve-and-train.conf share/sluice/samples/two-teams.conf \
	share/sluice/samples/costs.conf lib/systemd/system/sluiced.service; do
	[ -r "$there/$file" ] || say_bad "not installed: $file"
done
for page in sluice.1 sluiced.8 sluice.conf.5; do
	section=${page##*.}
	file=$there/share/man/man$section/$page
	grep -qi "^.TH  *$(basename "$page" ".$section")  *\"*$section" "$file" || say_bad "no man page $page"
	command -v man >/dev/null && { man -l "$file" 2>"$out/man.err" | grep -q NAME || say_bad "man: $page"; }
	[ -s "$out/man.err" ] && say_bad "man $page: $(cat "$out/man.err")"
done
grep -q "^ExecStart=$prefix/sbin/sluiced" "$there/lib/systemd/system/sluiced.service" ||
	say_bad 'the unit does not start the installed arbiter'
[ -z "$(find "$root" -type f -perm /022)" ] || say_bad "others may write: $(find "$root" -type f -perm /022)"

# ---- as a user, who sets nothing but the path; the samples lie somewhere else ----
cp "$samples/vecadd" "$samples/memhog" "$out/programs/"
installed_exec()
{
	cd "$out/programs" && exec env -i PATH="$there/bin:$there/sbin:/usr/bin:/bin" HOME="$out" \
		XDG_RUNTIME_DIR="$out/run" SIMGPU_INSTANCE="$SIMGPU_INSTANCE" ASAN_OPTIONS="$ASAN_OPTIONS" \
		LD_PRELOAD="${SAN:+$(preload_list "$there/lib/sluice/libsluice.so")}" "$@"
}

installed()
{
	(installed_exec "$@")
}

installed_exec sluiced --user >"$out/arbiter" 2>&1 &
arbiter=$!
wait_until 'the socket' test -S "$out/run/sluice/sluiced.sock"
installed sluice run --simulated -- ./vecadd >"$out/vecadd" 2>"$out/vecadd.err" || {
	say_bad 'vecadd failed under the installed Sluice:'
	show vecadd
}
alone "$samples/vecadd" >"$out/alone"
[ "$(result_of vecadd)" = "$(result_of alone)" ] || say_bad "vecadd: '$(result_of vecadd)'"
begin memhog installed sluice run --simulated=l4 --instance="$SIMGPU_INSTANCE-l4" -- \
	./memhog --chunk 64 --total 128 --hold 600
wait_until 'memhog' grep -qs '^memhog: 2 chunks' "$out/memhog"
installed sluice status >"$out/text" || say_bad 'status failed'
grep -q '^GPU 0 .*L4 (simulated)' "$out/text" || say_bad "status: $(cat "$out/text")"
installed sluice status --json >"$out/status.json"
hog=$(status_get processes program memhog pid)
grep -o '/[^ ]*lib\(sluice\|cuda\|cudart\)\.so[.0-9]*' "/proc/$hog/maps" | sort -u >"$out/loaded"
for library in libsluice.so simgpu/libcuda.so.1 simgpu/libcudart.so.13; do
	grep -qx "$there/lib/sluice/$library" "$out/loaded" ||
		say_bad "$library is not the installed one: $(cat "$out/loaded")"
done
signal KILL memhog
for file in "$there"/share/sluice/samples/serve-and-train.conf "$there"/share/sluice/samples/two-teams.conf; do
	installed sluice check-config "$file" >"$out/said" 2>&1 || say_bad "check-config: $(cat "$out/said")"
done
installed sluice doctor >"$out/doctor" 2>&1
doctor=$?
[ $doctor -le 1 ] || say_bad "doctor: status $doctor"
[ -s "$out/doctor" ] || say_bad 'doctor says nothing'
installed sluice --version | grep -q '^sluice [0-9]' || say_bad 'sluice --version'
installed sluiced --version | grep -q '^sluiced ' || say_bad 'sluiced --version'
arbiter_kill

install_make uninstall
left=$(find "$root" ! -type d)
[ -z "$left" ] || say_bad "uninstall leaves: $left"
left=$(find "$there" 2>/dev/null)
[ -z "$left" ] || say_bad "uninstall leaves folders: $left"
# What others have put beside it stays.
install_make install
: >"$there/share/man/man1/other.1"
install_make uninstall
left=$(find "$there" ! -type d)
[ "$left" = "$there/share/man/man1/other.1" ] || say_bad "uninstall leaves, of somebody else's: $left"
exit "$bad"
