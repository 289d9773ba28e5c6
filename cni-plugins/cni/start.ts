/**
 * The start of a plugin: what it answers without looking at its input, before the rest of its bytecode is loaded.
 */

import { STDERR, STDOUT, type Syscalls } from "../native/syscalls.ts";
import { CURRENT_VERSION, SUPPORTED_VERSIONS } from "./version.ts";

/** `call` reads the request and answers it. */
export function startPlugin(syscalls: Syscalls, name: string, productVersion: string, call: () => void): void {
  const command = syscalls.env("CNI_COMMAND") ?? "";
  if (command === "") {
    syscalls.write(STDERR, `${aboutText(name, productVersion)}\n`);
    syscalls.exit(0);
  } else if (command === "VERSION") {
    answer(syscalls, 0, JSON.stringify({ cniVersion: CURRENT_VERSION, supportedVersions: SUPPORTED_VERSIONS }));
  } else {
    call();
  }
}

export function answer(syscalls: Syscalls, code: number, document: string): void {
  if (document !== "") syscalls.write(STDOUT, `${document}\n`);
  syscalls.exit(code);
}

/** Printed when a person starts the executable by hand. */
function aboutText(name: string, productVersion: string): string {
  return `CNI ${name} plugin ${productVersion} (cluster-network-addons)\nCNI protocol versions supported: ${SUPPORTED_VERSIONS.join(", ")}`;
}
