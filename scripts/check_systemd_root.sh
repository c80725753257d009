#!/bin/sh
# SPDX-License-Identifier: MIT
# Within the namespaces of check_systemd.sh: makes the root, and becomes systemd there. SOURCE BUILD FOLDER SYSTEMD
set -eu
source=$1 build=$2 folder=$3 systemd=$4
root=$folder/root

skip() {
    echo "$1"
    exit 77
}

mount -t tmpfs -o mode=755 root "$root"
cd "$root"
mkdir -p usr upper/up upper/work etc/corun etc/systemd/system proc sys dev run tmp var/tmp var/lib root told opt programs
mount -t overlay -o "lowerdir=$folder/install/usr:/usr" usr usr || skip "/usr cannot be laid over"
for link in bin sbin lib lib32 lib64 libx32; do
    [ ! -e "/$link" ] || ln -s "usr/$link" "$link"
done
mount -t proc proc proc
mount --bind -o ro proc/sys proc/sys 2>/dev/null && mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup || skip "there is no cgroup2"
mount -t tmpfs -o mode=755 dev dev
for device in null zero full random urandom tty; do
    : >"dev/$device"
    mount --bind "/dev/$device" "dev/$device"
done
: >dev/console
mount --bind "$folder/console" dev/console
mkdir dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=1777 shm dev/shm
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=1777 tmp tmp
mount --bind "$folder/told" told
cp "$build"/tests/cuda/programs/vector_add "$build"/tests/cuda/programs/reduction "$build"/tests/cuda/programs/heat "$build"/tests/cuda/programs/endless programs
cp -L /etc/ld.so.cache etc/ 2>/dev/null || true
printf 'root:x:0:0:root:/root:/bin/sh\nsomebody:x:4711:4711::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >etc/passwd
printf 'root:x:0:\nsomebody:x:4711:\nnogroup:x:65534:\n' >etc/group
printf 'passwd: files\ngroup: files\nhosts: files\n' >etc/nsswitch.conf
: >etc/fstab
echo 00000000000000000000000000c0ffee >etc/machine-id
cp "$source/examples/corund/corund.service" "$source/examples/corund/corund.socket" etc/systemd/system
sed 's/group: daemon/group: nogroup/' "$source/examples/corund/corund.yaml" >etc/corun/corund.yaml
cp "$source/scripts/check_systemd_unit.sh" check
for unit in systemd-udevd.service systemd-udev-trigger.service systemd-journald.service systemd-journald.socket systemd-journald-dev-log.socket \
    systemd-journald-audit.socket systemd-journal-flush.service systemd-tmpfiles-setup.service systemd-tmpfiles-setup-dev.service systemd-sysctl.service \
    systemd-modules-load.service systemd-random-seed.service systemd-update-utmp.service systemd-sysusers.service systemd-networkd.service \
    systemd-logind.service dbus.service dbus.socket systemd-firstboot.service ldconfig.service systemd-binfmt.service systemd-timesyncd.service \
    systemd-remount-fs.service dev-hugepages.mount dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
    sys-fs-fuse-connections.mount systemd-pstore.service keyboard-setup.service kmod-static-nodes.service apparmor.service networking.service; do
    ln -s /dev/null "etc/systemd/system/$unit"
done
cat >etc/systemd/system/check.service <<'UNIT'
[Unit]
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
ExecStart=/bin/sh /check
StandardOutput=file:/told/lines
StandardError=inherit
UNIT
mkdir old
pivot_root . old
umount -l /old
rmdir /old
export container=check
exec "$systemd" --system --unit=check.service --log-target=console --log-level=info --default-standard-output=inherit
