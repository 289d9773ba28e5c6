/**
 * What is in the image, as an SPDX 2.3 document: npm packages that have code in the bundles, crates that the CNI executables
 * are made of, Debian packages, and Node. Versions and checksums are those of the lock files.
 */

import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Arch } from "../../cni-plugins/build/toolchain.ts";
import { PRODUCT_VERSION } from "../../src/api/names.ts";
import { lockedCrates } from "./crates.ts";
import { isoTime } from "./oci.ts";
import type { Pins } from "./pins.ts";

export const SBOM_PATH = "usr/share/sbom/cluster-network-addons.spdx.json";

export interface SbomOptions {
  readonly arch: Arch;
  readonly pins: Pins;
  /** Source files of the bundles, relative to the repository. */
  readonly sources: readonly string[];
  readonly timeS: number;
}

interface Package {
  readonly name: string;
  readonly version: string;
  /** Package URL (purl). */
  readonly url: string;
  readonly license?: string | undefined;
  readonly checksum?: { readonly algorithm: "SHA256" | "SHA512"; readonly hex: string } | undefined;
}

const ROOT = path.resolve(import.meta.dirname, "../..");
const NONE = "NOASSERTION";
const PRODUCT = "SPDXRef-cluster-network-addons";

export async function imageSbom({ arch, pins, sources, timeS }: SbomOptions): Promise<string> {
  const packages = [
    nodePackage(pins, arch),
    ...pins.debian.packages.map((pin) => debianPackage(pin, arch, pins.debian.release)),
    ...(await npmPackages(sources)),
    ...(await cratePackages()),
  ].sort((one, other) => (one.url < other.url ? -1 : 1));
  const described = packages.map(spdxPackage);
  const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `cluster-network-addons-${PRODUCT_VERSION}-${arch}`,
    documentNamespace: `urn:cluster-network-addons:sbom:${PRODUCT_VERSION}:${arch}`,
    creationInfo: { created: isoTime(timeS), creators: ["Tool: cluster-network-addons-build-image"] },
    packages: [
      {
        name: "cluster-network-addons",
        SPDXID: PRODUCT,
        versionInfo: PRODUCT_VERSION,
        downloadLocation: NONE,
        filesAnalyzed: false,
        licenseConcluded: "Apache-2.0",
        licenseDeclared: "Apache-2.0",
        copyrightText: NONE,
        primaryPackagePurpose: "CONTAINER",
      },
      ...described,
    ],
    relationships: [
      { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: PRODUCT },
      ...described.map(({ SPDXID }) => ({
        spdxElementId: PRODUCT,
        relationshipType: "CONTAINS",
        relatedSpdxElement: SPDXID,
      })),
    ],
  };
  return `${JSON.stringify(document, null, 1)}\n`;
}

function spdxPackage({ name, version, url, license, checksum }: Package) {
  return {
    name,
    SPDXID: `SPDXRef-${url.replace(/^pkg:/, "").replace(/[^A-Za-z0-9.]+/g, "-")}`,
    versionInfo: version,
    downloadLocation: NONE,
    filesAnalyzed: false,
    licenseConcluded: NONE,
    licenseDeclared: license ?? NONE,
    copyrightText: NONE,
    ...(checksum === undefined ? {} : { checksums: [{ algorithm: checksum.algorithm, checksumValue: checksum.hex }] }),
    externalRefs: [{ referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: url }],
  };
}

function nodePackage({ node }: Pins, arch: Arch): Package {
  return {
    name: "node",
    version: node.version,
    url: `pkg:generic/node@${node.version}`,
    license: "MIT",
    checksum: npmChecksum(node.integrity[arch]),
  };
}

function debianPackage(pin: Pins["debian"]["packages"][number], arch: Arch, release: string): Package {
  const query = `arch=${arch}&distro=${release}&upstream=${encodeURIComponent(pin.source)}`;
  return {
    name: pin.name,
    version: pin.version,
    url: `pkg:deb/debian/${encodeURIComponent(pin.name)}@${encodeURIComponent(pin.version)}?${query}`,
    checksum: { algorithm: "SHA256", hex: pin.sha256[arch] },
  };
}

interface Locked {
  readonly version: string;
  readonly integrity: string;
  readonly license?: string;
}

async function npmPackages(sources: readonly string[]): Promise<Package[]> {
  const lock = JSON.parse(await readFile(path.join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const folders = new Set(sources.flatMap((source) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? []));
  return [...folders].map((folder) => {
    const locked = lock.packages[folder];
    if (locked === undefined) throw new Error(`package-lock.json has no ${folder}`);
    const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
    const url = `pkg:npm/${name.replace("@", "%40")}@${locked.version}`;
    return { name, version: locked.version, url, license: locked.license, checksum: npmChecksum(locked.integrity) };
  });
}

async function cratePackages(): Promise<Package[]> {
  const crates = await lockedCrates(path.join(ROOT, "cni-plugins/native/Cargo.lock"));
  return crates.map(({ name, version, checksum }) => ({
    name,
    version,
    url: `pkg:cargo/${name}@${version}`,
    checksum: { algorithm: "SHA256", hex: checksum },
  }));
}

function npmChecksum(integrity: string): Package["checksum"] {
  const [, base64] = /^sha512-(\S+)/.exec(integrity) ?? [];
  return base64 === undefined ? undefined : { algorithm: "SHA512", hex: Buffer.from(base64, "base64").toString("hex") };
}
