import { expect, it } from "vitest";
import { WAYS_HEADER } from "../../../src/api/way.ts";
import type { OwnerRef } from "../../../src/cli/backends/pool-backend.ts";
import { CliError } from "../../../src/cli/faults.ts";
import type { Upstream } from "../../../src/cli/ui/local-proxy.ts";
import { withWays } from "../../../src/cli/ui/ways-answer.ts";
import type { Explained } from "../../../src/cli/way/explained.ts";
import { ApiError } from "../../../src/kube/client/api-error.ts";

const OWNER: OwnerRef = { kind: "VirtualMachine", namespace: "lab", name: "web" };
const PATH = "/api/v1/ways/VirtualMachine/lab/web";
const WAY = [{ interface: "net1", steps: [{ step: "accepted", state: "ok", text: "02:00:00:00:00:01" }] }] as const;
const KNOWN: Explained = {
  owner: { ...OWNER, exists: true, interfaces: [], history: [], partial: [] },
  way: WAY,
  isKnown: true,
  knowsRefusals: true,
};

async function ask(path: string, explain: (owner: OwnerRef) => Promise<Explained> = async () => KNOWN) {
  const passedOn: string[] = [];
  const asked: OwnerRef[] = [];
  const pool: Upstream = {
    send: async (below) => {
      passedOn.push(below);
      return { status: 200, headers: { etag: '"7"' }, body: (async function* () {})() };
    },
  };
  const upstream = withWays(pool, (owner) => {
    asked.push(owner);
    return explain(owner);
  });
  const { status, headers, body } = await upstream.send(path, {}, new AbortController().signal);
  let text = "";
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return { status, headers, answer: text === "" ? undefined : JSON.parse(text), passedOn, asked };
}

it("answers about the way of an object itself, and asks the pool nothing", async () => {
  const { status, headers, answer, passedOn, asked } = await ask(PATH);
  expect({ status, answer, passedOn, asked }).toEqual({
    status: 200,
    answer: { way: WAY },
    passedOn: [],
    asked: [OWNER],
  });
  expect(headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
  expect((await ask("/api/v1/ways/Pod/lab/a%2Eb")).asked).toEqual([{ kind: "Pod", namespace: "lab", name: "a.b" }]);
});

it("passes every other question on, and tells the page with its answer that it knows ways", async () => {
  for (const path of [
    "/",
    "/api/v1/owners/VirtualMachine/lab/web",
    "/api/v1/ways/Node/lab/web",
    "/api/v1/ways/VirtualMachine/lab",
    "/api/v1/ways/VirtualMachine/lab/",
    `${PATH}/more`,
  ]) {
    const { headers, passedOn, asked } = await ask(path);
    expect({ passedOn, asked }).toEqual({ passedOn: [path], asked: [] });
    expect(headers).toEqual({ etag: '"7"', [WAYS_HEADER]: "true" });
  }
});

it("says what the user may not see and what can't be asked, and hides no fault of its own", async () => {
  const forbidden = new ApiError({ status: 403, reason: "Forbidden", message: "no" });
  const cases = [
    [async () => ({ ...KNOWN, owner: undefined }), 404, "There is no VirtualMachine lab/web that you may see."],
    [
      async () => Promise.reject(new CliError("you may not list claims", { cause: forbidden })),
      403,
      "you may not list claims",
    ],
    [async () => Promise.reject(new CliError("the API server is away")), 502, "the API server is away"],
  ] as const;
  for (const [explain, status, detail] of cases) {
    const said = await ask(PATH, explain);
    expect(said).toMatchObject({ status, answer: { status, detail } });
  }
  await expect(ask(PATH, () => Promise.reject(new TypeError("a fault")))).rejects.toThrow("a fault");
});
