/** Programs of Debian's packages that more than one benchmark needs. */

import type { Need } from "./bench.ts";

const utilLinux = (purpose: string, ...names: readonly string[]): Need[] =>
  names.map((name) => ({ programs: [name], purpose, debianPackage: "util-linux" }));

export const IP: Need = { programs: ["ip"], purpose: "to make networks", debianPackage: "iproute2" };
export const CONTROL_PLANE: readonly Need[] = utilLinux("to end the control plane with its parent", "setpriv", "flock");
export const NAMESPACES: readonly Need[] = [IP, ...CONTROL_PLANE, ...utilLinux("to make nodes", "unshare", "nsenter")];
export const CORES: readonly Need[] = utilLinux("to give processes cores of their own", "taskset");
