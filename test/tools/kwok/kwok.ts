/**
 * kwok: plays the kubelets of nodes that do not exist. It renews their leases and reports their pods as running. Nodes
 * opt in by the annotation FAKE_NODE; their objects are made by whoever wants them.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Component, throwUncaught } from "../../cluster/control-plane/component.ts";
import { ensureGoTool } from "../go-tool.ts";

export const FAKE_NODE = { "kwok.x-k8s.io/node": "fake" } as const;

/** As the kubelet's: renewed every quarter of it. */
export const LEASE_SECONDS = 40;
const PARALLEL = 16;
/** Pods there get addresses that lead nowhere. */
const POD_CIDR = "10.200.0.0/13";
const NODE_ADDRESS = "10.208.0.1";

const RUNNING = `
{{ $now := Now }}
phase: Running
startTime: {{ $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}
conditions:
{{ range list "PodReadyToStartContainers" "Initialized" "ContainersReady" "Ready" }}
- { type: {{ . }}, status: "True", lastTransitionTime: {{ $now | Quote }} }
{{ end }}
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: {{ .image | Quote }}
  ready: true
  started: true
  restartCount: 0
  state: { running: { startedAt: {{ $now | Quote }} } }
{{ end }}
`;

const stage = (kind: string, name: string, matchExpressions: readonly object[], next: object): object => ({
  apiVersion: "kwok.x-k8s.io/v1alpha1",
  kind: "Stage",
  metadata: { name },
  spec: { resourceRef: { apiGroup: "v1", kind }, selector: { matchExpressions }, next },
});

const DELETED = ".metadata.deletionTimestamp";

const configuration = (nodeLeaseDurationSeconds: number): readonly object[] => [
  {
    apiVersion: "config.kwok.x-k8s.io/v1alpha1",
    kind: "KwokConfiguration",
    options: {
      cidr: POD_CIDR,
      nodeIP: NODE_ADDRESS,
      nodeLeaseDurationSeconds,
      nodeLeaseParallelism: PARALLEL,
      nodePlayStageParallelism: PARALLEL,
      podPlayStageParallelism: PARALLEL,
      podsOnNodeSyncParallelism: PARALLEL,
    },
  },
  // kwok takes care of nodes only if it has a stage for them. Ours are complete from the start.
  stage("Node", "node-is-complete", [{ key: ".status.conditions", operator: "DoesNotExist" }], { statusTemplate: "" }),
  stage(
    "Pod",
    "pod-runs",
    [
      { key: DELETED, operator: "DoesNotExist" },
      { key: ".status.phase", operator: "In", values: ["Pending"] },
    ],
    { statusTemplate: RUNNING },
  ),
  stage("Pod", "pod-ends", [{ key: DELETED, operator: "Exists" }], { finalizers: { empty: true }, delete: true }),
];

/** Runs until it is disposed of. Throws MissingRequirement, in one sentence, when kwok must be built and can't be. */
export async function startKwok(
  kubeconfig: string,
  directory: string,
  log: (line: string) => void = () => {},
  leaseSeconds = LEASE_SECONDS,
): Promise<Component> {
  const program = await ensureGoTool({ name: "kwok", goPackage: "sigs.k8s.io/kwok/cmd/kwok" }, process.env, log);
  const config = join(directory, "kwok.yaml");
  await writeFile(
    config,
    configuration(leaseSeconds)
      .map((document) => JSON.stringify(document))
      .join("\n---\n"),
  );
  const [annotation] = Object.entries(FAKE_NODE);
  return new Component({
    name: "kwok",
    argv: [
      program,
      `--kubeconfig=${kubeconfig}`,
      `--config=${config}`,
      "--manage-all-nodes=false",
      `--manage-nodes-with-annotation-selector=${annotation?.join("=")}`,
    ],
    logFile: join(directory, "kwok.log"),
    cwd: directory,
    env: { HOME: directory },
    onCrash: throwUncaught,
  });
}
