/** `install-on-change.ts HOST IMAGE`: the installer, until its stdin ends. */
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { passOnChange } from "../../../src/linux-bridge/installer/directory-watch.ts";
import { Installer, shippedPlugins } from "../../../src/linux-bridge/installer/installer.ts";

const [directory = "", pluginDirectory = ""] = process.argv.slice(2);
const plugins = await shippedPlugins(pluginDirectory, ["bridge"]);
const installer = new Installer({ directory, pluginDirectory, plugins, clock: systemClock, log: silentLog });
const stop = new AbortController();
process.stdin.on("end", () => stop.abort()).resume();
await passOnChange({ directory, clock: systemClock, log: silentLog }, () => installer.repair(), stop.signal);
