/** CNI versions and what each of them has. */

import { CniError, INCOMPATIBLE_VERSION } from "./cni-error.ts";

export const CURRENT_VERSION = "1.1.0";
export const SUPPORTED_VERSIONS = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", CURRENT_VERSION] as const;

/** A configuration that names no version speaks the oldest one. */
export const DEFAULT_VERSION = "0.1.0";

export type CniVersion = (typeof SUPPORTED_VERSIONS)[number];

/** What a plugin prints for VERSION. The build puts it into the executables, which answer without starting JavaScript. */
export function versionAnswer(): string {
  return `${JSON.stringify({ cniVersion: CURRENT_VERSION, supportedVersions: SUPPORTED_VERSIONS })}\n`;
}

export function parseVersion(text: string): CniVersion {
  const version = SUPPORTED_VERSIONS.find((supported) => supported === text);
  if (version !== undefined) return version;
  throw new CniError(
    INCOMPATIBLE_VERSION,
    `incompatible CNI versions: the configuration's cniVersion is "${text}"; use one of the supported ones`,
    `supported: ${SUPPORTED_VERSIONS.join(", ")}`,
  );
}

export function atLeast(version: CniVersion, minimum: CniVersion): boolean {
  return SUPPORTED_VERSIONS.indexOf(version) >= SUPPORTED_VERSIONS.indexOf(minimum);
}
