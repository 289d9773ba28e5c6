/** STATUS: a layer 2 attachment needs nothing beyond what every kernel has; only the configuration can be wrong. */

import type { Call } from "../protocol/plugin.ts";
import { readBridgeConfig } from "./config.ts";

export function status({ request, warn }: Call): undefined {
  readBridgeConfig(request.config, request.args, warn);
}
