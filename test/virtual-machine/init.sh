#!/bin/busybox sh
# First process of a guest: loads the NIC's driver, then runs the commands that come over the second serial port. After
# each comes one line with its exit status.
export PATH=/bin
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
for module in failover net_failover virtio_net; do
  insmod "/$module.ko" || echo "module $module was not loaded"
done
stty -F /dev/ttyS1 raw -echo
exec </dev/ttyS1 >/dev/ttyS1 2>&1
echo "@ready"
while read -r command; do
  eval "$command"
  echo "@exit $?"
done
