/**
 * Pods of the product: one image, one Node process each. A pod gets the restricted security profile. A node daemon's file
 * states what it needs beyond that. Pure.
 */

import { entryPoint, IMAGE_NODE, IMAGE_ROOT, type ImageProcess } from "../../api/image.ts";
import { LABEL_NEEDS_CLUSTER_SERVICES, LABEL_SCRAPED } from "../../api/names.ts";
import type { ProbeAddress } from "../../api/node-ports.ts";
import type { Placement, Toleration } from "../../api/placement.ts";
import type { DaemonSet, Deployment } from "../../kube/client/built-in-kinds.ts";

type PodTemplate = NonNullable<Deployment["spec"]>["template"];
type PodSpec = NonNullable<PodTemplate["spec"]>;
type Container = PodSpec["containers"][number];

interface Named {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Never change it: the API server refuses another selector. */
  readonly selector: Readonly<Record<string, string>>;
}

export interface WorkloadOptions extends Named {
  readonly pod: PodOptions;
  /** Labels of the pods only. */
  readonly podLabels?: Readonly<Record<string, string>>;
}

export interface PodOptions {
  readonly container: string;
  readonly process: ImageProcess;
  readonly nodeFlags?: readonly string[];
  readonly args?: readonly string[];
  readonly image: string;
  readonly imagePullPolicy: string;
  /** Names of Secrets in the pod's namespace. */
  readonly imagePullSecrets: readonly string[];
  readonly env: readonly EnvVar[];
  readonly ports: Readonly<Record<string, number>>;
  readonly healthPort: number;
  /** Address that probes go to; the pod's when absent. */
  readonly healthHost?: string;
  /** A Service leads callers to it. */
  readonly isBehindService?: boolean;
  /** Twice what the process takes at rest (`npm run bench -- rest`), more where that grows with the cluster. */
  readonly memory: string;
  readonly serviceAccount: string;
  readonly priorityClass: "system-cluster-critical" | "system-node-critical";
  readonly placement: Placement;
  readonly hostNetwork?: boolean;
  /** Root with only the added capabilities, for files of the host that belong to root. */
  readonly asRoot?: boolean;
  readonly addCapabilities?: readonly string[];
  /** SELinux type in place of the runtime's default. */
  readonly seLinuxType?: string;
  readonly hostDirectories?: readonly {
    readonly name: string;
    readonly hostPath: string;
    readonly mountPath: string;
    readonly readOnly?: true;
    readonly mountPropagation?: "HostToContainer";
  }[];
}

export type EnvVar = NonNullable<Container["env"]>[number];

const CPU_REQUEST = "10m";
const TERMINATION_GRACE_SECONDS = 30;
const NO_EXECUTE = "NoExecute";
/** Environment variable with the address that the listener is bound to. */
export const HEALTH_HOST = "HEALTH_HOST";
export const LOOPBACK = "127.0.0.1";

interface Replicated extends Named {
  readonly replicas: number;
  readonly strategy?: "Recreate";
}

export function deployment(options: WorkloadOptions & Replicated): Deployment {
  const pod = { ...options.pod, placement: soonReplaced(options.pod.placement) };
  return deploymentOf(options, template({ ...options, pod }, spread(options.selector, options.replicas)));
}

export function daemonSet(options: WorkloadOptions): DaemonSet {
  return daemonSetOf(options, template(options, {}));
}

export function deploymentOf(
  { name, namespace, labels, selector, replicas, strategy }: Replicated,
  pod: PodTemplate,
): Deployment {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: { ...selector } },
      strategy:
        strategy === "Recreate"
          ? { type: "Recreate" }
          : { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: pod,
    },
  };
}

export function daemonSetOf({ name, namespace, labels, selector }: Named, pod: PodTemplate): DaemonSet {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: { ...selector } },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%" } },
      template: pod,
    },
  };
}

export function fieldEnv(name: string, fieldPath: string): EnvVar {
  return { name, valueFrom: { fieldRef: { fieldPath } } };
}

export function env(values: Readonly<Record<string, string | number>>): EnvVar[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: String(value) }));
}

/** Labels of pods that need the API server and that Prometheus scrapes. */
export const CLUSTER_CLIENT: Readonly<Record<string, string>> = {
  [LABEL_NEEDS_CLUSTER_SERVICES]: "true",
  [LABEL_SCRAPED]: "true",
};

/** Environment of every process that leads or serves in its own namespace. */
export const OWN_POD: readonly EnvVar[] = [
  fieldEnv("POD_NAME", "metadata.name"),
  fieldEnv("POD_NAMESPACE", "metadata.namespace"),
];

/** Replicas on different nodes where there are several, as a field of the pod's spec. */
export function spread(selector: Readonly<Record<string, string>>, replicas: number): Partial<PodSpec> {
  if (replicas < 2) return {};
  return {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "kubernetes.io/hostname",
        whenUnsatisfiable: "ScheduleAnyway",
        labelSelector: { matchLabels: { ...selector } },
      },
    ],
  };
}

/** Where the pod may run, as fields of its spec. */
export function placed({ nodeSelector, affinity, tolerations }: Placement): Partial<PodSpec> {
  return {
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    // Never absent: other software reads it without a look.
    affinity: affinity ?? {},
    ...(tolerations === undefined ? {} : { tolerations }),
  };
}

/** Kubernetes waits five minutes where nothing is said. It takes 40 to 50 s to call a node lost. */
const LOST_NODE_SECONDS = 10;

/** For pods that another node can run: tolerations for as long as a lost node may still come back. */
export function soonReplaced(placement: Placement): Placement {
  const { tolerations = [] } = placement;
  const lost = ["not-ready", "unreachable"].flatMap((taint): Toleration[] => {
    const key = `node.kubernetes.io/${taint}`;
    const isSaid = tolerations.some((one) => (one.key || key) === key && (one.effect || NO_EXECUTE) === NO_EXECUTE);
    return isSaid ? [] : [{ key, operator: "Exists", effect: NO_EXECUTE, tolerationSeconds: LOST_NODE_SECONDS }];
  });
  return lost.length === 0 ? placement : { ...placement, tolerations: [...tolerations, ...lost] };
}

/** The Secrets with which the pod's images are pulled, as a field of its spec. */
export function pulled(imagePullSecrets: readonly string[]): Partial<PodSpec> {
  return imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) };
}

function template(options: WorkloadOptions, extra: Partial<PodSpec>): PodTemplate {
  const { pod } = options;
  const volumes = pod.hostDirectories ?? [];
  return {
    metadata: { labels: { ...options.labels, ...options.podLabels, ...options.selector } },
    spec: {
      serviceAccountName: pod.serviceAccount,
      ...pulled(pod.imagePullSecrets),
      priorityClassName: pod.priorityClass,
      ...(pod.hostNetwork === true ? { hostNetwork: true } : {}),
      terminationGracePeriodSeconds: TERMINATION_GRACE_SECONDS,
      securityContext: pod.asRoot
        ? { runAsUser: 0, runAsGroup: 0, seccompProfile: { type: "RuntimeDefault" } }
        : // The image's user, or on OpenShift one from the namespace's range.
          { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      containers: [container(pod)],
      ...(volumes.length === 0
        ? {}
        : {
            volumes: volumes.map(({ name, hostPath }) => ({
              name,
              hostPath: { path: hostPath, type: "DirectoryOrCreate" },
            })),
          }),
      ...placed(pod.placement),
      ...extra,
    },
  };
}

function container(pod: PodOptions): Container {
  const ports = Object.entries(pod.ports);
  const mounts = pod.hostDirectories ?? [];
  return {
    name: pod.container,
    image: pod.image,
    imagePullPolicy: pod.imagePullPolicy,
    command: [IMAGE_NODE, ...(pod.nodeFlags ?? []), `${IMAGE_ROOT}/${entryPoint(pod.process)}`],
    ...(pod.args === undefined ? {} : { args: [...pod.args] }),
    ...(pod.env.length === 0 ? {} : { env: [...pod.env] }),
    ...(ports.length === 0
      ? {}
      : { ports: ports.map(([name, containerPort]) => ({ name, containerPort, protocol: "TCP" })) }),
    ...(mounts.length === 0 ? {} : { volumeMounts: mounts.map(({ hostPath: _, ...mount }) => mount) }),
    resources: { requests: { cpu: CPU_REQUEST, memory: pod.memory } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], ...(pod.addCapabilities === undefined ? {} : { add: [...pod.addCapabilities] }) },
      ...(pod.seLinuxType === undefined ? {} : { seLinuxOptions: { type: pod.seLinuxType } }),
    },
    ...(pod.healthPort === 0
      ? {}
      : (pod.isBehindService === true ? promptProbes : relaxedProbes)(pod.healthPort, pod.healthHost)),
  };
}

type Probes = Pick<Container, "startupProbe" | "readinessProbe" | "livenessProbe">;

/**
 * Readiness every second, so that a stopping webhook replica leaves its Service at once. A late answer is no reason to
 * leave it: a slow replica is better than none while the other one is replaced.
 */
export function promptProbes(port: number, host?: string): Probes {
  const httpGet = get("/readyz", port, host);
  const readinessProbe = { httpGet, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 3 };
  return { readinessProbe, livenessProbe: livenessProbe(port, host) };
}

/**
 * For a process that nobody calls: to answer often would be most of its work (docs/decisions/091). Until it is ready it is asked
 * every second, so that a rollout goes on at once. What is not ready after ten minutes is started anew. Of a process that hangs,
 * two answers in a row are missed within a minute.
 */
function relaxedProbes(port: number, host?: string): Probes {
  const httpGet = get("/readyz", port, host);
  return {
    startupProbe: { httpGet, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 600 },
    readinessProbe: { httpGet, periodSeconds: 30, timeoutSeconds: 10, failureThreshold: 1 },
    livenessProbe: { ...livenessProbe(port, host), periodSeconds: 30, timeoutSeconds: 10, failureThreshold: 2 },
  };
}

function livenessProbe(port: number, host: string | undefined): NonNullable<Probes["livenessProbe"]> {
  const httpGet = get("/healthz", port, host);
  return { httpGet, initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 };
}

function get(path: string, port: number, host: string | undefined) {
  return { ...(host === undefined ? {} : { host }), path, port, scheme: "HTTP" as const };
}

export interface NodeProbes {
  readonly pod: Pick<PodOptions, "healthPort" | "healthHost" | "ports">;
  readonly env: readonly EnvVar[];
}

/**
 * Where a daemon on the nodes' network answers probes. `address`: a `ProbeAddress`, or nothing. A port of 0 means no listener.
 * Kubelet calls from the node itself, so that loopback is near enough.
 */
export function nodeProbes(address: string | undefined, healthPort: number): NodeProbes {
  const ports: PodOptions["ports"] = healthPort === 0 ? {} : { health: healthPort };
  return address === ("Loopback" satisfies ProbeAddress)
    ? { pod: { healthPort, healthHost: LOOPBACK, ports }, env: env({ [HEALTH_HOST]: LOOPBACK }) }
    : { pod: { healthPort, ports }, env: [fieldEnv(HEALTH_HOST, "status.hostIP")] };
}
