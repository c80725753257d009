#!/bin/sh
# SPDX-License-Identifier: MIT
# The unit of corund under a real systemd: scripts/check_systemd.sh BUILD
#
# A systemd of this machine is started as the first process of namespaces of its own (processes, mounts, network, control groups), above a root that has the machine's
# /usr and an installation of BUILD. There scripts/check_systemd_unit.sh tries the unit and its socket. Nothing of it stays, and nothing outside is changed. It
# needs root, unshare, overlay file systems and cgroup2; 77: something of that is not here, which is said.
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)

skip() {
    echo "check_systemd: $1" >&2
    exit 77
}

[ "$(id -u)" = 0 ] || skip "only root starts a systemd"
systemd=
for path in /usr/lib/systemd/systemd /lib/systemd/systemd; do
    [ -x "$path" ] && systemd=$path
done
[ -n "$systemd" ] || skip "there is no systemd"
command -v unshare >/dev/null || skip "there is no unshare"
unshare --mount --pid --fork --uts --ipc --net --cgroup true 2>/dev/null || skip "there are no namespaces to be had"

folder=$(mktemp -d)
trap 'rm -rf --one-file-system "$folder"' EXIT
mkdir "$folder/root" "$folder/told"
DESTDIR=$folder/install cmake --install "$build" --prefix /usr >"$folder/log"
status=0
timeout --kill-after=10 "${CORUN_CHECK_SECONDS:-180}" unshare --mount --propagation private --pid --fork --kill-child --uts --ipc --net --cgroup \
    sh "$source/scripts/check_systemd_root.sh" "$source" "$build" "$folder" "$systemd" >"$folder/console" 2>&1 || status=$?
[ "$status" != 77 ] || skip "$(tail -n 1 "$folder/console")"
[ -s "$folder/told/lines" ] || skip "systemd does not come up in namespaces here (status $status): $(tail -n 3 "$folder/console")"
cat "$folder/told/lines"
if [ "$status" != 0 ] || ! grep -q '^all is well$' "$folder/told/lines"; then
    echo "check_systemd: status $status; what systemd said:" >&2
    tail -n 60 "$folder/console" >&2
    exit 1
fi
