import { expect, test } from "vitest";
import { withWebhookAdvice } from "../../../src/operator/apply/applier.ts";

const ROLE = { kind: "ClusterRole", metadata: { name: "marker" } };
const DAEMON_SET = { kind: "DaemonSet", metadata: { name: "marker", namespace: "addons" } };

test("who refused an object, or did not answer, is named with what to do", () => {
  expect(withWebhookAdvice('admission webhook "a.example.com" denied the request: no.', DAEMON_SET)).toBe(
    'admission webhook "a.example.com" denied the request: no. Change or delete webhook a.example.com, or exempt namespace addons',
  );
  expect(withWebhookAdvice('Internal error occurred: failed calling webhook "b.example.com": timeout', ROLE)).toBe(
    'Internal error occurred: failed calling webhook "b.example.com": timeout. ' +
      "Change or delete webhook b.example.com, or exempt ClusterRole marker",
  );
});

test("other refusals are left as they are", () => {
  expect(withWebhookAdvice("exceeded quota: one.", DAEMON_SET)).toBe("exceeded quota: one.");
});
