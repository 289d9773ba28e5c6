/** Whose program a Deployment or a pod runs, and whether it lives. Pure. */

import { entryPoint, IMAGE_ROOT } from "../../api/image.ts";
import { OPERATOR_NAME } from "../../api/names.ts";
import { isFinishedPhase } from "../../api/phase.ts";
import type { Deployment, Pod } from "../../kube/client/built-in-kinds.ts";

/** In the command of the operator's pods, in every version, namespace and package. */
const THIS_OPERATOR = `${IMAGE_ROOT}/${entryPoint("operator")}`;

interface Containers {
  readonly containers?: readonly Container[];
}

interface Container {
  readonly name?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

/**
 * Names and labels don't tell: the predecessor's are the same, in the same namespace. `ownImage` is that of this process' own
 * pod: with it a Deployment is this operator's even if it leaves the command to the image.
 */
export function runsThisOperator(pod: Containers | undefined, ownImage?: string): boolean {
  return (pod?.containers ?? []).some(
    ({ name, image, command = [], args = [] }) =>
      [...command, ...args].some((word) => word.includes(THIS_OPERATOR)) ||
      (name === OPERATOR_NAME && image !== undefined && image === ownImage),
  );
}

/** Undefined if there is no such container. */
export function imageOf(pod: Containers | undefined): string | undefined {
  return pod?.containers?.find(({ name }) => name === OPERATOR_NAME)?.image;
}

/** Whether it has pods, or is to have some. */
export function isAlive({ spec, status }: Deployment): boolean {
  return spec?.replicas !== 0 || (status?.replicas ?? 0) > 0;
}

/** A pod that is being deleted runs until it is gone. */
export function mayRun({ status }: Pod): boolean {
  return !isFinishedPhase(status?.phase);
}

export function accountOf({ spec }: Deployment): string {
  return spec?.template.spec?.serviceAccountName ?? "default";
}

/** What the functions above need. */
export function slimProgram({ metadata, spec, status }: Deployment): Deployment {
  const pod = spec?.template.spec;
  const template = { spec: { serviceAccountName: pod?.serviceAccountName, ...slimContainers(pod) } };
  return {
    metadata: identity(metadata),
    spec: { replicas: spec?.replicas, template },
    status: { replicas: status?.replicas },
  } as Deployment;
}

export function slimProgramPod({ metadata, spec, status }: Pod): Pod {
  return { metadata: identity(metadata), spec: slimContainers(spec), status: { phase: status?.phase } } as Pod;
}

function slimContainers(pod: Containers | undefined): Containers {
  const containers = (pod?.containers ?? []).map(({ name, image, command, args }) => ({ name, image, command, args }));
  return { containers: containers as Container[] };
}

function identity({ name, namespace, uid, resourceVersion }: Deployment["metadata"]) {
  return { name, namespace, uid, resourceVersion };
}
