#!/bin/sh
# SPDX-License-Identifier: MIT
# A service of the systemd of check_systemd.sh: tries corund.socket and corund.service as they are in examples/corund. A line for each thing that is so.
set -eu
export PATH=/usr/bin:/bin:/usr/sbin:/sbin CORUN_DAEMON_SOCKET=/run/corund.sock

fail() {
    echo "not so: $1"
    systemctl --no-pager status corund.service corund.socket || true
    exit 1
}

so() {
    what=$1
    shift
    "$@" >/tmp/out 2>&1 || {
        cat /tmp/out
        fail "$what"
    }
    echo "$what"
}

# Of a user without rights.
share() {
    setpriv --reuid=4711 --regid=4711 --clear-groups corun share -- "$1" </dev/null
}

state() {
    [ "$(systemctl show --property="$2" --value "$1")" = "$3" ]
}

pid() {
    systemctl show --property=MainPID --value corund.service
}

has_policy() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        [ "$(corun policy --gpu 0)" = "$1" ] && return 0
        sleep 0.2
    done
    return 1
}

status_line() {
    [ "$(sed -n "s/^$1:[[:space:]]*//p" "/proc/$(pid)/status")" = "$2" ]
}

so "the socket is enabled and started" systemctl enable --now corund.socket
so "the socket listens" state corund.socket ActiveState active
so "corund does not run before somebody comes" state corund.service ActiveState inactive
so "the first program of a user starts it, and runs" share /programs/vector_add
so "corund has said that it is ready" state corund.service ActiveState active
first=$(pid)

so "two programs share the GPU" sh -c 'setpriv --reuid=4711 --regid=4711 --clear-groups corun share --name one -- /programs/heat >/tmp/one </dev/null & one=$!
    setpriv --reuid=4711 --regid=4711 --clear-groups corun share --name two -- /programs/reduction >/tmp/two </dev/null && wait $one'
so "it has said so of the GPU" sh -c 'corun ps --json - | grep -q "\"gpu\": *\"gtx980\""'

# What the unit closes is closed, and corund has done all of that in it.
so "it is no root" sh -c "[ \"\$(stat -c %u /proc/$first)\" -gt 60000 ]"
so "it has no capabilities" status_line CapEff 0000000000000000
so "it can get none" status_line NoNewPrivs 1
so "its system calls are filtered" status_line Seccomp 2
so "it has a network of its own" sh -c "[ \"\$(readlink /proc/$first/ns/net)\" != \"\$(readlink /proc/1/ns/net)\" ]"
so "it cannot write but to its own folder" sh -c "grep -q ' / / ro' /proc/$first/mountinfo && test -O /run && [ \"\$(stat -c %u /run/corund)\" = \"\$(stat -c %u /proc/$first)\" ]"
so "its metrics are in its folder" sh -c 'for i in $(seq 40); do grep -q corun_ /run/corund/corund.prom 2>/dev/null && exit 0; sleep 0.25; done; exit 1'
so "systemd finds it at most 2.0 exposed" systemd-analyze --no-pager security --threshold=20 corund.service

# Reload.
so "it has the policy of its file" has_policy smqos
sed -i 's/^policy: .*/policy: even/' /etc/corun/corund.yaml
so "it is reloaded" systemctl reload corund.service
so "then it has the other policy" has_policy even
sed -i 's/^policy: .*/policy: nonsense/' /etc/corun/corund.yaml
systemctl reload corund.service || true
sleep 0.5
so "a file with a mistake changes nothing" has_policy even
so "and is survived" [ "$(pid)" = "$first" ]
sed -i 's/^policy: .*/policy: even/' /etc/corun/corund.yaml

# Limits of control groups.
sed -i 's|^limits:.*|limits:\n  - {cgroup: /pods.slice/pods-*.slice, clients: 1}|' /etc/corun/corund.yaml
systemctl reload corund.service
pods=0
pod() {
    pods=$((pods + 1))
    printf '[Service]\nType=%s\nSlice=pods-%s.slice\nUser=%s\nEnvironment=CORUN_DAEMON_SOCKET=/run/corund.sock\nExecStart=/usr/bin/corun share --name %s -- /programs/%s\n' \
        "$1" "$2" "$3" "$2" "$4" >"/run/systemd/system/pod$pods.service"
    systemctl daemon-reload
    systemctl start "pod$pods.service"
}
refused() {
    ! pod "$@"
}
mkdir -p /run/systemd/system
so "a program in a control group is started" pod exec one 4711 endless
so "it runs" sh -c 'for i in $(seq 200); do corun ps | grep -q " one " && exit 0; sleep 0.05; done; exit 1'
so "a second one there is more than its limit" refused oneshot one 4711 vector_add
so "also one of root" refused oneshot one 0 vector_add
so "another control group has its own" pod oneshot two 4711 vector_add
so "the first one ends" systemctl stop pods-one.slice
so "then another one has its place" pod oneshot one 0 vector_add

# Another version takes over while a program runs.
setpriv --reuid=4711 --regid=4711 --clear-groups corun share --name upgraded -- /programs/heat >/tmp/upgraded </dev/null &
program=$!
so "a program runs" sh -c 'for i in $(seq 200); do corun ps | grep -q upgraded && exit 0; sleep 0.02; done; exit 1'
before=$(head -n 1 "/proc/$first/maps")
so "it becomes another one" systemctl kill --kill-whom=main --signal=SIGUSR2 corund.service
so "a program runs on meanwhile" wait "$program"
so "the program has the output that it has alone" cmp /tmp/upgraded /tmp/one
so "it is the same process" [ "$(pid)" = "$first" ]
so "which has become another program" [ "$(head -n 1 "/proc/$first/maps")" != "$before" ]
so "systemd takes it for the service" state corund.service ActiveState active

# It dies.
kill -KILL "$first"
so "who comes after it was killed is served by the next one" sh -c 'for i in $(seq 50); do setpriv --reuid=4711 --regid=4711 --clear-groups corun share -- /programs/vector_add </dev/null && exit 0; sleep 0.1; done; exit 1'
second=$(pid)
so "that is another process" [ "$second" != "$first" ]
so "it was started because of that" state corund.service NRestarts 1

# It stops, and the next one who comes starts it again.
so "it is stopped" systemctl stop corund.service
so "then it does not run" state corund.service ActiveState inactive
so "the socket listens on" state corund.socket ActiveState active
so "it ended well" state corund.service Result success
so "the next program starts it again" share /programs/reduction
so "as before" state corund.service ActiveState active
echo "all is well"
