import { expect, it } from "vitest";
import { ReaderAccess } from "../../../../src/mac-pool/inspection/rest/reader-access.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";

const READER = { username: "eve", uid: "", groups: [], extra: {} };
const CLAIMS = { verb: "list", resource: "macclaims" } as const;

it("names the namespace that may not be read, and how to name another", async () => {
  const access = new ReaderAccess({
    tokens: { userOf: async () => READER },
    access: { isAllowed: async () => false },
    self: async () => undefined,
    clock: new ManualClock(),
  });
  const may = 'User "eve" may not list macclaims.macpool.network.kubevirt.io';
  await expect(access.scope(READER, CLAIMS, [])).rejects.toMatchObject({
    view: {
      detail: `${may} in the whole cluster. Ask for a ClusterRoleBinding to kubemacpool-view. For what is in your namespace, name it: ?namespace=NAME.`,
    },
  });
  await expect(access.scope(READER, CLAIMS, ["lab"], "lab")).rejects.toMatchObject({
    view: {
      detail: `${may} in namespace lab or in the whole cluster. Ask for a RoleBinding to kubemacpool-view in namespace lab. For what is in another namespace, name it: ?namespace=NAME.`,
    },
  });
  // That an address is in use in some namespace is not told to who may not read it.
  await expect(access.scope(READER, CLAIMS, ["lab"])).rejects.toMatchObject({
    view: { detail: expect.stringContaining(`${may} in the whole cluster. Ask`) },
  });
  await expect(access.scope(READER, { verb: "get", resource: "macpools" }, [])).rejects.toMatchObject({
    view: {
      detail:
        'User "eve" may not get macpools.macpool.network.kubevirt.io in the cluster. ' +
        "Ask for a ClusterRoleBinding to kubemacpool-view. " +
        "For the claims and the limit of your namespace, read /api/v1/namespaces?namespace=NAME.",
    },
  });
});
