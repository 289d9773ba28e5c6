/** promtool, which checks rules of Prometheus and plays series to them. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** What it printed; throws with that when it refuses. */
export async function runPromtool(args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)("promtool", [...args])).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`promtool ${args.join(" ")}:\n${stdout}${stderr}`);
  }
}
