import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type BuildProgress, ensureBinaries } from "./binaries.ts";

/** A stand-in for go that notes each build: building for real takes minutes. */
const GO = `#!/bin/sh
case "$1" in
  env) echo "$FAKE_GOVERSION" ;;
  list) shift 3; for p in "$@"; do echo "$p shared/a shared/b $p/own"; done ;;
  build)
    echo "$@" >> "$FAKE_BUILDS"
    [ -z "$FAKE_FAILURE" ] || { echo "$FAKE_FAILURE" >&2; exit 1; }
    while [ "$1" != -o ]; do shift; done
    echo shared/a >&2
    sleep 0.1
    echo program > "$2" ;;
esac
`;

describe("the control plane's programs", () => {
  let directory: string;
  let env: NodeJS.ProcessEnv;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "binaries-"));
    writeFileSync(join(directory, "go"), GO);
    chmodSync(join(directory, "go"), 0o755);
    env = {
      PATH: `${directory}:/usr/bin:/bin`,
      XDG_CACHE_HOME: join(directory, "cache"),
      FAKE_BUILDS: join(directory, "builds"),
      FAKE_GOVERSION: "go1.22.3",
    };
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const builds = (): string[] => readFileSync(join(directory, "builds"), "utf8").trim().split("\n");

  it("are built once, however many processes want them, and the waiting ones see the progress", async () => {
    const reports: BuildProgress[][] = [[], []];
    const [one, two] = await Promise.all(
      reports.map((list) => ensureBinaries({ env, progress: (progress) => list.push(progress) })),
    );
    expect(one).toEqual(two);
    expect(builds().length).toBe(5);
    expect(readFileSync(one?.kubeApiserver ?? "", "utf8")).toBe("program\n");
    const phases = reports.map((list) => new Set(list.map(({ phase }) => phase)));
    expect(phases.some((seen) => seen.has("building"))).toBe(true);
    expect(phases.some((seen) => seen.has("waiting for another build"))).toBe(true);
    for (const list of reports) expect(list.at(-1)).toEqual({ phase: "done", percent: 100 });

    const silent: BuildProgress[] = [];
    await ensureBinaries({ env, progress: (progress) => silent.push(progress) });
    expect([silent.length, builds().length]).toEqual([0, 5]);
  });

  it("are taken from where the environment says, and only the others are built", async () => {
    const assets = join(directory, "assets");
    mkdirSync(assets);
    for (const name of ["etcd", "kube-apiserver"]) writeFileSync(join(assets, name), "");
    const kubectl = join(directory, "kubectl");
    writeFileSync(kubectl, "");
    const binaries = await ensureBinaries({ env: { ...env, KUBEBUILDER_ASSETS: assets, TEST_ASSET_KUBECTL: kubectl } });
    expect(binaries).toMatchObject({ etcd: join(assets, "etcd"), kubectl });
    expect(builds().length).toBe(2);
    await expect(ensureBinaries({ env: { ...env, TEST_ASSET_ETCD: "/nowhere/etcd" } })).rejects.toThrow(
      "TEST_ASSET_ETCD=/nowhere/etcd: there is no such file",
    );
  });

  it("fail to build with the compiler's words, and a later attempt goes on", async () => {
    const failing = ensureBinaries({ env: { ...env, FAKE_FAILURE: "no space left" } });
    await expect(failing).rejects.toThrow("no space left");
    await ensureBinaries({ env });
    expect(builds().length).toBe(6);
  });

  it("need a Go that is new enough, which is said in one sentence before anything is built", async () => {
    const attempt = ensureBinaries({ env: { ...env, FAKE_GOVERSION: "go1.19.8" } });
    await expect(attempt).rejects.toThrow(/is go1\.19\.8, too old to build Kubernetes: install Go 1\.21 or later/);
    expect(builds).toThrow();
  });
});
