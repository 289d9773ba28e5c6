/** What is wrong with a cluster for a while. Each fault lasts from its begin until it is told to end. */

import { defineResource, RESOURCES } from "../../../src/kube/client/resource.ts";
import { REMOVAL_CHECK } from "../../../src/operator/components/standing/removal-guard.ts";
import { eventually } from "../../support/eventually.ts";
import type { Random } from "../../support/random.ts";
import { NAMESPACE } from "../support/installed-operator.ts";
import type { OperatorHarness } from "../support/operator-harness.ts";
import { HostileWebhook, MANNERS } from "./hostile-webhook.ts";

export interface Lasting {
  readonly what: string;
  /** The operator has to be started anew at its end, because it remembers what the API server made of its objects. */
  readonly isRemembered?: boolean;
  /** It takes seconds anyway. */
  readonly isShort?: boolean;
  readonly end: () => Promise<void>;
}

/** Does the work while no operator runs. */
type WithoutOperator = (work: () => Promise<void>) => Promise<void>;

export type Fault = (harness: OperatorHarness, random: Random, withoutOperator: WithoutOperator) => Promise<Lasting>;

const QUOTAS = defineResource("v1", "ResourceQuota", "resourcequotas", true);
const QUOTA = { name: "full", namespace: NAMESPACE };
const FULL = ["count/configmaps", "count/daemonsets.apps", "count/services", "count/secrets", "pods"];

async function quota({ admin }: OperatorHarness, random: Random): Promise<Lasting> {
  const counted = random.pick(FULL);
  await admin.create(QUOTAS, { metadata: QUOTA, spec: { hard: { [counted]: "0" } } });
  return {
    what: `quota: no ${counted}`,
    end: async () => {
      await eventually("the quota is deleted", () => admin.delete(QUOTAS, QUOTA).then(() => true));
    },
  };
}

async function hostileWebhook(harness: OperatorHarness, random: Random): Promise<Lasting> {
  const manner = random.pick(MANNERS);
  const webhook = await HostileWebhook.install(harness, manner);
  return {
    what: `a mutating webhook ${manner}`,
    isRemembered: manner === "changes",
    end: () => webhook[Symbol.asyncDispose](),
  };
}

async function apiServerAway({ controlPlane }: OperatorHarness): Promise<Lasting> {
  await controlPlane.killApiServer();
  return { what: "the API server is away", isShort: true, end: () => controlPlane.restartApiServer() };
}

const STUCK = { name: "stuck", namespace: NAMESPACE };
const TERMINATION_LIMIT_MS = 90_000;

/** An administrator deletes the operator's namespace, guard or no guard. Something in it has a finalizer of nobody. */
const terminatingNamespace: Fault = async ({ admin, cluster }, _, withoutOperator) => {
  await admin.create(RESOURCES.configMaps, { metadata: { ...STUCK, finalizers: ["example.com/nobody"] } });
  await withoutOperator(async () => {
    const guard = { name: REMOVAL_CHECK };
    if (await cluster.isThere(RESOURCES.validatingAdmissionPolicyBindings, guard)) {
      await admin.delete(RESOURCES.validatingAdmissionPolicyBindings, guard);
    }
    const remove = () => admin.delete(RESOURCES.namespaces, { name: NAMESPACE });
    await eventually("the namespace is deleted", () => remove().then(() => true));
  });
  return {
    what: "the namespace is stuck terminating",
    end: async () => {
      const body = { metadata: { finalizers: null } };
      await admin.patch(RESOURCES.configMaps, STUCK, { type: "merge", body });
      const isGone = async () => !(await cluster.isThere(RESOURCES.namespaces, { name: NAMESPACE }));
      await eventually("the namespace is gone", isGone, { limitMs: TERMINATION_LIMIT_MS });
      await cluster.applyRelease();
    },
  };
};

const QUICK: readonly Fault[] = [quota, hostileWebhook, hostileWebhook];
/** Some of any twenty seeds in a row: they take seconds. */
const RARE: ReadonlyMap<number, Fault> = new Map([
  [3, apiServerAway],
  [9, apiServerAway],
  [14, terminatingNamespace],
]);

/** Undefined where the sequence of that seed has none. */
export function faultOf(seed: number, random: Random): Fault | undefined {
  return RARE.get(seed % 20) ?? (random.chance(0.6) ? random.pick(QUICK) : undefined);
}
