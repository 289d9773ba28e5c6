/** The CNI plugin `tuning`: its verbs. */

import type { Plugin } from "../cni/plugin.ts";
import { add } from "./add.ts";
import { check } from "./check.ts";
import { readTuningConfig, warnAboutKeys } from "./config.ts";
import { del } from "./del.ts";
import { gc } from "./gc.ts";

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
