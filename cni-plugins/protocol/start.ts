/**
 * The start of a plugin: what it answers without looking at its input, before the rest of its bytecode is loaded.
 */

import { type Host, STDERR, STDOUT } from "../host/host.ts";
import { CURRENT_VERSION, SUPPORTED_VERSIONS } from "./version.ts";

/** `call` reads the request and answers it. */
export function startPlugin(host: Host, name: string, productVersion: string, call: () => void): void {
  const command = host.env("CNI_COMMAND") ?? "";
  if (command === "") {
    host.write(STDERR, `${aboutText(name, productVersion)}\n`);
    host.exit(0);
  } else if (command === "VERSION") {
    answer(host, 0, JSON.stringify({ cniVersion: CURRENT_VERSION, supportedVersions: SUPPORTED_VERSIONS }));
  } else {
    call();
  }
}

export function answer(host: Host, code: number, document: string): void {
  if (document !== "") host.write(STDOUT, `${document}\n`);
  host.exit(code);
}

/** Printed when a person starts the executable by hand. */
function aboutText(name: string, productVersion: string): string {
  return `CNI ${name} plugin ${productVersion} (cluster-network-addons)\nCNI protocol versions supported: ${SUPPORTED_VERSIONS.join(", ")}`;
}
