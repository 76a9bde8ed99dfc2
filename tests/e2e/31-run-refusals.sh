#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `sluice run` cannot do it refuses: exit status 1 (127 and 126 for a program that is not there or cannot be run), one sentence on stderr that says what to do,
# nothing on stdout, and the program is not started.
set -u
. tests/support/system.sh

user=$(id -u)
group=$(id -g)
config <<CONF
connections = 3;
tenants = (
  { name = "own"; class = "latency-critical"; match = { uid = $user; gid = $group; }; },
  { name = "user"; match = { uid = $((user + 1)); }; },
  { name = "group"; class = "latency-critical"; match = { gid = $((group + 1)); }; },
  { name = "slice"; match = { cgroup = "/no/such/slice/*"; }; },
  { name = "named"; class = "latency-critical"; match = { program = "vecadd"; }; },
  { name = "open"; gpu = { weight = 10; }; }
);
CONF

# refused NAME PATTERN OPTION... -- PROGRAM...: by `sluice run` with these arguments.
refused()
{
	name=$1
	pattern=$2
	shift 2
	rm -f "$out/started"
	"$sluice" run "$@" >"$out/said" 2>"$out/why"
	status=$?
	[ $status = "${wanted:-1}" ] || say_bad "$name: exit status $status"
	[ -s "$out/said" ] && say_bad "$name: something on stdout: $(cat "$out/said")"
	[ "$(wc -l <"$out/why")" = 1 ] || say_bad "$name: not one line on stderr:"
	grep -Eq "^sluice: .*$pattern" "$out/why" || say_bad "$name: not the sentence ($pattern):"
	[ -e "$out/started" ] && say_bad "$name: the program was started"
	cat "$out/why"
}

start="touch $out/started"
socket=--socket=$out/socket

# ---- no arbiter, in every way ----
# shellcheck disable=SC2086 # two words
{
	refused nowhere 'no arbiter answers at .*sluiced( --user)? --socket .*/socket &' "$socket" -- $start
	: >"$out/file"
	refused file 'no arbiter answers at' --socket="$out/file" -- $start
	refused long 'no arbiter answers at' --socket="$out/$(printf '%0200d' 0)" -- $start
}
arbiter_start
arbiter_kill
refused stale 'no arbiter answers at .*sluiced( --user)? --socket .*/socket &' "$socket" -- touch "$out/started"
arbiter_start
kill -STOP "$arbiter"
refused hung 'does not answer: is sluiced hung' "$socket" -- touch "$out/started"
kill -CONT "$arbiter"


# ---- wrong usage: status 2, and nothing is asked of anybody ----
for wrong in 'run' 'run --no-such-option true' 'run --mps true' 'run --tenant' 'no-such-command' \
	'run --simulated --instance= true' 'run --simulated --instance=a/b true' \
	'status extra' 'status --watch=never' 'status -w 2' 'set train' 'set train gpu.weight=1 more' 'pause' 'reload now' \
	'check-config' 'check-config one two' 'doctor extra'; do
	# shellcheck disable=SC2086 # words
	"$sluice" $wrong >"$out/said" 2>"$out/why"
	status=$?
	[ $status = 2 ] || say_bad "sluice $wrong: exit status $status"
	[ -s "$out/said" ] && say_bad "sluice $wrong: something on stdout: $(cat "$out/said")"
	grep -q 'sluice' "$out/why" || say_bad "sluice $wrong: says nothing of use: $(cat "$out/why")"
done

"$sluice" status -w 2 2>&1 | grep -q -e '-w2 or --watch=2' || say_bad 'status -w 2: not told how it is written'
"$sluice" run --help | tr -s '\n ' '  ' | grep -q '(a100, h100, l4 and v100; default h100)' ||
	say_bad 'run --help does not name the presets that there are'

# ---- tenants ----
tenant()
{
	tenant_name=$1
	refused "tenant $1" "$2" "$socket" --tenant="$tenant_name" -- touch "$out/started"
}
tenant nobody 'no tenant nobody; .sluice status. lists'
tenant user "tenant user admits user $((user + 1)) only \(match.uid\).* runs as user $user"
tenant group "tenant group admits group $((group + 1)) only \(match.gid\).* runs as group $group"
tenant slice 'tenant slice admits cgroups /no/such/slice/\* only \(match.cgroup\).* is in '
tenant named 'tenant named admits programs vecadd only \(match.program\).* runs touch$'
tenant "$(printf '%0100d' 0)" 'at most 63 characters'

# ---- the simulated GPU ----
refused preset "no preset 'h900'.*a100, h100, l4 and v100," "$socket" --simulated=h900 -- touch "$out/started"
for preset in tools/simgpu/presets/*.conf; do
	preset=$(basename "$preset" .conf)
	grep -q "^\.BR* $preset\>" man/sluice.1 || say_bad "sluice(1) does not name preset $preset"
done
# A copy without its presets.
mkdir -p "$out/copy/bin"
cp "$sluice" "$out/copy/bin/sluice"
ln -s "$(realpath "$preload_build/simgpu")" "$(realpath "$preload_build/lib")" "$out/copy"
whole=$sluice
sluice=$out/copy/bin/sluice
refused presets "presets are not installed" "$socket" --simulated -- touch "$out/started"
sluice=$whole
refused description "cannot read the device description $out/none.conf: No such file" "$socket" \
	--simulated="$out/none.conf" -- touch "$out/started"
refused costs "cannot read the cost table $out/none.conf: No such file" "$socket" --simulated \
	--costs="$out/none.conf" -- touch "$out/started"

# ---- the program ----
wanted=127
refused missing "cannot run 'no-such-program': No such file" "$socket" -- no-such-program
refused path "cannot run '$out/none': No such file" "$socket" -- "$out/none"
wanted=126
refused mode "cannot run '$out/file': Permission denied" "$socket" -- "$out/file"
refused folder "cannot run '$out': Is a directory" "$socket" -- "$out"
path=$PATH
PATH=$out:$PATH
: >"$out/nobody-may-run-it"
refused found "cannot run 'nobody-may-run-it': Permission denied" "$socket" -- nobody-may-run-it
PATH=$path
wanted=
echo 'int main(void) { return 0; }' >"$out/static.c"
if ${CC:-gcc} -static -o "$out/static" "$out/static.c" 2>/dev/null; then
	refused static "$out/static is statically linked.*link it dynamically" "$socket" -- "$out/static"
	printf '#!%s\n' "$out/static" >"$out/script"
	chmod +x "$out/script"
	refused script "$out/static is statically linked" "$socket" -- "$out/script"
else
	echo 'no static libc here: static programs are not tried'
fi

# ---- a rule on the program's name looks at the program, not at `sluice` ----
SLUICE_LOG=error under named -- "$samples/vecadd" >"$out/named" 2>"$out/named.err" ||
	say_bad 'vecadd as named: failed'
[ -s "$out/named.err" ] && say_bad "vecadd as named: $(cat "$out/named.err")"
# ... nor at a shell: what that starts is judged by its own name when it comes.
requests()
{
	"$sluice" status --socket="$out/socket" --json |
		awk '/"name": "named"/ { on = 1 } on && /"requests":/ { print $2 + 0; exit }'
}
before=$(requests)
under named -- sh -c '"$1"; :' sh "$samples/vecadd" >"$out/named" 2>"$out/named.err" ||
	say_bad "vecadd by a shell: failed: $(cat "$out/named.err")"
[ "$(requests)" -gt "$before" ] || say_bad "vecadd by a shell: not of tenant named ($before requests before)"

# ---- a machine without a driver: the program runs, and a hint says what would help ----
cat >"$out/finds.c" <<'C'
#include <dlfcn.h>
int main(void)
{
	return dlopen("libcuda.so.1", RTLD_LAZY) ? 3 : 0;
}
C
${CC:-gcc} -o "$out/finds" "$out/finds.c" -ldl || say_bad 'the look for a driver was not built'
if "$out/finds"; then
	env LD_PRELOAD="$(preload_list ${SAN:+"$preload_build/lib/libsluice.so"})" "$sluice" run \
		--socket="$out/socket" -- touch "$out/ran" \
		2>"$out/hint" || say_bad 'no driver: run failed'
	[ -e "$out/ran" ] || say_bad 'no driver: the program did not run'
	if [ "$(wc -l <"$out/hint")" != 1 ] || ! grep -q 'sluice run --simulated$' "$out/hint"; then
		say_bad "no driver: not the one hint: $(cat "$out/hint")"
	fi
fi

# ---- as many connections as a user may have ----
for name in one two three; do
	begin "$name" under open -- "$samples/memhog" --total 64 --hold 60
	wait_until "$name" grep -qs '^memhog: ' "$out/$name"
done
refused connections 'as many connections as the arbiter allows \(connections in' "$socket" -- \
	touch "$out/started"
# One that is not started by `sluice run` runs unmanaged; asked to, the shim says why.
SLUICE_SOCKET=$out/socket SLUICE_LOG=error on_simgpu env \
	LD_PRELOAD="$(preload_list "$preload_build/lib/libsluice.so")" "$samples/vecadd" \
	>"$out/fourth" 2>&1 || say_bad 'one connection too many: the program failed'
grep -q 'refused: your user has as many connections' "$out/fourth" || {
	say_bad 'one connection too many: the shim does not say so'
	cat "$out/fourth"
}
exit "$bad"
