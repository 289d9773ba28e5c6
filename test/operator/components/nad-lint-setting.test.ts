import { expect, it } from "vitest";
import { NAD_LINTS, type NadLint, readNadLint } from "../../../src/api/nad-lint-setting.ts";
import type { Deployment } from "../../../src/kube/client/built-in-kinds.ts";
import { NOTHING_DEPLOYED } from "../../../src/operator/components/component.ts";
import { linuxBridgeWebhookObjects } from "../../../src/operator/components/linux-bridge-webhook.ts";
import { effectiveSpec } from "../../../src/operator/config/effective-spec.ts";
import { DEFAULT_SETTINGS } from "../../../src/operator/config/settings.ts";
import { validateSpec } from "../../../src/operator/config/validation.ts";
import type { Rule } from "../../../src/operator/manifests/rbac.ts";
import { EVERY_FACT } from "../../../src/operator/watch/facts.ts";

function rendered(nadLint?: NadLint) {
  const before = { spec: undefined, poolRange: undefined };
  const linuxBridge = nadLint === undefined ? {} : { nadLint };
  const spec = effectiveSpec({ linuxBridge }, before, () => 0);
  const input = { spec, facts: EVERY_FACT, settings: DEFAULT_SETTINGS, deployed: NOTHING_DEPLOYED };
  const objects = linuxBridgeWebhookObjects(input);
  const [container] =
    (objects.find(({ kind }) => kind === "Deployment") as Deployment).spec?.template.spec?.containers ?? [];
  const role = objects.find(({ kind }) => kind === "ClusterRole") as unknown as { readonly rules: readonly Rule[] };
  return {
    process: readNadLint(Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]))),
    isAsked: objects.some(({ kind }) => kind === "ValidatingWebhookConfiguration"),
    reads: role.rules.flatMap(({ resources }) => resources.filter((one) => ["nodes", "nodemacs"].includes(one))),
  };
}

it("the process, the API server and the rights follow the mode of the lint, which is Warn unless set", () => {
  expect(rendered()).toEqual({ process: "Warn", isAsked: true, reads: ["nodes", "nodemacs"] });
  expect(rendered("Enforce")).toEqual({ process: "Enforce", isAsked: true, reads: ["nodes", "nodemacs"] });
  expect(rendered("Off")).toEqual({ process: "Off", isAsked: false, reads: [] });
});

it("another mode is refused with the modes that there are", () => {
  for (const nadLint of NAD_LINTS) expect(validateSpec({ linuxBridge: { nadLint } }, EVERY_FACT)).toEqual([]);
  const [error] = validateSpec({ linuxBridge: { nadLint: "enforce" } }, EVERY_FACT);
  expect(error).toBe('spec.linuxBridge.nadLint: Invalid option: expected one of "Warn"|"Enforce"|"Off"');
});
