import { expect, it } from "vitest";
import { describeFault } from "../../src/cli/faults.ts";
import { apiErrorFrom, ConnectionError } from "../../src/kube/client/api-error.ts";

const SERVER = "https://10.0.0.1:6443";
const CLAIMS = "GET /apis/macpool.network.kubevirt.io/v1alpha1/macclaims";

function fault(status: number, body: string, request = CLAIMS): string | undefined {
  return describeFault(apiErrorFrom({ status, body, request }), SERVER);
}

it("tells a cluster without the MAC pool from an object that does not exist", () => {
  expect(fault(404, "404 page not found\n")).toBe(
    "the cluster has no MAC pool: set kubeMacPool in NetworkAddonsConfig cluster",
  );
  const status = { kind: "Status", code: 404, reason: "NotFound", message: 'macpools "x" not found', details: {} };
  expect(fault(404, JSON.stringify(status))).toBe('macpools "x" not found');
  expect(fault(404, "404 page not found\n", "GET /api/v1/pods")).toBe("the server answered 404: 404 page not found");
});

it("says what to do about credentials, rights and a server that does not answer", () => {
  expect(fault(401, "Unauthorized")).toBe("the API server does not know these credentials: log in again");
  const forbidden = { kind: "Status", code: 403, reason: "Forbidden", message: "macclaims is forbidden" };
  expect(fault(403, JSON.stringify(forbidden))).toBe(
    "macclaims is forbidden. For one namespace, write -n NAMESPACE --pool-namespace NAMESPACE; the pool's service needs the " +
      "Role macpool-inspection of docs/guide/for-vm-owners.md. For the whole cluster, ask for a ClusterRoleBinding to kubemacpool-view.",
  );
  expect(fault(403, JSON.stringify({ ...forbidden, message: "nodes is forbidden" }), "GET /api/v1/nodes")).toBe(
    "nodes is forbidden: ask an administrator for that right",
  );
  const impersonated = { ...forbidden, message: 'User "x" cannot impersonate resource "users"' };
  expect(fault(403, JSON.stringify(impersonated))).toBe(`${impersonated.message}: ask without --as`);
  const refused = new ConnectionError("connect ECONNREFUSED", { written: false, code: "ECONNREFUSED" });
  expect(describeFault(refused, SERVER)).toBe(
    "the API server https://10.0.0.1:6443 can't be reached (ECONNREFUSED): is this the right kubeconfig?",
  );
});

it("leaves an error of the program itself alone", () => {
  expect(describeFault(new TypeError("oops"), SERVER)).toBeUndefined();
});
