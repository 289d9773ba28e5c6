/** A scripted cluster in which nothing of the product needs to be, and what preflight says of it. */
import type { CheckLine, CheckName } from "../../../src/cli/preflight/check-line.ts";
import type { CliHarness } from "./cli-harness.ts";
import type { Ended } from "./macpool.ts";
import { type Answer, type Script, status } from "./scripted-cluster.ts";

type Objects = readonly object[] | Answer;

export interface PreflightCluster {
  readonly version?: string | Answer;
  /** Versions by their group, besides those that every cluster of the test has. */
  readonly groups?: Readonly<Record<string, readonly string[]>> | Answer;
  /** Lists, by the end of their path: `nodes`, `deployments`. */
  readonly lists?: Readonly<Record<string, Objects>>;
  /** Objects, by the end of their path: `namespaces/lab`. */
  readonly objects?: Readonly<Record<string, object | Answer>>;
  readonly webhooks?: Answer;
  readonly hosts?: readonly object[];
  readonly pools?: readonly object[];
  /** What the API server answers about accounts that it is asked about. */
  readonly mayWriteStatus?: boolean | Answer;
}

const GROUPS = {
  apps: ["v1"],
  "admissionregistration.k8s.io": ["v1"],
  "kubevirt.io": ["v1"],
  "k8s.cni.cncf.io": ["v1"],
  "networkaddonsoperator.network.kubevirt.io": ["v1"],
};

export const FORBIDDEN = status(403, "not for you", "Forbidden");

export interface Said extends Ended {
  readonly items: readonly CheckLine[];
}

/** What preflight says, as JSON. */
export async function preflightOf(harness: CliHarness, cluster: PreflightCluster, ...argv: string[]): Promise<Said> {
  const ended = await harness.say(scriptOf(cluster), "preflight", "-o", "json", ...argv);
  const items = ended.stdout === "" ? [] : (JSON.parse(ended.stdout).items as readonly CheckLine[]);
  return { ...ended, items };
}

/** The lines of one check, each as `state: text`, and with its commands below. */
export async function linesOf(
  harness: CliHarness,
  check: CheckName,
  cluster: PreflightCluster,
  ...argv: string[]
): Promise<readonly string[]> {
  const { items } = await preflightOf(harness, cluster, ...argv);
  const lines = items.filter((line) => line.check === check);
  return lines.flatMap(({ state, text, commands = [] }) => [`${state}: ${text}`, ...commands.map((one) => `$ ${one}`)]);
}

export function scriptOf(cluster: PreflightCluster): Script {
  const { webhooks = status(404, "no webhooks"), hosts = [], pools = [] } = cluster;
  return { webhooks, hosts, pools, claims: [], other: (path, query) => answerTo(path, query, cluster) };
}

function answerTo(path: string, query: URLSearchParams, cluster: PreflightCluster): Answer | undefined {
  const { version = "v1.34.1", groups = {}, lists = {}, objects = {}, mayWriteStatus = true } = cluster;
  if (path === "/version") return typeof version === "string" ? { body: { gitVersion: version } } : version;
  if (path === "/apis") return "body" in groups ? (groups as Answer) : { body: { groups: groupList(groups) } };
  if (path.endsWith("/subjectaccessreviews")) {
    return typeof mayWriteStatus === "boolean"
      ? { body: { metadata: {}, status: { allowed: mayWriteStatus } } }
      : mayWriteStatus;
  }
  const object = Object.entries(objects).find(([end]) => path.endsWith(`/${end}`))?.[1];
  if (object !== undefined) return isAnswer(object) ? object : { body: object };
  const list = Object.entries(lists).find(([end]) => path.endsWith(`/${end}`))?.[1];
  if (list !== undefined) return isAnswer(list) ? list : listAnswer(selected(list as readonly object[], query));
  return /\/(?:deployments|daemonsets|nodes|pods|virtual\w+|kubevirts|network-attachment-definitions)$/.test(path)
    ? listAnswer([])
    : undefined;
}

/** As `metadata.name=NAME` selects. */
function selected(objects: readonly object[], query: URLSearchParams): readonly object[] {
  const name = query.get("fieldSelector")?.split("=")[1];
  return objects.filter((one) => name === undefined || (one as { metadata: { name: string } }).metadata.name === name);
}

const isAnswer = (given: object): given is Answer => "body" in given;

const listAnswer = (items: readonly object[]): Answer => ({ body: { metadata: { resourceVersion: "1" }, items } });

function groupList(more: Readonly<Record<string, readonly string[]>>): object[] {
  return Object.entries({ ...GROUPS, ...more }).map(([name, versions]) => ({
    name,
    versions: versions.map((version) => ({ version })),
  }));
}

export function nodeOf(
  name: string,
  {
    kubeletVersion = "v1.34.1",
    architecture = "amd64",
    operatingSystem = "linux",
    bridges = [],
    annotations = {},
  }: {
    readonly kubeletVersion?: string;
    readonly architecture?: string;
    readonly operatingSystem?: string;
    readonly bridges?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
  } = {},
): object {
  const capacity = Object.fromEntries(bridges.map((bridge) => [`bridge.network.kubevirt.io/${bridge}`, "1k"]));
  const nodeInfo = {
    osImage: "",
    kubeletVersion,
    architecture,
    operatingSystem,
    containerRuntimeVersion: "containerd://2",
  };
  return { metadata: { name, annotations }, status: { capacity, nodeInfo } };
}

/** A Deployment or a DaemonSet with one container. */
export function workloadOf(
  name: string,
  namespace: string,
  {
    image = "quay.invalid/x:1",
    replicas = 1,
    env = {},
    ...more
  }: {
    readonly image?: string;
    readonly replicas?: number;
    readonly env?: Readonly<Record<string, string>>;
    readonly metadata?: object;
    readonly pod?: object;
  } = {},
): object {
  const container = { name, image, env: Object.entries(env).map(([key, value]) => ({ name: key, value })) };
  return {
    metadata: { name, namespace, ...more.metadata },
    spec: { replicas, template: { spec: { containers: [container], ...more.pod } } },
    status: { replicas },
  };
}

export const webhooksTo = (namespace: string): Answer => {
  const clientConfig = { service: { namespace, name: "kubemacpool-service" } };
  return { body: { metadata: { name: "kubemacpool-mutator" }, webhooks: [{ clientConfig }] } };
};

/** Cordoned, and its kubelet has never reported. */
export function deadNode(name: string): object {
  return {
    metadata: { name },
    spec: { unschedulable: true },
    status: { conditions: [{ type: "Ready", status: "Unknown" }] },
  };
}
