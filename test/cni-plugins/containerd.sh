# A node of its own with containerd, one container on the network of the configuration list, and its end.
# Usage: containerd.sh PROGRAMS PLUGINS IPAM_PLUGINS LIST, in new mount, network and PID namespaces.
# Prints what the container sees of its links, then a line each: `attached`, `detached` and `left` with what the node has.
set -eu
programs=$1 plugins=$2 ipam=$3 list=$4
export PATH="$programs/usr/bin:$programs/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin"
for directory in /run /var/lib /opt; do mount -t tmpfs tmpfs $directory; done
cp -a /etc /run/etc && mount --bind /run/etc /etc
mkdir -p /opt/cni/bin /etc/cni/net.d /run/rootfs/proc /run/rootfs/sys /run/rootfs/dev
cp "$plugins/bridge" "$plugins/tuning" "$ipam/host-local" /opt/cni/bin
cp "$plugins/link-monitor" /run/rootfs
printf %s "$list" >/etc/cni/net.d/10.conflist
cat >/run/config.toml <<TOML
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
TOML
containerd --config /run/config.toml >/run/containerd.log 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.05; done
ctr run --rm --rootfs --cni --cgroup "/$(cat /proc/sys/kernel/random/uuid)" /run/rootfs pod /link-monitor >/run/links 2>/run/errors &
until grep -q synced /run/links || [ -s /run/errors ]; do sleep 0.05; done
cat /run/links /run/errors
echo "attached $(ip -json link show type veth | tr -d '\n')"
ctr task kill --signal SIGKILL pod
wait $! || true
echo "detached $(ip -json link show type veth | tr -d '\n')"
echo "left $(find /run/cni /var/lib/cni/results /var/lib/cni/networks -name '*pod*' -o -name '10.*' | tr '\n' ' ')"
