/** `npm run capture:netlink`: asks the programs anew and writes what they send into `requests.json`. */

import { writeFileSync } from "node:fs";
import path from "node:path";
import { capture } from "./captures.ts";

const file = path.join(import.meta.dirname, "requests.json");
writeFileSync(file, `${JSON.stringify(await capture(), null, 2)}\n`);
