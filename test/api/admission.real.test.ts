import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ControlPlaneAccess } from "../cluster/control-plane/access.ts";
import { borrowControlPlane } from "../support/borrowed-control-plane.ts";

const CRDS = join(import.meta.dirname, "../../deploy/crds");
const POOL_ORDER = "failed to set mac address range: invalid range. Range end is less than its start. ";

const SHORT_DURATIONS = {
  caRotateInterval: "1.5h",
  caOverlapInterval: ".5h",
  certRotateInterval: "1h1.s",
  certOverlapInterval: "+30m",
};

describe("kubectl apply against the real API server", () => {
  let controlPlane: ControlPlaneAccess;

  beforeAll(async () => {
    controlPlane = await borrowControlPlane();
    const applied = await kubectl(["apply", "--server-side", "-f", CRDS]);
    expect(applied).toMatchObject({ code: 0, stderr: "" });
    await kubectl(["wait", "--for=condition=Established", "-f", CRDS, "--timeout=30s"]);
    await vi.waitUntil(async () => (await kubectl(["get", "nac,macpool,macclaim"])).code === 0, { timeout: 20_000 });
  });
  afterAll(async () => {
    await controlPlane?.[Symbol.asyncDispose]();
  });

  function kubectl(args: readonly string[], input = ""): Promise<{ code: number; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      const child = execFile(
        controlPlane.kubectlPath,
        ["--kubeconfig", controlPlane.kubeconfig, ...args],
        (error, stdout, stderr) => resolve({ code: error === null ? 0 : 1, stdout, stderr }),
      );
      child.stdin?.end(input);
    });
  }

  function apply(object: object) {
    return kubectl(["apply", "--dry-run=server", "-f", "-"], JSON.stringify(object));
  }

  function config(spec: object, name = "cluster", version = "v1") {
    const apiVersion = `networkaddonsoperator.network.kubevirt.io/${version}`;
    return { apiVersion, kind: "NetworkAddonsConfig", metadata: { name }, spec };
  }

  function pool(spec: object) {
    return { apiVersion: "macpool.network.kubevirt.io/v1alpha1", kind: "MACPool", metadata: { name: "p" }, spec };
  }

  function claim(name: string, mac: string) {
    const spec = { mac, origin: "explicit" };
    return { apiVersion: "macpool.network.kubevirt.io/v1alpha1", kind: "MACClaim", metadata: { name }, spec };
  }

  it.each([
    ["an empty spec", {}],
    ["components without settings", { linuxBridge: {}, kubeMacPool: {}, multus: {}, ovs: {}, macvtap: {} }],
    ["a range in any notation", { kubeMacPool: { rangeStart: "0200.0000.0000", rangeEnd: "02FFFFFFFFFF" } }],
    [
      "what HCO sends",
      {
        kubeMacPool: { rangeStart: "02:00:00:00:00:00", rangeEnd: "02:ff:ff:ff:ff:ff" },
        kubeSecondaryDNS: { domain: "", nameServerIP: "" },
        kubevirtIpamController: { defaultNetworkNADNamespace: "openshift-ovn-kubernetes" },
        placementConfiguration: {
          infra: { nodeSelector: { infra: "yes" }, affinity: { nodeAffinity: {} } },
          workloads: { tolerations: [{ key: "a", operator: "Exists", effect: "NoSchedule" }] },
        },
        selfSignConfiguration: {
          caRotateInterval: "48h0m0s",
          caOverlapInterval: "24h0m0s",
          certRotateInterval: "24h0m0s",
          certOverlapInterval: "24h0m0s",
        },
        tlsSecurityProfile: { type: "Custom", custom: { ciphers: ["AES128-SHA"], minTLSVersion: "VersionTLS12" } },
      },
    ],
    ["no TLS profile", { tlsSecurityProfile: null }],
    ["a name server with an IPv6 address", { kubeSecondaryDNS: { nameServerIP: "fd00::53" } }],
    ["durations as short as Go has them", { selfSignConfiguration: SHORT_DURATIONS }],
  ])("accepts %s", async (_what, spec) => {
    expect(await apply(config(spec))).toMatchObject({ code: 0, stderr: "" });
    expect(await apply(config(spec, "cluster", "v1alpha1"))).toMatchObject({ code: 0 });
  });

  it.each<[string, object, string[]]>([
    [
      "ends that are no MAC addresses",
      { kubeMacPool: { rangeStart: "02:00:00:00:00:0g", rangeEnd: "02:00:00:00:00:00:00:01" } },
      [
        "spec.kubeMacPool.rangeStart: Invalid value: failed to parse rangeStart because the mac address is invalid",
        "spec.kubeMacPool.rangeEnd: Invalid value: failed to parse rangeEnd because the mac address is invalid",
      ],
    ],
    [
      "a CNI directory that is the system's",
      { linuxBridge: { cniBinDir: "/opt/../etc" } },
      [
        'spec.linuxBridge.cniBinDir: Invalid value: "/opt/../etc": cniBinDir has to be a directory below /opt, /var/lib',
      ],
    ],
    ["a field that does not exist", { linuxbridge: {} }, ['unknown field "spec.linuxbridge"']],
    [
      "what is no affinity",
      {
        placementConfiguration: {
          infra: { affinity: { foo: 1 } },
          workloads: { affinity: { podAffinity: { somewhere: "near" } } },
        },
      },
      [
        'unknown field "spec.placementConfiguration.infra.affinity.foo"',
        'unknown field "spec.placementConfiguration.workloads.affinity.podAffinity.somewhere"',
      ],
    ],
  ])("refuses %s and says where", async (_what, spec, texts) => {
    const answer = await apply(config(spec));
    expect(answer.code).toBe(1);
    for (const text of texts) expect(answer.stderr).toContain(text);
  });

  it("refuses a second NetworkAddonsConfig", async () => {
    const answer = await apply(config({}, "mine"));
    expect(answer.stderr).toContain(
      'metadata.name: Invalid value: there is only one NetworkAddonsConfig and its name has to be "cluster"',
    );
  });

  it("refuses another pull policy once components are deployed", async () => {
    await kubectl(["apply", "-f", "-"], JSON.stringify(config({ imagePullPolicy: "Never" })));
    const status = { status: { observedVersion: "0.1.0" } };
    const patch = JSON.stringify(status);
    await kubectl(["patch", "nac", "cluster", "--subresource=status", "--type=merge", "-p", patch]);
    const answer = await apply(config({ imagePullPolicy: "Always" }));
    expect(answer.stderr).toContain("cannot modify ImagePullPolicy configuration once components were deployed");
    expect(await apply(config({ imagePullPolicy: "Never", linuxBridge: {} }))).toMatchObject({ code: 0 });
    expect(await apply(config({ imagePullPolicy: "" }))).toMatchObject({ code: 0 });
  });

  it("knows pools of one address, several ranges and exclusions", async () => {
    const start = "02:00:00:00:00:01";
    const ranges = [
      { start, end: start },
      { start: "04-00-00-00-00-00", end: "04-00-00-00-00-ff" },
    ];
    const spec = { ranges, exclusions: [{ start, end: start }], conflictPolicy: "DenyRunning", quarantineSeconds: 5 };
    expect(await apply(pool(spec))).toMatchObject({ code: 0 });
  });

  it.each<[string, object, string]>([
    ["no range", { ranges: [] }, "spec.ranges"],
    ["a reversed range", { ranges: [{ start: "02:00:00:00:00:02", end: "02:00:00:00:00:01" }] }, POOL_ORDER],
    [
      "an unknown policy",
      { ranges: [{ start: "02:00:00:00:00:01", end: "02:00:00:00:00:02" }], conflictPolicy: "No" },
      "No",
    ],
  ])("refuses a pool with %s", async (_what, spec, text) => {
    expect((await apply(pool(spec))).stderr).toContain(text);
  });

  it("lets a claim be named after its address only", async () => {
    expect(await apply(claim("mac-02-00-00-00-00-01", "02:00:00:00:00:01"))).toMatchObject({ code: 0 });
    const answer = await apply(claim("mac-02-00-00-00-00-02", "02:00:00:00:00:01"));
    expect(answer.stderr).toContain("the name of a MACClaim must be its address");
    expect((await apply(claim("mac-0200.0000.0001", "0200.0000.0001"))).stderr).toContain("lower-case octets");
  });

  it("explains every field", async () => {
    for (const name of readdirSync(CRDS).map((file) => file.replace(".yaml", ""))) {
      const { stdout } = await kubectl(["explain", name, "--recursive"]);
      expect(stdout).toContain("FIELDS:");
      expect(stdout).not.toContain("<empty>");
    }
  });
});
