/** Whether this machine can run real nodes: a test that needs them is skipped with one sentence where it can't. */
import { MissingRequirement } from "../cluster/requirements.ts";
import { requireRealNodes } from "./node-requirements.ts";

/** The sentence that says what is missing; undefined where nothing is. */
export async function missingForRealNodes(): Promise<string | undefined> {
  try {
    await requireRealNodes();
    return undefined;
  } catch (error) {
    if (error instanceof MissingRequirement) return error.message;
    throw error;
  }
}

/** For `describe.skipIf`: says why. */
export async function noRealNodes(): Promise<boolean> {
  const missing = await missingForRealNodes();
  if (missing !== undefined) console.warn(`no real nodes here: ${missing}`);
  return missing !== undefined;
}
