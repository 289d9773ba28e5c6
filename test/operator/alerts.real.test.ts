import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { INJECTION_WEBHOOK, POD_WEBHOOK } from "../../src/api/names.ts";
import { RESOURCES } from "../../src/kube/client/resource.ts";
import { mustRun } from "../cluster/command.ts";
import { client as admin } from "../support/api-server-harness.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { lacks } from "../tools/debian/programs.ts";
import { alertNames, RULE_GROUPS } from "./support/rules.ts";

const NAMESPACE = "cluster-network-addons";
const OVERDUE_SECONDS = 6 * 3600;

interface Story {
  readonly alert: string;
  /** Series with a value a minute, as promtool writes them: `0x3` is 0 four times. */
  readonly series: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  /** Minutes at which the alert does not fire yet, fires, and fires no longer. */
  readonly minutes: readonly [before: number, during: number, after: number];
}

const ours = `namespace="${NAMESPACE}"`;
const up = (pod: string) => `up{${ours}, pod="${pod}-5d4f8-x"}`;
const deployed = (pod: string) => `kubevirt_cnao_cr_kubemacpool_deployed{${ours}, pod="${pod}"}`;
const failure = `name="${POD_WEBHOOK}", operation="CREATE", type="admit", error_type="calling_webhook_error"`;

const STORIES: readonly Story[] = [
  {
    alert: "CnaoDown",
    series: { [up("cluster-network-addons-operator")]: "1x4 0x9 1x10" },
    minutes: [8, 12, 18],
  },
  {
    alert: "NetworkAddonsConfigNotReady",
    series: { [`kubevirt_cnao_cr_ready{${ours}, pod="a"}`]: "1x4 0x9 1x10" },
    minutes: [8, 12, 18],
  },
  {
    alert: "KubemacpoolDown",
    series: {
      [deployed("a")]: "1x40",
      [deployed("b")]: "1x40",
      [up("kubemacpool-mac-controller-manager")]: "1x4 0x9 1x10",
    },
    minutes: [8, 12, 18],
  },
  {
    alert: "KubemacpoolDown",
    series: { [deployed("a")]: "1x12 0x20", [up("kubemacpool-mac-controller-manager")]: "1x4 0x30" },
    minutes: [8, 12, 18],
  },
  {
    alert: "KubemacpoolMACCollisionDetected",
    series: { [`kmp_mac_collisions{${ours}, mac="02:00:00:00:00:01"}`]: "1x4 2x9 1x10" },
    minutes: [4, 8, 18],
  },
  {
    alert: "KubemacpoolMACSeenElsewhere",
    series: {
      [`kubevirt_macpool_seen_elsewhere{${ours}, pod="a"}`]: "0x4 1x9 0x10",
      [`kubevirt_macpool_seen_elsewhere{${ours}, pod="b"}`]: "0x30",
    },
    minutes: [4, 8, 18],
  },
  {
    alert: "KubemacpoolNearlyFull",
    series: {
      [`kubevirt_macpool_capacity{${ours}, pool="default", pod="a"}`]: "100x30",
      [`kubevirt_macpool_free{${ours}, pool="default", pod="a"}`]: "50x4 9x9 50x20",
      [`kubevirt_macpool_capacity{${ours}, pool="empty", pod="a"}`]: "0x30",
      [`kubevirt_macpool_free{${ours}, pool="empty", pod="a"}`]: "0x30",
    },
    labels: { pool: "default" },
    minutes: [8, 12, 18],
  },
  {
    alert: "NetworkAddonsWebhookFailing",
    series: {
      [`apiserver_admission_webhook_rejection_count{${failure}, rejection_code="500"}`]: "0x4 1+1x10 11x60",
      'apiserver_admission_webhook_rejection_count{name="other", error_type="calling_webhook_error"}': "0+1x70",
    },
    labels: { name: POD_WEBHOOK },
    minutes: [8, 14, 40],
  },
  {
    alert: "NetworkAddonsWebhookFailing",
    series: {
      [`apiserver_admission_webhook_fail_open_count{name="${INJECTION_WEBHOOK}", type="admit"}`]: "0x4 1+1x10 11x60",
    },
    labels: { name: INJECTION_WEBHOOK },
    minutes: [8, 14, 40],
  },
  {
    alert: "KubemacpoolUnavailable",
    series: {
      [`kubevirt_macpool_denials_total{${ours}, reason="MACPOOL_UNAVAILABLE", pod="a"}`]: "0x4 1+1x10 11x60",
      [`kubevirt_macpool_denials_total{${ours}, reason="MACPOOL_FULL", pod="a"}`]: "0+1x70",
    },
    labels: { reason: "MACPOOL_UNAVAILABLE" },
    minutes: [8, 14, 40],
  },
  {
    alert: "NetworkAddonsCertificateExpiring",
    series: {
      [`cert_manager_certificate_not_after_seconds{${ours}, secret="ca"}`]: `${OVERDUE_SECONDS + 600}x19 999999x20`,
    },
    labels: { secret: "ca" },
    minutes: [9, 15, 25],
  },
  {
    alert: "NetworkAddonsCertificateExpiring",
    series: { [`kubevirt_macpool_certificate_not_after_seconds{${ours}, pod="a"}`]: "999999x4 0x14 999999x20" },
    labels: { pod: "a" },
    minutes: [4, 15, 25],
  },
  {
    alert: "LinuxBridgeLeftoversGrowing",
    series: { [`linux_bridge_leftovers{${ours}, instance="192.0.2.1:8444", pod="a"}`]: "0x64 3x120" },
    labels: { instance: "192.0.2.1:8444" },
    minutes: [70, 90, 140],
  },
];

describe.skipIf(lacks("promtool"))("the alerts", () => {
  let directory: string;
  let rulesFile: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "alerts-"));
    rulesFile = join(directory, "rules.yaml");
    await writeFile(rulesFile, stringify({ groups: RULE_GROUPS }));
  });
  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
  });

  it("are rules that Prometheus takes", async () => {
    const said = await mustRun(["promtool", "check", "rules", rulesFile]);
    expect(said).toContain("SUCCESS");
  });

  it("are all played", () => {
    expect([...new Set(STORIES.map(({ alert }) => alert))].sort()).toEqual([...alertNames()].sort());
  });

  it.each(STORIES)("fire and clear: $alert", async ({ alert, series, labels = {}, minutes }) => {
    const found = RULE_GROUPS.flatMap(({ rules }) => rules).find((rule) => rule.alert === alert);
    const bare = RULE_GROUPS.map((group) => ({
      ...group,
      rules: group.rules.map(({ annotations: _, ...rule }) => rule),
    }));
    const file = join(directory, "bare.yaml");
    await writeFile(file, stringify({ groups: bare }));
    const [before, during, after] = minutes;
    const firing = [{ exp_labels: { ...found?.labels, ...labels } }];
    const test = {
      rule_files: [file],
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          alert_rule_test: [
            { eval_time: `${before}m`, alertname: alert, exp_alerts: [] },
            { eval_time: `${during}m`, alertname: alert, exp_alerts: firing },
            { eval_time: `${after}m`, alertname: alert, exp_alerts: [] },
          ],
        },
      ],
    };
    const testFile = join(directory, "test.yaml");
    await writeFile(testFile, stringify(test));
    expect(await mustRun(["promtool", "test", "rules", testFile])).toContain("SUCCESS");
  });
});

describe("an API server that can't call a webhook", () => {
  it("counts that under the names and labels that an alert asks for", async () => {
    const url = `https://127.0.0.1:${await freePort()}/`;
    const webhook = (name: string, failurePolicy: "Fail" | "Ignore") => ({
      name,
      failurePolicy,
      clientConfig: { url },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] }],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    });
    await admin.create(RESOURCES.mutatingWebhookConfigurations, {
      metadata: { name: "unreachable" },
      webhooks: [webhook(INJECTION_WEBHOOK, "Ignore"), webhook(POD_WEBHOOK, "Fail")],
    });
    await eventually("the API server counts", async () => {
      await admin
        .create(RESOURCES.configMaps, { metadata: { namespace: "default", generateName: "a-" } })
        .catch(() => {});
      const lines = String((await admin.raw("GET", "/metrics")).body).split("\n");
      const counted = (metric: string, ...labels: readonly string[]) =>
        lines.some((line) => line.startsWith(`${metric}{`) && labels.every((label) => line.includes(label)));
      return (
        counted("apiserver_admission_webhook_fail_open_count", `name="${INJECTION_WEBHOOK}"`) &&
        counted(
          "apiserver_admission_webhook_rejection_count",
          `name="${POD_WEBHOOK}"`,
          'error_type="calling_webhook_error"',
        )
      );
    });
  });
});
