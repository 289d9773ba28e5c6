/**
 * What `npm test` leaves to CI. TESTS=all, as .ci/run sets, runs everything. Elsewhere what repeats itself tries a fifth, and
 * `npm test` without a path runs no file of LEFT_TO_CI.
 */
export const RUNS_ALL = process.env.TESTS === "all";

/** From one case that is tried to the next. */
export const STEP = RUNS_ALL ? 1 : 5;

/** Of so many random cases. */
export const share = (all: number): number => Math.ceil(all / STEP);

/** Of a list: its first case, and each fifth after it. */
export const shareOf = <T>(all: readonly T[]): readonly T[] => all.filter((_, at) => at % STEP === 0);

/** Folders, and files that take half a minute and more, with smaller tests beside them. */
export const LEFT_TO_CI: readonly string[] = [
  "test/browser",
  "test/cluster",
  "test/guest-kernel",
  "test/mac-pool/hostile",
  "test/operator/sequences",
  "test/bridge-marker/marker-faults.real.test.ts",
  "test/bridge-marker/node-again.real.test.ts",
  "test/cli/through-a-proxy.real.test.ts",
  "test/cli/through-the-service.real.test.ts",
  "test/deploy/helm.real.test.ts",
  "test/deploy/image/arm64.real.test.ts",
  "test/deploy/image/image.real.test.ts",
  "test/kube/informer/informer-kills.real.test.ts",
  "test/kube/leader/leader-election.real.test.ts",
  "test/linux-bridge/linux-bridge.real.test.ts",
  "test/mac-pool/adoption.real.test.ts",
  "test/mac-pool/etcd-restored.real.test.ts",
  "test/mac-pool/host-addresses.real.test.ts",
  "test/mac-pool/inspection/rest/rest.real.test.ts",
  "test/operator/broken-kinds.real.test.ts",
  "test/operator/external-components.real.test.ts",
  "test/operator/long-run.real.test.ts",
  "test/operator/outage.real.test.ts",
  "test/virtual-machine/guest.real.test.ts",
];
