/** What others do to the operator's objects: they edit them in every way that changes their meaning, and delete them. */

import { MAC_POOLS } from "../../../src/api/kinds.ts";
import { APPLIED_CONFIG_MAP, DEFAULT_MAC_POOL, LABEL_MANAGED_BY } from "../../../src/api/names.ts";
import { ApiError } from "../../../src/kube/client/api-error.ts";
import type { KubeObject, Resource } from "../../../src/kube/client/resource.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { appliedKind, isWorkload } from "../../../src/operator/apply/applied-kinds.ts";
import { COMPONENTS, renderEverything } from "../../../src/operator/components/registry.ts";
import { INVENTORY_CONFIG_MAP } from "../../../src/operator/config/records.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import type { Random } from "../../support/random.ts";
import { DRIFT_EDITS, type JsonPatch, POD_EDITS } from "../support/drift-edits.ts";
import { NAMESPACE } from "../support/installed-operator.ts";
import type { OperatorHarness } from "../support/operator-harness.ts";

interface Deed {
  readonly what: string;
  readonly carryOut: (harness: OperatorHarness) => Promise<unknown>;
}

const OBJECTS = renderEverything(DEFAULT_SETTINGS, COMPONENTS);
const POOLS: Resource = MAC_POOLS;

function edit(resource: Resource, name: string, what: string, ops: JsonPatch): Deed {
  const ref = resource.namespaced ? { name, namespace: NAMESPACE } : { name };
  return {
    what: `${resource.kind} ${name}: ${what}`,
    carryOut: ({ admin }) => admin.patch(resource, ref, { type: "json", ops }),
  };
}

/** Of objects by name, and of the pods of every workload. */
const EDITS: readonly Deed[] = [
  ...DRIFT_EDITS.flatMap(({ resource, name, edits }) =>
    Object.entries(edits).map(([what, ops]) => edit(resource, name, what, ops)),
  ),
  ...OBJECTS.filter(isWorkload).flatMap((workload) =>
    Object.entries(POD_EDITS).map(([what, ops]) =>
      edit(appliedKind(workload).resource, workload.metadata.name ?? "", what, ops),
    ),
  ),
];

/** Rare in the table above, and each of a kind of its own. */
const OTHER_EDITS: readonly Deed[] = [
  edit(POOLS, DEFAULT_MAC_POOL, "other ranges", [
    { op: "replace", path: "/spec/ranges", value: [{ start: "06:00:00:00:00:00", end: "06:00:00:00:00:ff" }] },
  ]),
  ...["kubemacpool-service", "linux-bridge-webhook"].map((name) =>
    edit(RESOURCES.secrets, name, "a label", [
      { op: "replace", path: "/metadata/labels/app.kubernetes.io~1component", value: "theirs" },
    ]),
  ),
  ...OBJECTS.filter((object) => appliedKind(object).removal !== undefined).map((object) =>
    edit(appliedKind(object).resource, object.metadata.name ?? "", "without our label", [
      { op: "remove", path: `/metadata/labels/${LABEL_MANAGED_BY.replace("/", "~1")}` },
    ]),
  ),
  ...OBJECTS.filter(({ kind }) => kind === "ClusterRole").map(({ metadata }) =>
    edit(RESOURCES.clusterRoles, metadata.name ?? "", "no owner", [
      { op: "remove", path: "/metadata/ownerReferences" },
    ]),
  ),
];

const RECORDS = [APPLIED_CONFIG_MAP, INVENTORY_CONFIG_MAP].map(
  (name): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: NAMESPACE } }),
);

const DELETIONS = [...OBJECTS, ...RECORDS].map((object): Deed => {
  const { name = "", namespace } = object.metadata;
  return {
    what: `${object.kind} ${name}: deleted`,
    carryOut: ({ admin }) => admin.delete(appliedKind(object).resource, { name, namespace }),
  };
});

/** Carries out some of them, each on an object that is there, and tells which. */
export async function meddle(harness: OperatorHarness, random: Random): Promise<string[]> {
  const deeds = random.pick([EDITS, EDITS, OTHER_EDITS, DELETIONS]);
  const wanted = 1 + random.below(4);
  const done: string[] = [];
  for (let tries = 0; tries < 40 && done.length < wanted; tries++) {
    const { what, carryOut } = random.pick(deeds);
    try {
      await carryOut(harness);
      done.push(what);
    } catch (error) {
      // Not there, refused, or the API server is away.
      if (!(error instanceof ApiError)) break;
    }
  }
  return done;
}
