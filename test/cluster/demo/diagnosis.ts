import { DEFAULT_NAMESPACE } from "../../../src/api/names.ts";
import type { Stage } from "./stage.ts";

const QUESTIONS: readonly (readonly string[])[] = [
  ["get", "networkaddonsconfig", "cluster", "-o", "jsonpath={.status.conditions}{'\\n'}{.status.components}{'\\n'}"],
  ["get", "pods", "-A", "-o", "wide"],
  ["get", "vm,vmi,macpool,macclaim", "-A"],
  ["get", "events", "-A", "--field-selector=type=Warning"],
];
const LOG_LINES = 15;

/** What someone would look at first when a step failed: text for stderr, best effort. */
export async function diagnose(stage: Stage): Promise<string> {
  const answers: string[] = [];
  for (const args of QUESTIONS) answers.push(await ask(stage, args));
  const names = await stage.cluster.kubectl(["get", "pods", "-n", DEFAULT_NAMESPACE, "-o", "name"]);
  for (const pod of names.stdout.split("\n").filter((line) => line !== "")) {
    answers.push(await ask(stage, ["logs", "-n", DEFAULT_NAMESPACE, pod, `--tail=${LOG_LINES}`]));
  }
  return answers.join("\n");
}

async function ask(stage: Stage, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await stage.cluster.kubectl(args);
  return `$ kubectl ${args.join(" ")}\n${stdout}${stderr}`;
}
