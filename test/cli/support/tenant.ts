/** A tenant who has `edit` in a namespace, and the command as he starts it. */
import { join } from "node:path";
import { stringify } from "yaml";
import type { CheckedObject } from "../../../src/cli/manifest-check.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { type CommandResult, runCommand } from "../../cluster/command.ts";
import { nadCrd } from "../../cluster/multus/nad-crd.ts";
import { machine } from "../../mac-pool/machines.ts";
import type { PoolFixture } from "../../mac-pool/pool-fixture.ts";
import * as rights from "../../support/rights.ts";
import type { CliProcess } from "./cli-process.ts";

/** What the controller manager, which is absent here, would gather in `edit`. */
const EDIT: readonly rights.Rule[] = [
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "create", "patch"] },
  { apiGroups: ["kubevirt.io"], resources: ["virtualmachines"], verbs: ["get", "create", "patch"] },
  { apiGroups: ["k8s.cni.cncf.io"], resources: ["network-attachment-definitions"], verbs: ["get", "create", "patch"] },
];

export class Tenant {
  readonly #cli: CliProcess;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(cli: CliProcess, kubeconfig: string) {
    this.#cli = cli;
    this.#env = { ...cli.env, KUBECONFIG: kubeconfig };
  }

  /** The cluster then has NetworkAttachmentDefinitions, and the namespace the account that pods need. */
  static async of(namespace: string, harness: PoolFixture, cli: CliProcess): Promise<Tenant> {
    const who = rights.user("tenant");
    await rights.grantRules(harness.admin, who, EDIT, { namespace });
    await harness.admin.create(RESOURCES.serviceAccounts, { metadata: { name: "default", namespace } });
    await harness.admin.create(RESOURCES.crds, nadCrd as never);
    const kubeconfig = await cli.write("tenant.kubeconfig", await harness.controlPlane.userKubeconfig("tenant"));
    return new Tenant(cli, kubeconfig);
  }

  macpool(args: readonly string[], stdin = ""): Promise<CommandResult> {
    return runCommand([join(this.#cli.folder, "kubectl-macpool"), ...args], { env: this.#env, stdin });
  }

  /** What `check -f -` says of each manifest, for objects without a namespace in the one `lab`. */
  async check(manifests: readonly string[]): Promise<readonly CheckedObject[]> {
    const { stdout, stderr } = await this.macpool(
      ["check", "-f", "-", "-n", "lab", "-o", "json"],
      manifests.join("---\n"),
    );
    if (stderr !== "") throw new Error(stderr);
    return (JSON.parse(stdout) as { readonly items: readonly CheckedObject[] }).items;
  }

  kubectl(args: readonly string[], stdin = ""): Promise<CommandResult> {
    return runCommand([join(this.#cli.folder, "kubectl"), ...args], { env: this.#env, stdin });
  }
}

/**
 * In this order: a VM that asks for `taken`, one that takes any address, VM `probe` as it is, a VM of another namespace, and a pod.
 */
export function manifestsInLab(taken: string): string[] {
  const manifests = [
    machine("taken", "lab", [{ name: "net1", macAddress: taken }]),
    machine("fresh", "lab", [{ name: "net1" }]),
    machine("probe", "lab", [{ name: "net1", macAddress: "02:00:00:00:00:01" }]),
    machine("foreign", "default", [{ name: "net1" }]),
    { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "none" }] } },
  ];
  return manifests.map((object) => stringify(object, { compat: "yaml-1.1" }));
}

/** Bridge br1 is on the first of two. */
export async function createNodes(admin: KubeClient): Promise<void> {
  const capacity = { "bridge.network.kubevirt.io/br1": "1k" };
  await admin.create(RESOURCES.nodes, { metadata: { name: "node-a" }, status: { capacity } });
  await admin.create(RESOURCES.nodes, { metadata: { name: "node-b" } });
}
