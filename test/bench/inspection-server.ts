/**
 * Child process of the inspection benchmark: the REST interface over caches with many claims that no API server holds. Everybody
 * may see everything. Tells its port.
 */

import { readFileSync } from "node:fs";
import { formatMac, type Mac } from "../../src/api/mac.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { HttpServer } from "../../src/kube/http/server.ts";
import { silentLog } from "../../src/kube/log.ts";
import { ReaderAccess } from "../../src/mac-pool/inspection/reader-access.ts";
import { routeInspection } from "../../src/mac-pool/inspection/rest.ts";
import { claimOf, FIRST, InspectionBed, owner, vmOf } from "../mac-pool/inspection/inspection-bed.ts";
import { Random } from "../support/random.ts";

const [certFile = "", keyFile = "", count = "0"] = process.argv.slice(2);
const NAMESPACES = 100;
const NICS = 2;
const SIZE = 2 ** 24;

const random = new Random(1);
const offsets = new Set<number>();
while (offsets.size < Number(count)) offsets.add(Math.floor(random.next() * SIZE));
const macs = [...offsets].sort((one, other) => one - other).map((offset) => (FIRST + offset) as Mac);
const namespaces = Object.fromEntries(Array.from({ length: NAMESPACES }, (_, at) => [`tenant-${at}`, {}]));
const nameOf = (at: number): [string, string] => [
  `tenant-${Math.floor(at / NICS) % NAMESPACES}`,
  `vm-${Math.floor(at / NICS)}`,
];
const machines = Array.from({ length: macs.length / NICS }, (_, at) =>
  vmOf(...nameOf(at * NICS), macs.slice(at * NICS, (at + 1) * NICS)),
);
const claims = macs.map((mac, at) =>
  claimOf(mac, [owner(...nameOf(at), { network: "multus br1-net", interface: at % NICS === 0 ? "a" : "b" })]),
);
const range = { start: formatMac(FIRST), end: formatMac((FIRST + SIZE - 1) as Mac) };
const bed = await InspectionBed.start({ pools: { default: { ranges: [range] } }, namespaces, machines, claims });
const pair = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
const server = new HttpServer({ port: 0, host: "127.0.0.1", tls: { current: () => pair, onChange: () => () => {} } });
// Each question is of another user: what one user may ask in a second is not measured.
let users = 0;
const newUser = () => ({ username: `viewer-${users++}`, uid: "", groups: [], extra: {} });
const access = new ReaderAccess({
  tokens: { userOf: async () => newUser() },
  access: { isAllowed: async () => true },
  self: async () => undefined,
  clock: systemClock,
});
const { inspector } = bed;
const rest = {
  inspector,
  access,
  readiness: () => true as const,
  hold: server.hold,
  clock: systemClock,
  log: silentLog,
};
routeInspection(server.app, rest);
process.send?.({ port: await server.listen(), example: formatMac(macs[Math.floor(macs.length / 2)] ?? FIRST) });
process.on("disconnect", () => process.exit(0));
