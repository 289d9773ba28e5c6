import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { bundleProcesses } from "../../../deploy/image/bundles.ts";
import { readPins } from "../../../deploy/image/pins.ts";
import { imageSbom } from "../../../deploy/image/sbom.ts";

const root = path.join(import.meta.dirname, "../../..");

interface Spdx {
  readonly spdxVersion: string;
  readonly creationInfo: { readonly created: string };
  readonly packages: readonly {
    readonly name: string;
    readonly SPDXID: string;
    readonly versionInfo: string;
    readonly checksums?: readonly { readonly checksumValue: string }[];
    readonly externalRefs?: readonly { readonly referenceLocator: string }[];
  }[];
  readonly relationships: readonly { readonly relatedSpdxElement: string }[];
}

describe("the image's SBOM", () => {
  let spdx: Spdx;
  beforeAll(async () => {
    const [{ sources }, pins] = [await bundleProcesses("amd64"), await readPins()];
    spdx = JSON.parse(await imageSbom({ arch: "amd64", pins, sources, timeS: 1_700_000_000 }));
  });

  const ofKind = (kind: string): string[] =>
    spdx.packages.flatMap(({ externalRefs = [] }) =>
      externalRefs.map(({ referenceLocator }) => referenceLocator).filter((url) => url.startsWith(`pkg:${kind}/`)),
    );

  it("is SPDX 2.3 of the time that the build was given, and every package has an id of its own", () => {
    expect(spdx.spdxVersion).toBe("SPDX-2.3");
    expect(spdx.creationInfo.created).toBe("2023-11-14T22:13:20Z");
    const ids = spdx.packages.map(({ SPDXID }) => SPDXID);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^SPDXRef-[A-Za-z0-9.-]+$/.test(id))).toEqual([]);
    expect(spdx.relationships.map((one) => one.relatedSpdxElement).toSorted()).toEqual(ids.toSorted());
  });

  it("names what package.json says that processes import, and nothing that only people at a terminal need", () => {
    const names = ofKind("npm").map((url) => decodeURIComponent(url.slice("pkg:npm/".length)).replace(/@[^@]+$/, ""));
    const { dependencies } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
    const atTerminals = ["@kubernetes/client-node", "socks", "ws"];
    const expected = Object.keys(dependencies).filter((name) => !atTerminals.includes(name));
    expect(names).toEqual(expect.arrayContaining(expected));
    for (const absent of [...atTerminals, "typescript", "esbuild", "vitest"]) {
      expect(names).not.toContain(absent);
    }
  });

  it("names the crates, the Debian packages and Node with their checksums", () => {
    expect(ofKind("cargo")).toEqual(expect.arrayContaining([expect.stringMatching(/^pkg:cargo\/rquickjs@\d/)]));
    expect(ofKind("deb")).toEqual(
      expect.arrayContaining([expect.stringMatching(/^pkg:deb\/debian\/libc6@.*arch=amd64&distro=\w+/)]),
    );
    const node = spdx.packages.find(({ name }) => name === "node");
    expect(node?.versionInfo).toBe(process.versions.node);
    const unchecked = spdx.packages.filter(({ checksums }) => checksums === undefined).map(({ name }) => name);
    expect(unchecked).toEqual(["cluster-network-addons"]);
  });
});
