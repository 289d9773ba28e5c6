/** What `main.ts` loads for a call that is not VERSION. */

export { run } from "./bridge.ts";
