/** A node and a container for each test of a file. The bindings are live: they are what the running test has. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { CniCall } from "./cni-call.ts";
import { type Namespace, Testbed } from "./testbed.ts";

export let testbed: Testbed;
export let node: Namespace;
export let container: Namespace;
/** A call for the container. */
export let call: CniCall;
/** A folder for IPAM plugins, with `freshNodeWithIpam`. */
export let data: string;

const PATH = process.env.PATH ?? "";

export function freshNode(): void {
  beforeEach(async () => {
    testbed = await Testbed.create();
    node = testbed.node;
    container = await testbed.container();
    call = { node, container };
  });

  afterEach(() => testbed[Symbol.asyncDispose]());
}

/** Calls find their IPAM plugins on the CNI_PATH that is given for the folder. */
export function freshNodeWithIpam(cniPath: (data: string) => Promise<string>): void {
  freshNode();

  beforeEach(async () => {
    data = await mkdtemp(path.join(tmpdir(), "cni-ipam-"));
    call = { ...call, env: { CNI_PATH: await cniPath(data), PATH } };
  });

  afterEach(() => rm(data, { recursive: true, force: true }));
}

/** The node's nftables rules. */
export async function rules(): Promise<string> {
  const { code, stdout, stderr } = await node.run(["nft", "list", "ruleset"], { env: { PATH } });
  if (code !== 0) throw new Error(`nft is needed, install the package nftables: ${stderr}`);
  return stdout;
}
