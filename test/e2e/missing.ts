/** Prints the sentence that says what this machine lacks for real nodes, or nothing. */
import { missingForRealNodes } from "./real-nodes.ts";

const missing = await missingForRealNodes();
if (missing !== undefined) console.log(missing);
