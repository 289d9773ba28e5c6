import { describe, expect, it } from "vitest";
import { validateSpec } from "../../../src/operator/config/validation.ts";
import { NO_FACTS } from "../../../src/operator/watch/facts.ts";

const errors = (spec: unknown, facts = {}) => validateSpec(spec, { ...NO_FACTS, ...facts });
const PREFIX = "failed to validate selfSignConfiguration";

function selfSign(caRotate: string, caOverlap: string, certRotate: string, certOverlap: string): object {
  return {
    selfSignConfiguration: {
      caRotateInterval: caRotate,
      caOverlapInterval: caOverlap,
      certRotateInterval: certRotate,
      certOverlapInterval: certOverlap,
    },
  };
}

describe("validation of the spec", () => {
  it("finds nothing wrong with what can be deployed", () => {
    expect(errors({})).toEqual([]);
    expect(errors({ linuxBridge: {}, kubeMacPool: { rangeStart: "", rangeEnd: "" }, imagePullPolicy: "" })).toEqual([]);
    expect(errors(selfSign("48h0m0s", "24h", "24h", "24h0m0s"))).toEqual([]);
  });

  it("finds what is no name of a namespace, and a profile of one's own that is missing", () => {
    expect(errors({ linuxBridge: { globalNamespaces: ["default", "Def_ault"] } })).toEqual([
      'globalNamespaces has to hold names of namespaces, found "Def_ault"',
    ]);
    expect(errors({ tlsSecurityProfile: { type: "Custom" } })).toEqual([
      "tlsSecurityProfile of type Custom needs custom, with its ciphers and minTLSVersion",
    ]);
  });

  it("gathers the errors of all fields", () => {
    const spec = {
      kubeMacPool: { rangeStart: "02:00:00:00:00:00" },
      multusDynamicNetworks: {},
      imagePullPolicy: "Sometimes",
      kubeSecondaryDNS: { nameServerIP: "300.1.1.1" },
    };
    expect(errors(spec)).toEqual([
      "the `multus` configuration is required",
      "both or none of the KubeMacPool ranges needs to be configured",
      "requested imagePullPolicy 'Sometimes' is not valid",
      "nameServerIP has to be an IP address",
    ]);
  });

  it.each([
    ["10.96.0.53", true],
    ["fd00::53", true],
    ["10.96.0.0/24", false],
    ["fd00::/64", false],
    ["10.96.0", false],
    ["010.96.0.53", false],
    ["[fd00::53]", false],
    ["dns.example", false],
  ])("reads nameServerIP %s as one address: %s", (nameServerIP, valid) => {
    expect(errors({ kubeSecondaryDNS: { nameServerIP } })).toEqual(
      valid ? [] : ["nameServerIP has to be an IP address"],
    );
  });

  it.each([
    ["", true],
    ["/opt/cni/bin", true],
    ["/var/lib/rancher/k3s/data/cni/", true],
    ["/usr/lib/cni", true],
    ["/var/lib/rancher/k3s/data/current/bin", true],
    ["/var/lib/cni/bin", true],
    ["/opt/cni-1.9_a+b@c", true],
    ["/home/kubernetes/bin", true],
    ["/run/cni/bin", true],
    ["/var/snap/microk8s/current/opt/cni/bin", true],
    ["/usr/libexec/cni", true],
    ["/usr/local/lib/cni/", true],
    ["/var/opt/cni/bin", true],
    ["/", false],
    ["/opt", false],
    ["/opt/a:b", false],
    ["/opt/a b", false],
    ["/opt/a\nb", false],
    ["/opt/cni\n", false],
    ["/opt/a\0b", false],
    ["/opt/a\u0007", false],
    ["/opt/$(NODE_NAME)", false],
    ["/opt/é", false],
    ["/run/netns", false],
    ["/run/systemd", false],
    ["/run/udev/rules.d", false],
    ["/run/multus", false],
    ["/run/k8s.cni.cncf.io", false],
    ["/run/cni", false],
    ["/var/lib", false],
    ["/var/lib/etcd", false],
    ["/var/lib/kubelet", false],
    ["/var/lib/kubelet/plugins", false],
    ["/var/lib/rancher", false],
    ["/var/lib/cni", false],
    ["/var/lib/cni/multus", false],
    ["/var/lib/cni/results", false],
    ["/var/lib/cni/binary", false],
    ["/home/kubernetes", false],
    ["/home/kubernetes/containerized_mounter", false],
    ["/proc/a", false],
    ["/dev/shm", false],
    ["/etc/cni/bin", false],
    ["/usr/bin", false],
    ["/usr/libexec", false],
    ["/usr/libexec/cnid", false],
    ["/usr/local/lib/other", false],
    ["/var/snap", false],
    ["/var/snap/..", false],
    ["/opt/../etc", false],
    ["/opt/cni/..", false],
    ["/opt//cni", false],
    ["/optional/cni", false],
    ["opt/cni/bin", false],
  ])("takes %s for cniBinDir: %s", (cniBinDir, valid) => {
    expect(errors({ linuxBridge: { cniBinDir } })).toEqual(valid ? [] : [expect.stringContaining("below /opt")]);
  });

  it("refuses a range of one address", () => {
    const one = "02:00:00:00:00:01";
    expect(errors({ kubeMacPool: { rangeStart: one, rangeEnd: one } })).toEqual([
      "failed to set mac address range: invalid range. Range end is lesser than or equal to its start. " +
        `start: ${one} end: ${one}`,
    ]);
  });

  it("checks certificate lifetimes in stages", () => {
    expect(errors({ selfSignConfiguration: { caRotateInterval: "1x" } })).toEqual([
      `${PREFIX}: caOverlapInterval is missing`,
      `${PREFIX}: certRotateInterval is missing`,
      `${PREFIX}: certOverlapInterval is missing`,
    ]);
    expect(errors(selfSign("1x", "-1h", "1h", "2"))).toEqual([
      `${PREFIX}: error parsing caRotateInterval: time: unknown unit "x" in duration "1x"`,
      `${PREFIX}: error parsing certOverlapInterval: time: missing unit in duration "2"`,
    ]);
    expect(errors(selfSign("1h", "-1h", "0s", "2h"))).toEqual([
      `${PREFIX}: caOverlapInterval duration has to be > 0`,
      `${PREFIX}: certRotateInterval duration has to be > 0`,
    ]);
    expect(errors(selfSign("1h", "2h", "90m", "120m"))).toEqual([
      `${PREFIX}: caOverlapInterval(2h0m0s) has to be <= caRotateInterval(1h0m0s)`,
      `${PREFIX}: certRotateInterval(1h30m0s) has to be <= caRotateInterval(1h0m0s)`,
      `${PREFIX}: certOverlapInterval(2h0m0s) has to be <= certRotateInterval(1h30m0s)`,
    ]);
  });

  it("knows what OpenShift brings or forbids", () => {
    const spec = { multus: {}, multusDynamicNetworks: {}, macvtap: {} };
    expect(errors(spec, { openShift: true, multiNetworkDisabled: true })).toEqual([
      "multus has been requested, but is disabled on OpenShift Cluster Network Operator",
      "`multusDynamicNetworks` configuration is not supported on Openshift yet",
      "`macvtap` has been requested, but is not supported on OpenShift",
    ]);
    expect(errors({ multus: {} }, { openShift: true })).toEqual([]);
  });

  it("names the field when the shape is wrong, as with an older CRD in the cluster", () => {
    expect(errors({ kubeMacPool: { rangeStart: 5 } })).toEqual([
      expect.stringContaining("spec.kubeMacPool.rangeStart"),
    ]);
  });
});
