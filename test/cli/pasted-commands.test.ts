import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parseCommandLine } from "../../src/cli/command-line.ts";
import { pastable } from "../../src/cli/pasted-commands.ts";
import { AGO } from "./support/answers.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { KNOWN, NADS, script, service } from "./support/explain-script.ts";
import { POOL_NAMESPACE, status } from "./support/scripted-cluster.ts";
import { MAC } from "./way/working-way.ts";

const withOptions = (text: string, ...argv: string[]): string => pastable(text, parseCommandLine(argv).options);

describe("a command that is told as a remedy", () => {
  it("has the options of this one that say which cluster is asked, and as whom", () => {
    const told = "kubectl macpool find 02:00:00:00:00:01 -n lab shows more";
    expect(withOptions(told)).toBe(told);
    expect(withOptions(told, "--context", "it's east", "--as=u", "--as-group=a", "--as-group=b", "-o", "json")).toBe(
      "kubectl macpool find --context 'it'\\''s east' --as u --as-group a --as-group b 02:00:00:00:00:01 -n lab shows more",
    );
    expect(withOptions(told, "--token", "secret", "--insecure-skip-tls-verify", "--pool-namespace=cnao")).toBe(
      "kubectl macpool find --insecure-skip-tls-verify --token TOKEN --pool-namespace cnao 02:00:00:00:00:01 -n lab shows more",
    );
  });

  it("has those that kubectl knows where it is one of kubectl or virtctl", () => {
    const argv = ["--kubeconfig=k", "--pool-namespace=cnao"];
    expect(withOptions("kubectl describe pod a -n b shows more", ...argv)).toBe(
      "kubectl --kubeconfig k describe pod a -n b shows more",
    );
    expect(withOptions("--token $(kubectl -n b create token A): virtctl restart a -n b", ...argv)).toBe(
      "--token $(kubectl --kubeconfig k -n b create token A): virtctl --kubeconfig k restart a -n b",
    );
    expect(withOptions("kubectl macpool says so, and kubectl applies it", ...argv)).not.toContain("applies --");
  });
});

describe("the commands that are printed", () => {
  let harness: CliHarness;
  beforeEach(async () => {
    harness = await CliHarness.start();
  });
  afterEach(async () => {
    await harness[Symbol.asyncDispose]();
  });

  const printed = async (...argv: string[]): Promise<string> => {
    const refused = { at: AGO(60), what: "refused", code: "MACPOOL_CONFLICT", mac: MAC, message: "in use" } as const;
    const known = { ...KNOWN, interfaces: [], history: [refused] };
    const using = script({ [`${NADS}/green`]: status(404, "no") }, { rest: service(known) });
    const { stdout, stderr } = await harness.say(using, ...argv, "--pool-namespace", POOL_NAMESPACE);
    return `${stdout}${stderr}`;
  };

  it("by explain ask the same pool, in the namespace of the object", async () => {
    const text = await printed("explain", "lab/web");
    expect(text).toContain(`kubectl macpool find --pool-namespace ${POOL_NAMESPACE} ${MAC} -n lab shows the holder`);
    expect(text).toContain(`kubectl macpool check --pool-namespace ${POOL_NAMESPACE} MAC -n lab says`);
    expect(text).toContain(`kubectl macpool namespaces --pool-namespace ${POOL_NAMESPACE} -n lab says`);
    expect(await printed("explain", "lab/web", "-o", "json")).toContain(
      `namespaces --pool-namespace ${POOL_NAMESPACE} -n lab says`,
    );
  });

  it("on stderr ask it too", async () => {
    const using = { proxy: status(503, "away"), claims: [], pools: [] };
    const { stderr } = await harness.say(using, "find", "nobody", "-n", "lab", "--pool-namespace", POOL_NAMESPACE);
    expect(stderr).toContain(`kubectl macpool list --pool-namespace ${POOL_NAMESPACE} -n lab`);
  });
});
