import { describe, expect, it } from "vitest";
import { readInjectionSettings } from "../../../src/api/injection-settings.ts";
import type { NetworkAddonsConfigSpec } from "../../../src/api/network-addons-config.ts";
import type { Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import { NOTHING_DEPLOYED } from "../../../src/operator/components/component.ts";
import { linuxBridgeWebhookObjects } from "../../../src/operator/components/linux-bridge-webhook.ts";
import { effectiveSpec } from "../../../src/operator/config/effective-spec.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { EVERY_FACT } from "../../../src/operator/watch/facts.ts";

/** What the webhook's process reads from the environment that is rendered for it. */
function settingsFor(linuxBridge: NonNullable<NetworkAddonsConfigSpec["linuxBridge"]>, openShift = false) {
  const before = { spec: undefined, poolRange: undefined };
  const spec = effectiveSpec({ linuxBridge }, before, () => 0);
  const facts = { ...EVERY_FACT, openShift };
  const objects = linuxBridgeWebhookObjects({ spec, facts, settings: DEFAULT_SETTINGS, deployed: NOTHING_DEPLOYED });
  const deployment = objects.find(({ kind }) => kind === "Deployment") as Deployment | undefined;
  const variables = deployment?.spec?.template.spec?.containers[0]?.env ?? [];
  return readInjectionSettings(Object.fromEntries(variables.map(({ name, value }) => [name, value])));
}

describe("the settings of the injection", () => {
  it.each([
    [{}, false, { unusableNetworks: "Deny", globalNamespaces: undefined }],
    [{ unusableNetworks: "Warn" }, false, { unusableNetworks: "Warn", globalNamespaces: undefined }],
    [{ globalNamespaces: ["a"] }, false, { unusableNetworks: "Deny", globalNamespaces: undefined }],
    [{ namespaceIsolation: true }, false, { unusableNetworks: "Deny", globalNamespaces: ["default"] }],
    [{ namespaceIsolation: true, globalNamespaces: [] }, false, { unusableNetworks: "Deny", globalNamespaces: [] }],
    [
      { namespaceIsolation: true, globalNamespaces: ["a", "b"] },
      false,
      { unusableNetworks: "Deny", globalNamespaces: ["a", "b"] },
    ],
    [
      {},
      true,
      {
        unusableNetworks: "Deny",
        globalNamespaces: ["default", "openshift-multus", "openshift-sriov-network-operator", "openshift-cnv"],
      },
    ],
    [{ namespaceIsolation: false }, true, { unusableNetworks: "Deny", globalNamespaces: undefined }],
  ] as const)("of %j reach the process (on OpenShift: %s)", (linuxBridge, openShift, expected) => {
    const asked = JSON.parse(JSON.stringify(linuxBridge));
    expect(settingsFor(asked, openShift)).toEqual(expected);
  });
});
