/** The rows of the table of wrong specs that have a wrong `linuxBridge`. */

import { longPatternText, MARKER_PATTERN_TEXT } from "../../../src/api/bridge-pattern.ts";
import {
  CNI_BIN_DIR_TEXT,
  PROBE_ADDRESS_TEXT,
  SAME_HEALTH_PORT_TEXT,
  TAKEN_INSTALLER_PORT_TEXT,
  TAKEN_NODE_PORT_TEXT,
} from "../../../src/api/linux-bridge-config.ts";
import { namespaceText } from "../../../src/api/linux-bridge-webhook-config.ts";
import { kubernetesPortText, lowPortText } from "../../../src/api/node-ports.ts";
import { each, type WrongSpec } from "./wrong-spec.ts";

const linuxBridge = (linuxBridge: object): object => ({ linuxBridge });

const WRONG_CNI_BIN_DIRS = [
  ...["/", "/etc/cni", "/usr/bin", "/opt", "/opt/../etc", "/opt/cni/..", "opt/cni/bin"],
  ...["/opt/a:b", "/opt/a b", "/opt/cni\n", "/opt/a\u0007", "/opt/$(NODE_NAME)"],
];
const OTHERS_DIRECTORIES = [
  "/run/netns",
  "/var/run/netns",
  "/var/lib/etcd",
  "/var/lib/kubelet/plugins",
  "/var/lib/cni/multus",
];

export const WRONG_LINUX_BRIDGES: readonly WrongSpec[] = [
  ...each([...WRONG_CNI_BIN_DIRS, ...OTHERS_DIRECTORIES], (cniBinDir) => ({
    spec: linuxBridge({ cniBinDir }),
    texts: [CNI_BIN_DIR_TEXT],
  })),
  ...each([8082, 8444, 8445, 8446], (bridgeMarkerHealthPort) => ({
    spec: linuxBridge({ bridgeMarkerHealthPort }),
    texts: [TAKEN_NODE_PORT_TEXT],
  })),
  ...each([8081, 8444, 8445, 8446], (installerHealthPort) => ({
    spec: linuxBridge({ installerHealthPort }),
    texts: [TAKEN_INSTALLER_PORT_TEXT],
  })),
  ...each(["bridgeMarkerHealthPort", "installerHealthPort"], (field) => ({
    spec: linuxBridge({ [field]: 10_250 }),
    texts: [kubernetesPortText(field)],
  })),
  ...each([1, 1023], (port) => ({
    spec: linuxBridge({ bridgeMarkerHealthPort: 6443, installerHealthPort: port }),
    texts: [kubernetesPortText("bridgeMarkerHealthPort"), lowPortText("installerHealthPort")],
  })),
  {
    what: "one port for both daemons",
    spec: linuxBridge({ bridgeMarkerHealthPort: 9100, installerHealthPort: 9100 }),
    texts: [SAME_HEALTH_PORT_TEXT],
  },
  ...each(["", "loopback", "0.0.0.0"], (healthProbeAddress) => ({
    spec: linuxBridge({ healthProbeAddress }),
    texts: [PROBE_ADDRESS_TEXT],
  })),
  ...each(["", "br/1", "br~1", "[a-z]*", "br1,br2"], (pattern) => ({
    spec: linuxBridge({ markerInclude: ["br1", pattern] }),
    texts: [MARKER_PATTERN_TEXT],
  })),
  ...each(["br-storage-net-1", "br-storage-net-*?", "*br-storage*-net-?*", "b".repeat(32)], (pattern) => ({
    spec: linuxBridge({ markerInclude: ["br1"], markerExclude: [pattern] }),
    texts: [longPatternText(pattern)],
  })),
  {
    what: "a pattern that is longer than any that matches",
    spec: linuxBridge({ markerExclude: ["b".repeat(33)] }),
    texts: ["spec.linuxBridge.markerExclude.0: Too big: expected string to have <=32 characters"],
    atAdmission: ["spec.linuxBridge.markerExclude[0]", "Too long: may not be more than 32"],
  },
  ...each(["", "Def_ault", "a.b", "-a", "a,b", "*"], (namespace) => ({
    spec: linuxBridge({ globalNamespaces: ["default", namespace] }),
    texts: [namespaceText(namespace)],
  })),
  {
    what: "a port beyond the last one",
    spec: linuxBridge({ bridgeMarkerHealthPort: 70_000 }),
    texts: ["spec.linuxBridge.bridgeMarkerHealthPort: Too big: expected number to be <=65535"],
    atAdmission: ["spec.linuxBridge.bridgeMarkerHealthPort", "should be less than or equal to 65535"],
  },
  {
    what: "a quantity for a port",
    spec: linuxBridge({ bridgeMarkerHealthPort: "8Mi" }),
    texts: ["spec.linuxBridge.bridgeMarkerHealthPort: Invalid input: expected number, received string"],
    atAdmission: ['spec.linuxBridge.bridgeMarkerHealthPort: Invalid value: "string"'],
    isMistyped: true,
  },
];
