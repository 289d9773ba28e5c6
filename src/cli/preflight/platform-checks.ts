import { VIRTUAL_MACHINES } from "../../api/kinds.ts";
import { MIN_KUBERNETES_VERSION } from "../../api/names.ts";
import { type CheckLine, note, ok, toDo, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import type { PreflightFacts } from "./preflight-facts.ts";

/** Kubernetes, KubeVirt and OpenShift. */

export function checkKubernetes({ version }: PreflightFacts): readonly CheckLine[] {
  if ("unknown" in version) return [unchecked("kubernetes", "the version of Kubernetes", version.unknown)];
  const found = version.value ?? "";
  const [oldest] = MIN_KUBERNETES_VERSION.split(/\.0$/);
  if (isOlder(found, MIN_KUBERNETES_VERSION)) {
    const text = `Kubernetes ${found} is too old: upgrade it to ${oldest} or later.`;
    return [toDo("kubernetes", text, "kubectl version")];
  }
  return [ok("kubernetes", `Kubernetes ${found} is new enough: ${oldest} is the oldest that will do.`)];
}

/** By major and minor version. One that can't be read is not too old. */
function isOlder(version: string, than: string): boolean {
  const [one, other] = [version, than].map((text) => {
    const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(text) ?? [];
    return Number(major) * 1_000_000 + Number(minor);
  });
  return (one ?? 0) < (other ?? 0);
}

const NO_KUBEVIRT = "KubeVirt is not there: the installation does not need it, VMs do.";

export function checkKubevirt({ groups, kubevirts }: PreflightFacts): readonly CheckLine[] {
  if ("unknown" in groups) return [unchecked("kubevirt", "KubeVirt", groups.unknown)];
  const { group, version } = VIRTUAL_MACHINES;
  const versions = groups.value?.get(group);
  if (versions === undefined) return [note("kubevirt", NO_KUBEVIRT)];
  if (!versions.includes(version)) {
    const text = `KubeVirt serves ${group}/${versions.join(", ")} and not ${group}/${version}: upgrade it.`;
    return [toDo("kubevirt", text, "kubectl get kubevirts.kubevirt.io -A")];
  }
  if ("unknown" in kubevirts) return [unchecked("kubevirt", "the version of KubeVirt", kubevirts.unknown)];
  const [kubevirt] = kubevirts.value ?? [];
  const { observedKubeVirtVersion: found, phase } = kubevirt?.status ?? {};
  if (found === undefined)
    return [note("kubevirt", `KubeVirt does not say its version. It serves ${group}/${version}.`)];
  return [ok("kubevirt", `KubeVirt ${found}${phase === undefined ? "" : `, ${phase}`}.`)];
}

const MULTI_NETWORK = '{"spec":{"disableMultiNetwork":false}}';

/** Nothing where it is not OpenShift. */
export function checkOpenShift({ openShift, groups }: PreflightFacts): readonly CheckLine[] {
  if ("unknown" in openShift) return [unchecked("openshift", "whether this is OpenShift", openShift.unknown)];
  const constrains = knownValue(groups)?.has("security.openshift.io") === true;
  const constraints = "Accounts whose pods need their node get SecurityContextConstraints of their own.";
  if (openShift.value === undefined) return constrains ? [note("openshift", constraints)] : [];
  if (openShift.value.spec?.disableMultiNetwork === true) {
    const text = "OpenShift has disableMultiNetwork: true, so there is no Multus and VMs get no other networks.";
    return [
      toDo(
        "openshift",
        text,
        `kubectl patch networks.operator.openshift.io cluster --type=merge -p '${MULTI_NETWORK}'`,
      ),
    ];
  }
  const text = `This is OpenShift: it brings Multus, and does not support multusDynamicNetworks and macvtap.`;
  return [note("openshift", constrains ? `${text} ${constraints}` : text)];
}
