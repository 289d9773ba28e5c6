/** What the image takes from elsewhere, pinned by version and checksum in pins.json. `--renew-pins` writes that file. */

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import { ImageError } from "./image-error.ts";

const byArch = z.object({ amd64: z.string(), arm64: z.string() });

const schema = z.object({
  /** Checksums of the npm packages as npm writes them: `sha512-BASE64`. */
  node: z.object({ version: z.string(), integrity: byArch }),
  debian: z.object({
    release: z.string(),
    version: z.string(),
    packages: z.array(z.object({ name: z.string(), source: z.string(), version: z.string(), sha256: byArch })),
  }),
});
export type Pins = z.infer<typeof schema>;
export type DebianPin = Pins["debian"]["packages"][number];

const FILE = path.join(import.meta.dirname, "pins.json");
const PACKAGE = path.join(import.meta.dirname, "../../package.json");

/** The file as it is, also when it is out of date. */
export async function readPinsToRenew(): Promise<Pins> {
  return schema.parse(JSON.parse(await readFile(FILE, "utf8")));
}

/** Throws an ImageError when package.json has another Node. */
export async function readPins(): Promise<Pins> {
  const pins = await readPinsToRenew();
  const wanted = await nodeVersion();
  if (pins.node.version !== wanted) {
    throw new ImageError(
      `package.json has Node ${wanted} and deploy/image/pins.json has ${pins.node.version}: run \`npm run build:image -- --renew-pins\``,
    );
  }
  return pins;
}

export async function writePins(pins: Pins): Promise<void> {
  await writeFile(FILE, `${JSON.stringify(pins, null, 2)}\n`);
}

/** The Node that runs everything else of this repository too. */
export async function nodeVersion(): Promise<string> {
  const { devDependencies } = JSON.parse(await readFile(PACKAGE, "utf8")) as { devDependencies: { node: string } };
  return devDependencies.node;
}
