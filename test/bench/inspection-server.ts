/**
 * Child process of the inspection benchmark: the REST interface and the page over caches with many claims and networks. Tells its port and an
 * address that is in use.
 */

import { readFileSync } from "node:fs";
import { formatMac } from "../../src/api/mac.ts";
import { FIRST, InspectionFixture } from "../mac-pool/inspection/inspection-fixture.ts";
import { manyClaims, manyMacs, refuseMany } from "../mac-pool/inspection/queries/many-claims.ts";
import { manyNetworks } from "../mac-pool/inspection/queries/many-networks.ts";
import { InspectionServer } from "../mac-pool/inspection/rest/inspection-server.ts";

const [certFile = "", keyFile = "", count = "0"] = process.argv.slice(2);

const macs = manyMacs(Number(count));
const networks = manyNetworks({ nodes: 1_000, networks: 500, guests: 20_000 });
const claims = manyClaims(macs);
const instances = [...(claims.instances ?? []), ...(networks.instances ?? [])];
const harness = await InspectionFixture.start({ ...claims, ...networks, instances });
refuseMany(harness.denials, macs);
const pair = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
const server = await InspectionServer.start(harness, { tls: { current: () => pair, onChange: () => () => {} } });
process.send?.({ port: server.port, example: formatMac(macs[Math.floor(macs.length / 2)] ?? FIRST) });
process.on("disconnect", () => process.exit(0));
