import { expect, it } from "vitest";
import { type Mac, parseMac } from "../../../src/api/mac.ts";
import type { ClaimOwner } from "../../../src/api/mac-claim.ts";
import type { Permission } from "../../../src/kube/access/subject-access.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { denied } from "../../../src/mac-pool/admission/decision.ts";
import { OwnerRedaction } from "../../../src/mac-pool/admission/owner-redaction.ts";
import { conflict } from "../../../src/mac-pool/claims/refusals.ts";
import { reviewRequest, vm } from "./review-fixture.ts";

const MAC = parseMac("020000000001") as Mac;

const owner = (namespace: string, name: string): ClaimOwner => {
  return { kind: "VirtualMachine", namespace, name, uid: name, interface: "a", since: "2026-01-01T00:00:00Z" };
};

const asks = (owners: readonly ClaimOwner[]) =>
  denied(conflict(MAC, "a", owners, { field: "macAddress", pendingMs: 120_000, isAwaited: false, objectsListing: [] }));

/** What the user is told, and what the API server was asked about him. */
async function told(
  owners: readonly ClaimOwner[],
  username: string,
  isAllowed: (permission: Permission) => Promise<boolean> = async () => true,
): Promise<{ text: string; asked: Permission[] }> {
  const asked: Permission[] = [];
  const access = {
    isAllowed: (_user: unknown, permission: Permission) => {
      asked.push(permission);
      return isAllowed(permission);
    },
  };
  const request = reviewRequest("VirtualMachine", vm([]), { userInfo: { username } });
  const answer = await new OwnerRedaction(access, silentLog).render(asks(owners), request);
  return { text: answer.allowed ? "" : answer.message, asked };
}

it("asks for the object itself, and not about the own namespace", async () => {
  const { text, asked } = await told([owner("default", "own"), owner("other", "web")], "tenant");
  expect(text).toContain("in use by VirtualMachine default/own (a) and VirtualMachine other/web (a).");
  expect(asked).toEqual([
    { verb: "get", group: "kubevirt.io", resource: "virtualmachines", namespace: "other", name: "web" },
  ]);
});

it.each([
  ["may not", async () => false],
  ["can't be asked about", () => Promise.reject(new Error("timeout"))],
])("names nothing to a user who %s", async (_, isAllowed) => {
  const { text } = await told([owner("other", "web"), owner("third", "db")], "tenant", isAllowed);
  expect(text).toContain("in use by an object in another namespace.");
});

it.each(["harvester-system:kubevirt-controller", "kubevirt:kubevirt-controller", "kube-system:job-controller"])(
  "names nothing to %s, which tells it to others",
  async (account) => {
    const { text, asked } = await told([owner("other", "web")], `system:serviceaccount:${account}`);
    expect(text).not.toContain("other/web");
    expect(asked).toEqual([]);
  },
);

it("asks about five owners at most", async () => {
  const owners = Array.from({ length: 64 }, (_, i) => owner("other", `web-${i}`));
  const { text, asked } = await told(owners, "tenant");
  expect(asked).toHaveLength(5);
  expect(text).toContain("other/web-4");
  expect(text).not.toContain("other/web-5 ");
});
