/** Objects that are in every cluster from its start: multus' account and, unless a test wants none, the NAD kind. */
import type { ControlPlane } from "./control-plane/control-plane.ts";
import { multusAccount } from "./multus/account.ts";
import { nadCrd } from "./multus/nad-crd.ts";

const COLLECTIONS: Readonly<Record<string, string>> = {
  ClusterRole: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
  ClusterRoleBinding: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  CustomResourceDefinition: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
};

export async function installClusterObjects(controlPlane: ControlPlane, withNadCrd: boolean): Promise<void> {
  const objects = [...multusAccount, ...(withNadCrd ? [nadCrd] : [])] as readonly { readonly kind: string }[];
  await Promise.all(
    objects.map(async (object) => {
      const answer = await controlPlane.request("POST", COLLECTIONS[object.kind] ?? "", object);
      if (answer?.status !== 201) {
        throw new Error(`${object.kind} not made: ${answer?.status ?? "no answer"} ${answer?.body ?? ""}`);
      }
    }),
  );
}
