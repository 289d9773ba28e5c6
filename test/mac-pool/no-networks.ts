import type { Networks } from "../../src/mac-pool/cluster/network-domains.ts";

/** No pool tells networks apart. */
export const NO_NETWORKS: Networks = {
  scopeIn: () => "Cluster",
  domainOf: async () => undefined,
  of: async () => () => undefined,
};
