/** Runs in the guest: one pass of the node agent's reaper, with the plugins of a directory and IPAM plugins of another. */

import { systemClock } from "../../src/kube/clock.ts";
import { silentLog } from "../../src/kube/log.ts";
import { listLinks } from "../../src/linux-bridge/agent/host-links.ts";
import { NODE_DIRECTORIES } from "../../src/linux-bridge/agent/node-agent.ts";
import { Reaper } from "../../src/linux-bridge/agent/reaper.ts";

const [, , pluginDirectory = "", cniPath = ""] = process.argv;
let reaped = 0;
const reaper = new Reaper({
  ...NODE_DIRECTORIES,
  listLinks,
  pluginDirectory,
  plugins: ["bridge", "tuning"],
  cniPath,
  onReaped: (outcome) => {
    if (outcome === "success") reaped++;
  },
  clock: systemClock,
  log: silentLog,
  graceMs: 0,
  longGraceMs: 0,
  signal: new AbortController().signal,
});
const left = await reaper.pass();
console.log(JSON.stringify({ reaped, left }));
