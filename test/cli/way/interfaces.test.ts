import { expect, it } from "vitest";
import { NETWORK_STATUS_ANNOTATION, NETWORKS_ANNOTATION } from "../../../src/api/names.ts";
import { interfacesOfPod } from "../../../src/cli/way/interfaces.ts";

const STATUS = [
  { name: "cni", interface: "eth0", default: true, mac: "0a:58:00:00:00:01" },
  { name: "lab/blue", interface: "net1", mac: "02-00-00-00-00-03" },
  { name: "lab/silent", interface: "net2" },
  "nonsense",
];
const podWith = (annotations: Record<string, string>) => ({ metadata: { name: "t4", annotations } });

it("takes the interfaces of a pod that asks for none from what its network-status says", () => {
  const said = { [NETWORK_STATUS_ANNOTATION]: JSON.stringify(STATUS) };
  expect(interfacesOfPod(podWith(said), "lab")).toEqual([
    { name: "net1", mac: undefined, nad: { namespace: "lab", name: "blue" } },
  ]);
  expect(interfacesOfPod(podWith({ ...said, [NETWORKS_ANNOTATION]: "green@net7" }), "lab")).toEqual([
    { name: "net7", mac: undefined, nad: { namespace: "lab", name: "green" } },
  ]);
  expect(interfacesOfPod(podWith({ [NETWORK_STATUS_ANNOTATION]: "{" }), "lab")).toEqual([]);
  expect(interfacesOfPod(podWith({}), "lab")).toEqual([]);
});
