#!/bin/sh
# First process of a guest kernel. Its environment comes from the kernel's command line: BUSYBOX, SHARED (the directory
# that guest and test both write to), MODULES (a file that names modules in order), AGENT (the program to run).
$BUSYBOX mount -t proc proc /proc
$BUSYBOX mount -t sysfs sysfs /sys
$BUSYBOX mount -t tmpfs tmpfs /run
$BUSYBOX mount -t hostfs -o "$SHARED" hostfs "$SHARED"
while read -r module; do
  $BUSYBOX insmod "$module" || echo "module $module was not loaded"
done <"$SHARED/modules"
$BUSYBOX ln -s /proc/self/fd /dev/fd
$BUSYBOX ln -s /proc/self/fd/0 /dev/stdin
$BUSYBOX ip link set lo up
$BUSYBOX stty -echo
$AGENT "$SHARED"
$BUSYBOX poweroff -f
