#!/bin/sh
# Installs minikcm on a CI runner and starts it. action.yml sets the variables:
#   MINIKCM_VERSION    the release, such as v0.1.0
#   MINIKCM_DOWNLOADS  the address of the folder with a folder for each release
#   MINIKCM_ARCHIVE    an archive to install instead of downloading one
#   MINIKCM_START      cluster, envtest or nothing
#   MINIKCM_ARGS       flags of "minikcm up"
# GITHUB_ENV, GITHUB_PATH and GITHUB_OUTPUT are files that later steps read; without them, as on other CI
# systems, the settings are printed as shell commands.
set -eu

fail() {
	echo "minikcm: $*" >&2
	exit 1
}
# eval "$(sh start.sh)" must fail if this does, whatever has been printed.
trap '[ $? -eq 0 ] || [ -n "${GITHUB_ENV:-}" ] || echo false' EXIT

case "$(uname -s)" in
Linux) os=linux ;;
Darwin) os=darwin ;;
MINGW* | MSYS* | CYGWIN*) os=windows ;;
*) fail "there is no program for $(uname -s)" ;;
esac
case "$(uname -m)" in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no program for $(uname -m)" ;;
esac
suffix=tar.gz program=minikcm
[ $os != windows ] || suffix=zip program=minikcm.exe

start=${MINIKCM_START:-cluster}
case "$start" in
cluster | envtest | nothing) ;;
*) fail "start is $start: cluster, envtest and nothing are possible" ;;
esac

temp=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
at=$temp/minikcm
mkdir -p "$at/bin"

download() {
	if command -v curl >/dev/null; then
		curl -fsSL --retry 3 -o "$2" "$1"
	else
		wget -q -O "$2" "$1"
	fi || fail "downloading $1 failed"
}

sum() {
	if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

archive=${MINIKCM_ARCHIVE:-}
if [ -z "$archive" ]; then
	tag=${MINIKCM_VERSION:-}
	case "$tag" in
	v[0-9]*.[0-9]*.[0-9]*) ;;
	*) fail "version is \"$tag\": give a release such as v0.1.0, or use the action with the tag of one" ;;
	esac
	[ -n "${MINIKCM_DOWNLOADS:-}" ] || fail "set MINIKCM_DOWNLOADS to the address of the folder with a folder for each release, or MINIKCM_ARCHIVE to an archive"
	name=minikcm_${tag#v}_${os}_$arch.$suffix
	archive=$at/$name
	download "$MINIKCM_DOWNLOADS/$tag/$name" "$archive"
	download "$MINIKCM_DOWNLOADS/$tag/checksums.txt" "$at/checksums.txt"
	want=$(grep " $name\$" "$at/checksums.txt" | cut -d ' ' -f 1)
	[ -n "$want" ] || fail "checksums.txt of $tag does not have $name"
	[ "$(sum "$archive")" = "$want" ] || fail "$name does not have the sum that checksums.txt says"
fi
# A damaged archive must not replace a program that works.
new=$at/new
rm -rf "$new"
mkdir "$new"
case "$archive" in
*.zip) unzip -qo "$archive" "$program" -d "$new" ;;
*) tar -xzf "$archive" -C "$new" "$program" ;;
esac || fail "$archive cannot be unpacked"
chmod +x "$new/$program"
"$new/$program" version >&2 || fail "the program in $archive does not run"
minikcm=$at/bin/$program
mv -f "$new/$program" "$minikcm"
rmdir "$new"
[ -n "${MINIKCM_ARCHIVE:-}" ] || rm -f "$archive"

# export_variable NAME VALUE; output NAME VALUE
export_variable() {
	if [ -n "${GITHUB_ENV:-}" ]; then echo "$1=$2" >>"$GITHUB_ENV"; else echo "export $1='$2'"; fi
}
output() {
	if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "$1=$2" >>"$GITHUB_OUTPUT"; fi
}
# Programs of Windows do not know /d/a/_temp, the path of Git Bash.
native() {
	if [ $os = windows ]; then cygpath -m "$1"; else echo "$1"; fi
}
if [ -n "${GITHUB_PATH:-}" ]; then native "$at/bin" >>"$GITHUB_PATH"; else echo "export PATH='$at/bin':\"\$PATH\""; fi

case "$start" in
cluster)
	kubeconfig=$(native "$at/kubeconfig")
	# shellcheck disable=SC2086 # MINIKCM_ARGS has several flags
	"$minikcm" up -d --kubeconfig "$kubeconfig" ${MINIKCM_ARGS:-} >/dev/null
	export_variable KUBECONFIG "$kubeconfig"
	output kubeconfig "$kubeconfig"
	;;
envtest)
	assets=$(native "$at/envtest") records=$(native "$temp/minikcm-writes")
	mkdir -p "$records" # each API server saves its record there
	"$minikcm" envtest --dir "$assets" >/dev/null
	export_variable KUBEBUILDER_ASSETS "$assets"
	export_variable MINIKCM_WRITES "$records"
	output assets "$assets"
	;;
esac
