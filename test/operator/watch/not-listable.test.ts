import { describe, expect, it } from "vitest";
import { RESOURCES } from "../../../src/kube/client/resource.ts";
import { notListableText } from "../../../src/operator/watch/not-listable.ts";

const CERTIFICATES = { group: "cert-manager.io", version: "v1", plural: "certificates", kind: "Certificate" } as const;

describe("what is said of a kind that the API server does not list", () => {
  it("tells of a lost right how to get it back", () => {
    const fault = 'certificates.cert-manager.io is forbidden: User "op" cannot list resource "certificates"';
    expect(notListableText(CERTIFICATES as never, fault)).toBe(
      `the API server does not list certificates.cert-manager.io: ${fault}. ` +
        "Give the operator its right back: apply its release again",
    );
  });

  it("tells of any other answer where to look", () => {
    expect(notListableText(CERTIFICATES as never, "service unavailable.")).toBe(
      "the API server does not list certificates.cert-manager.io: service unavailable. " +
        "Look for a broken API service with kubectl get apiservice v1.cert-manager.io, " +
        "and for a broken conversion webhook in kubectl get crd certificates.cert-manager.io -o yaml",
    );
    expect(notListableText(RESOURCES.pods)).toBe("the API server does not list pods: it does not answer");
  });
});
