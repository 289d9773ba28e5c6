/** `install-once.ts HOST IMAGE`: one pass of the installer, as a process that tests can kill. Prints the states. */
import { systemClock } from "../../../src/kube/clock.ts";
import { silentLog } from "../../../src/kube/log.ts";
import { Installer, shippedPlugins } from "../../../src/linux-bridge/installer/installer.ts";

const [directory = "", pluginDirectory = ""] = process.argv.slice(2);
const plugins = await shippedPlugins(pluginDirectory, ["bridge", "tuning"]);
const installer = new Installer({ directory, pluginDirectory, plugins, clock: systemClock, log: silentLog });
await installer.repair();
console.log(JSON.stringify(installer.states));
