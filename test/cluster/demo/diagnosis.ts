import { DEFAULT_NAMESPACE } from "../../../src/api/names.ts";
import type { DemoCluster } from "./demo-cluster.ts";

const QUESTIONS: readonly (readonly string[])[] = [
  ["get", "networkaddonsconfig", "cluster", "-o", "jsonpath={.status.conditions}{'\\n'}{.status.components}{'\\n'}"],
  ["get", "pods", "-A", "-o", "wide"],
  ["get", "vm,vmi,macpool,macclaim", "-A"],
  ["get", "events", "-A", "--field-selector=type=Warning"],
];
const LOG_LINES = 15;

/** What someone would look at first when a step failed: text for stderr, best effort. */
export async function diagnose(demo: DemoCluster): Promise<string> {
  const answers: string[] = [];
  for (const args of QUESTIONS) answers.push(await ask(demo, args));
  const names = await demo.cluster.kubectl(["get", "pods", "-n", DEFAULT_NAMESPACE, "-o", "name"]);
  for (const pod of names.stdout.split("\n").filter((line) => line !== "")) {
    answers.push(await ask(demo, ["logs", "-n", DEFAULT_NAMESPACE, pod, `--tail=${LOG_LINES}`]));
  }
  return answers.join("\n");
}

async function ask(demo: DemoCluster, args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await demo.cluster.kubectl(args);
  return `$ kubectl ${args.join(" ")}\n${stdout}${stderr}`;
}
