/**
 * Runs the test files that take longest first, so that no worker ends long after the others. Without a record of an
 * earlier run vitest goes by file size, which says nothing about tests on real parts.
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** From 40 s down to 6 s of CPU each. */
export const LONGEST = [
  "test/cluster/demo/run.test.ts",
  "test/operator/sequences/sequences.real.test.ts",
  "test/cluster/upgrade/upgrade.test.ts",
  "test/cluster/uninstall/uninstall.test.ts",
  "test/guest-kernel/vlan.test.ts",
  "test/cluster/cluster.test.ts",
  "test/mac-pool/replicas.real.test.ts",
  "test/bridge-marker/marker.real.test.ts",
  "test/linux-bridge/linux-bridge.real.test.ts",
  "test/operator/long-run.real.test.ts",
  "test/cluster/cluster-end.test.ts",
  "test/mac-pool/flood.real.test.ts",
  "test/mac-pool/certificates.real.test.ts",
  "test/kube/conformance/conformance.real.test.ts",
  "test/kube/informer/informer-kills.real.test.ts",
  "test/cluster/kubevirt/virt-controller.test.ts",
  "test/cluster/control-plane/control-plane.test.ts",
  "test/cluster/multus/multus.test.ts",
  "test/netns/differential/differential.test.ts",
  "test/virtual-machine/guest.real.test.ts",
  "test/netns/kill.test.ts",
  "test/guest-kernel/kill.test.ts",
  "test/netns/kill-tuning.test.ts",
  "test/sim/sim.test.ts",
  "test/mac-pool/admission/admission-fuzz.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONGEST.indexOf(relative(this.ctx.config.root, moduleId));
      return place < 0 ? LONGEST.length : place;
    };
    return (await super.sort(files)).sort((left, right) => rank(left) - rank(right));
  }
}
