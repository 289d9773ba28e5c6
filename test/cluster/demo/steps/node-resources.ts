import { BRIDGE_RESOURCE_PREFIX } from "../../../../src/api/names.ts";
import type { Node } from "../../../../src/kube/client/built-in-kinds.ts";
import { RESOURCES } from "../../../../src/kube/client/resource.ts";
import { eventually } from "../../../support/eventually.ts";
import { assertThat } from "../assert.ts";
import { type DemoCluster, onNode, whenSeen } from "../demo-cluster.ts";
import { NODE_A, NODE_B } from "../objects.ts";
import type { Step } from "../scenario.ts";

const BR1 = `${BRIDGE_RESOURCE_PREFIX}br1`;
const BR2 = `${BRIDGE_RESOURCE_PREFIX}br2`;
const EXPECTED = "1k";

export const nodeResources: Step<DemoCluster> = {
  name: "node-resources",
  limitMs: 30_000,
  async run(demo, values, signal) {
    const nodeA = await eventually(
      `${NODE_A} to offer ${BR1}`,
      async () => {
        const node = await demo.client.get(RESOURCES.nodes, { name: NODE_A });
        return node.status?.allocatable?.[BR1] === undefined ? undefined : node;
      },
      { limitMs: 10_000, signal },
    );
    const nodeB = await demo.client.get(RESOURCES.nodes, { name: NODE_B });
    values[NODE_A] = bridges(nodeA);
    values[NODE_B] = bridges(nodeB);
    assertThat(nodeA.status?.capacity?.[BR1] === EXPECTED, `${NODE_A} publishes ${JSON.stringify(values[NODE_A])}`);
    assertThat(nodeB.status?.capacity?.[BR1] === undefined, `${NODE_B} publishes br1 and has no such bridge`);

    demo.note("ip link add br2 type bridge on node-b");
    const published = whenSeen(demo, RESOURCES.nodes, { name: NODE_B }, (node) => BR2 in bridges(node), signal);
    published.catch(() => {});
    const madeMs = performance.now();
    await onNode(demo, NODE_B, ["ip", "link", "add", "br2", "type", "bridge"]);
    const { object, atMs } = await published;
    values.br2 = bridges(object)[BR2];
    values.br2PublishedMs = Math.round(atMs - madeMs);
    assertThat(values.br2 === EXPECTED, `${NODE_B} publishes ${BR2}: ${values.br2}`);
    return {
      text: `${NODE_A} has br1 and publishes ${BR1}: ${EXPECTED}; ${NODE_B} does not`,
      details: [`ip link add br2 type bridge on ${NODE_B}: published after ${values.br2PublishedMs} ms`],
    };
  },
};

export function bridges(node: Node): Record<string, string> {
  const capacity = Object.entries(node.status?.capacity ?? {});
  return Object.fromEntries(capacity.filter(([name]) => name.startsWith(BRIDGE_RESOURCE_PREFIX)));
}
