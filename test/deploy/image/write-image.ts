/** Writes a small image into the folder that is its argument, as a build does at its end. */

import { addIndex, type Blobs } from "../../../deploy/image/oci.ts";
import { writeImageFiles } from "../../../deploy/image/output.ts";

const blobs: Blobs = new Map([["sha256:00", Buffer.alloc(8e6)]]);
const [folder = ""] = process.argv.slice(2);
await writeImageFiles({ blobs, index: addIndex(blobs, []), platforms: [] }, folder, 0).catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
