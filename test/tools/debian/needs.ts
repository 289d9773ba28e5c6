/** Who needs the programs that README does not ask for. */

/**
 * Tests by the beginning of their file's path or of their full name. Without the program they are skipped, and the end of
 * the run counts them.
 */
export const NEEDS: Readonly<Record<string, readonly string[]>> = {
  nft: [
    "test/netns/addresses.",
    "test/netns/large-ipam-results.",
    "test/netns/garbage-collection.",
    "test/netns/hostile-parent.",
    "test/netns/todays-configuration.",
    "test/netns/spoof-check.",
    "test/netns/allowed-macs.",
    "test/netns/differential/",
    "test/netns/kill-iptables.",
    "test/cni-plugins/iptables.",
    "test/cni-plugins/parallel.",
    "test/cni-plugins/interleaving.",
    "test/cni-plugins/peers.",
    "test/cni-plugins/arm64.",
    "test/guest-kernel/takeover.",
    "test/guest-kernel/vlan.",
    "real nodes",
  ],
  iptables: ["test/netns/kill-iptables.", "test/cni-plugins/iptables.", "test/cni-plugins/peers."],
  strace: [
    "test/linux-bridge/installer/installer-faults.",
    "test/linux-bridge/agent/host-links.",
    "test/netns/hostile-parent.",
    "test/netns/kill",
    "test/netns/delegate.",
    "test/guest-kernel/kill.",
    "test/cni-plugins/interleaving.",
  ],
  busybox: ["test/guest-kernel/", "real nodes"],
  "linux.uml": ["test/guest-kernel/"],
  runc: ["real nodes"],
  promtool: ["test/operator/alerts."],
  "qemu-aarch64-static": ["test/cni-plugins/arm64.", "test/deploy/image/arm64."],
  "aarch64-linux-gnu-gcc": ["test/cni-plugins/arm64.", "test/deploy/image/arm64."],
  python3: ["keeps to its own OpenAPI document", "test/netns/allowed-macs.", "test/netns/router-advertisements."],
  java: ["test/model/"],
  mvn: ["test/model/"],
  zsh: ["the completion scripts complete in zsh"],
  fish: ["the completion scripts complete in fish"],
  chromium: ["test/browser/"],
};

/** Which of the programs the test needs. `file`: its path from the repository's root; `name`: its full name. */
export const neededBy = (programs: readonly string[], file: string, name: string): string[] =>
  programs.filter((program) => NEEDS[program]?.some((start) => file.startsWith(start) || name.startsWith(start)));
