import {
  NETWORK_ADDONS_CONFIGS,
  NETWORK_ATTACHMENT_DEFINITIONS,
  NODE_MACS,
  OPENSHIFT_NETWORKS,
  VIRTUAL_MACHINE_INSTANCES,
  VIRTUAL_MACHINES,
} from "../../api/kinds.ts";
import {
  DEFAULT_NAMESPACE,
  MAC_POOL_MANAGER,
  MAC_POOL_WEBHOOK_CONFIGURATION,
  NETWORK_ADDONS_CONFIG_NAME,
  OPERATOR_NAME,
} from "../../api/names.ts";
import type { NetworkAddonsConfig } from "../../api/network-addons-config.ts";
import type { NodeMACs } from "../../api/node-macs.ts";
import type {
  DaemonSet,
  Deployment,
  MutatingWebhookConfiguration,
  Namespace,
  Node,
} from "../../kube/client/built-in-kinds.ts";
import { defineResource, type KubeObject, RESOURCES, type Resource } from "../../kube/client/resource.ts";
import { accountOf, isAlive, runsThisOperator } from "../../operator/watch/programs.ts";
import type { Read } from "../way/facts.ts";
import type { ClusterReader, ServedGroups } from "./cluster-reader.ts";
import { type PlannedRanges, POOLS, plannedRanges } from "./planned-ranges.ts";

/** What is read of a cluster before the installation. */

type KubeVirt = KubeObject & {
  readonly status?: { readonly observedKubeVirtVersion?: string; readonly phase?: string };
};

type OpenShiftNetwork = KubeObject & { readonly spec?: { readonly disableMultiNetwork?: boolean } };

/** A Deployment with the operator's name. */
export interface FoundOperator {
  readonly program: Deployment;
  readonly isOurs: boolean;
  readonly isAlive: boolean;
  /** Whether its account may write the status of the NetworkAddonsConfig; undefined where that is not known. */
  readonly mayWriteStatus: boolean | undefined;
}

/** Objects with addresses. */
export interface AddressedObjects {
  readonly machines: Read<readonly KubeObject[]>;
  readonly instances: Read<readonly KubeObject[]>;
  readonly pods: Read<readonly KubeObject[]>;
}

export interface PreflightFacts {
  /** Namespace of the installation. */
  readonly target: string;
  readonly version: Read<string>;
  readonly groups: Read<ServedGroups>;
  readonly kubevirts: Read<readonly KubeVirt[]>;
  /** Undefined where it is not OpenShift. */
  readonly openShift: Read<OpenShiftNetwork>;
  readonly nodes: Read<readonly Node[]>;
  readonly reports: Read<readonly NodeMACs[]>;
  readonly namespace: Read<Namespace>;
  readonly operators: Read<readonly FoundOperator[]>;
  /** Deployments of MAC pools. */
  readonly managers: Read<readonly Deployment[]>;
  readonly webhooks: Read<MutatingWebhookConfiguration>;
  readonly daemonSets: Read<readonly DaemonSet[]>;
  readonly config: Read<NetworkAddonsConfig>;
  readonly ranges: Read<PlannedRanges>;
  readonly objects: AddressedObjects;
  readonly networks: Read<readonly KubeObject[]>;
}

const KUBEVIRTS: Resource<KubeVirt> = defineResource<KubeVirt>("kubevirt.io/v1", "KubeVirt", "kubevirts", true);
const CONFIGS = NETWORK_ADDONS_CONFIGS as Resource as Resource<NetworkAddonsConfig & KubeObject>;
const OPENSHIFT: Resource<OpenShiftNetwork> = OPENSHIFT_NETWORKS;
const REPORTS = NODE_MACS as Resource as Resource<NodeMACs>;
const NETWORKS: Resource = NETWORK_ATTACHMENT_DEFINITIONS;
const PODS: Resource = RESOURCES.pods;
/** OpenShift's network, too. */
const CLUSTER = { name: NETWORK_ADDONS_CONFIG_NAME };
const named = (name: string) => ({ fieldSelector: `metadata.name=${name}` });

/** Throws where the API server can't be asked at all. */
export async function readFacts(reader: ClusterReader, target: string): Promise<PreflightFacts> {
  const version = await reader.version();
  const groups = await reader.groups();
  const [config, webhooks, objects, ...others] = await Promise.all([
    reader.get(CONFIGS, CLUSTER),
    reader.get(RESOURCES.mutatingWebhookConfigurations, { name: MAC_POOL_WEBHOOK_CONFIGURATION }),
    readObjects(reader),
    reader.list(KUBEVIRTS),
    reader.get(OPENSHIFT, CLUSTER),
    reader.list(RESOURCES.nodes),
    reader.list(REPORTS),
    reader.get(RESOURCES.namespaces, { name: target }),
    readOperators(reader, target),
    reader.list(RESOURCES.deployments, named(MAC_POOL_MANAGER)),
    reader.list(RESOURCES.daemonSets),
    reader.list(NETWORKS),
  ]);
  const [kubevirts, openShift, nodes, reports, namespace, operators, managers, daemonSets, networks] = others;
  const ranges = await plannedRanges(reader, { config, webhooks, target });
  return {
    ...{ target, version, groups, kubevirts, openShift, nodes, reports, namespace, operators, managers },
    ...{ webhooks, daemonSets, config, ranges, objects, networks },
  };
}

export async function readObjects(reader: ClusterReader): Promise<AddressedObjects> {
  const [machines, instances, pods] = await Promise.all([
    reader.list(VIRTUAL_MACHINES as Resource),
    reader.list(VIRTUAL_MACHINE_INSTANCES as Resource),
    reader.list(PODS),
  ]);
  return { machines, instances, pods };
}

/** Of another cluster: those of all its pools, or what the operator or a KubeMacPool has in their place. */
export async function readRanges(reader: ClusterReader): Promise<Read<PlannedRanges["ranges"]>> {
  const pools = await reader.list(POOLS);
  if ("unknown" in pools) return pools;
  const inPools = (pools.value ?? []).flatMap(({ spec }) => spec.ranges);
  if (inPools.length > 0) return { value: inPools };
  const [config, webhooks] = await Promise.all([
    reader.get(CONFIGS, CLUSTER),
    reader.get(RESOURCES.mutatingWebhookConfigurations, { name: MAC_POOL_WEBHOOK_CONFIGURATION }),
  ]);
  const planned = await plannedRanges(reader, { config, webhooks, target: DEFAULT_NAMESPACE });
  return "unknown" in planned ? planned : { value: planned.value?.ranges };
}

async function readOperators(reader: ClusterReader, target: string): Promise<Read<readonly FoundOperator[]>> {
  const read = await reader.list(RESOURCES.deployments, named(OPERATOR_NAME));
  if ("unknown" in read) return read;
  const found = (read.value ?? []).map(async (program): Promise<FoundOperator> => {
    const { namespace = "" } = program.metadata;
    const isOurs = runsThisOperator(program.spec?.template.spec);
    const asks = !isOurs && namespace !== target;
    const mayWriteStatus = asks ? await reader.mayWriteStatus(namespace, accountOf(program)) : true;
    return { program, isOurs, isAlive: isAlive(program), mayWriteStatus };
  });
  return { value: await Promise.all(found) };
}
