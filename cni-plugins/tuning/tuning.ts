/** The CNI plugin `tuning`: its verbs. */

import { removeStaleRecords } from "../cni/gc-records.ts";
import { readObjects } from "../cni/json-object.ts";
import type { Call, Plugin } from "../cni/plugin.ts";
import { validAttachments } from "../cni/request.ts";
import { removeState, stateFile } from "../cni/tuning-state.ts";
import { add } from "./add.ts";
import { check } from "./check.ts";
import { readDataDir, readTuningConfig, warnAboutKeys } from "./config.ts";
import { del } from "./del.ts";

export const tuning: Plugin = {
  name: "tuning",
  commands: {
    ADD: add,
    DEL: del,
    CHECK: check,
    GC: gc,
    STATUS({ request, warn }) {
      readTuningConfig(request.config, request.args, "IFNAME");
      warnAboutKeys(request.config, warn);
      return undefined;
    },
  },
};

/** Removes the state of this network's attachments that the runtime does not list. */
function gc({ syscalls, request, warn }: Call): undefined {
  const valid = validAttachments(request.config, warn);
  if (valid === undefined) return;
  const dataDir = readDataDir(request.config);
  const kept = valid.map((one) => stateFile(dataDir, one));
  for (const { file, content } of readObjects(syscalls, dataDir)) {
    // The reference plugin's files name no network, and stay.
    if (content.network === request.network && !kept.includes(file)) removeState(syscalls, file);
  }
  removeStaleRecords({ syscalls, request }, "tuning", valid);
}
