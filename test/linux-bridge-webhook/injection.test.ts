import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  INJECTED_ANNOTATION,
  NAD_NODE_SELECTOR_ANNOTATION,
  NAD_RESOURCE_NAME_ANNOTATION,
} from "../../src/api/names.ts";
import {
  type Attachment,
  type InjectablePod,
  parseWholeQuantity,
  planInjection,
} from "../../src/linux-bridge-webhook/injection.ts";
import { appliedPatch } from "../support/applied-patch.ts";

const BR1 = "bridge.network.kubevirt.io/br1";
const BR2 = "bridge.network.kubevirt.io/br2";

const nad = (resourceName?: string, nodeSelector?: string): Attachment => ({
  namespace: "default",
  name: "net",
  count: 1,
  annotations: {
    ...(resourceName === undefined ? {} : { [NAD_RESOURCE_NAME_ANNOTATION]: resourceName }),
    ...(nodeSelector === undefined ? {} : { [NAD_NODE_SELECTOR_ANNOTATION]: nodeSelector }),
  },
});

/** A pod that asks for networks has annotations. */
const inject = (pod: InjectablePod, ...attachments: Attachment[]): InjectablePod => {
  const annotated = { metadata: { annotations: {} }, ...pod };
  return appliedPatch(annotated, planInjection(annotated, attachments).patch);
};

/** What network-resources-injector does with -honor-resources: it adds to what it finds on the first container. */
const honoring = (pod: InjectablePod, resource: string, count: number): InjectablePod => {
  const [first, ...others] = pod.spec?.containers ?? [];
  const add = (amounts: Readonly<Record<string, unknown>> | null | undefined) => ({
    ...amounts,
    [resource]: String((parseWholeQuantity(amounts?.[resource] ?? 0) ?? 0) + count),
  });
  const { requests, limits } = first?.resources ?? {};
  const resources = { requests: add(requests), limits: add(limits) };
  return { ...pod, spec: { ...pod.spec, containers: [{ ...first, resources }, ...others] } };
};

describe("resource injection", () => {
  it("puts one of the NAD's resource on requests and limits of the first container", () => {
    const pod = { spec: { containers: [{}, {}] } };
    expect(planInjection(pod, [nad(BR1)])).toEqual({
      patch: [
        {
          op: "add",
          path: "/spec/containers/0/resources",
          value: { requests: { [BR1]: "1" }, limits: { [BR1]: "1" } },
        },
        {
          op: "add",
          path: "/metadata/annotations/linux-bridge.network.kubevirt.io~1injected",
          value: `{"${BR1}":{"from":0,"to":1}}`,
        },
      ],
      warnings: [],
    });
  });

  it("counts attachments per resource and leaves what is there alone", () => {
    const pod = { spec: { containers: [{ resources: { requests: { cpu: "100m" } } }] } };
    expect(inject(pod, nad(BR1), nad(BR2), nad(BR1)).spec?.containers?.[0]?.resources).toEqual({
      requests: { cpu: "100m", [BR1]: "2", [BR2]: "1" },
      limits: { [BR1]: "2", [BR2]: "1" },
    });
  });

  it("keeps an amount that is already there and larger, and raises one that is smaller", () => {
    const asking = (amount: string) => ({
      spec: { containers: [{ resources: { requests: { [BR1]: amount }, limits: { [BR1]: amount } } }] },
    });
    expect(planInjection(asking("3"), [nad(BR1)]).patch).toEqual([]);
    expect(inject(asking("1"), nad(BR1), nad(BR1))).toMatchObject(asking("2"));
  });

  it("never counts twice what another injector put on another container", () => {
    const amounts = { [BR1]: "1" };
    const pod = { spec: { containers: [{}, { resources: { requests: amounts, limits: amounts } }] } };
    expect(planInjection(pod, [nad(BR1)]).patch).toEqual([]);
  });

  it("counts what a sidecar among the init containers asks for, and no other init container", () => {
    const asking = (restartPolicy?: string) => {
      const resources = { requests: { [BR1]: "1" }, limits: { [BR1]: "1" } };
      const init = restartPolicy === undefined ? { resources } : { resources, restartPolicy };
      return { spec: { containers: [{}], initContainers: [init] } };
    };
    expect(planInjection(asking("Always"), [nad(BR1)]).patch).toEqual([]);
    expect(inject(asking(), nad(BR1)).spec?.containers?.[0]?.resources?.requests).toEqual({ [BR1]: "1" });
  });

  it.each([
    { own: 0, attachments: 1, amount: 1 },
    { own: 0, attachments: 2, amount: 2 },
    { own: 1, attachments: 1, amount: 2 },
    { own: 3, attachments: 2, amount: 5 },
  ])(
    "beside an injector that adds to what it finds, $attachments attachments and $own of the pod's own are $amount in both orders",
    ({ own, attachments, amount }) => {
      const amounts = own === 0 ? {} : { [BR1]: String(own) };
      const pod = { spec: { containers: [{ resources: { requests: amounts, limits: amounts } }] } };
      const nads = Array.from({ length: attachments }, () => nad(BR1));
      const theirsFirst = inject(honoring(pod, BR1, attachments), ...nads);
      const oursFirst = inject(honoring(inject(pod, ...nads), BR1, attachments), ...nads);
      const asked = { requests: { [BR1]: String(amount) }, limits: { [BR1]: String(amount) } };
      expect(theirsFirst.spec?.containers?.[0]?.resources).toEqual(asked);
      // Where the pod's own amount was enough, nothing was injected, and the other one's addition stays.
      expect(oursFirst.spec?.containers?.[0]?.resources).toEqual(asked);
      expect(inject(oursFirst, ...nads)).toEqual(oursFirst);
    },
  );

  it.each(["", "{", "null", "7", '{"a":1}', `{"${BR1}":{"from":-1,"to":0}}`, `{"${BR1}":{"from":9,"to":0.5}}`])(
    "takes the record %j of a stranger for none",
    (record) => {
      const pod = { metadata: { annotations: { [INJECTED_ANNOTATION]: record } }, spec: { containers: [{}] } };
      expect(inject(pod, nad(BR1)).spec?.containers?.[0]?.resources?.requests).toEqual({ [BR1]: "1" });
    },
  );

  it("never requests less than the networks need, whatever the record says", () => {
    const amount = fc.integer({ min: 0, max: 5 });
    fc.assert(
      fc.property(amount, amount, amount, fc.integer({ min: 1, max: 3 }), (from, to, here, count) => {
        const amounts = { [BR1]: String(here) };
        const pod = {
          metadata: { annotations: { [INJECTED_ANNOTATION]: JSON.stringify({ [BR1]: { from, to } }) } },
          spec: { containers: [{ resources: { requests: amounts, limits: amounts } }] },
        };
        const asked = inject(pod, { ...nad(BR1), count }).spec?.containers?.[0]?.resources?.requests?.[BR1];
        expect(parseWholeQuantity(asked)).toBeGreaterThanOrEqual(count);
      }),
    );
  });

  it("completes a request without a limit, because extended resources need both to be equal", () => {
    const pod = { spec: { containers: [{ resources: { requests: { [BR1]: "1" } } }] } };
    expect(inject(pod, nad(BR1)).spec?.containers?.[0]?.resources?.limits).toEqual({ [BR1]: "1" });
  });

  it("does nothing for a NAD without annotations and for a pod without containers", () => {
    expect(planInjection({ spec: { containers: [{}] } }, [nad()])).toEqual({ patch: [], warnings: [] });
    expect(planInjection({}, [nad(BR1)])).toEqual({ patch: [], warnings: [] });
  });

  it("warns about a resource name that the API server would refuse, instead of breaking the pod", () => {
    const plan = planInjection({ spec: { containers: [{}] } }, [nad("br1")]);
    expect(plan.patch).toEqual([]);
    expect(plan.warnings).toEqual([
      expect.stringContaining('default/net: annotation k8s.v1.cni.cncf.io/resourceName is "br1"'),
    ]);
  });

  it.each([
    "a..b/c",
    "-a/b",
    "A/b",
    "a/b/c",
    "a/",
    "/b",
    "requests.a/b",
    "kubernetes.io/b",
    "x.kubernetes.io/b",
    `a/${"b".repeat(64)}`,
    `${"a.".repeat(123)}a/b`,
    "cpu",
  ])("does not put the resource %s on a pod", (resource) => {
    const plan = planInjection({ spec: { containers: [{}] } }, [nad(resource)]);
    expect(plan.patch).toEqual([]);
    expect(plan.warnings).toEqual([expect.stringContaining("is not a resource name")]);
  });

  it("repeats of a long name only its beginning", () => {
    const [warning = ""] = planInjection({ spec: { containers: [{}] } }, [nad("x".repeat(100_000))]).warnings;
    expect(warning.length).toBeLessThan(400);
  });

  it("leaves an amount alone that is no whole number, and says so", () => {
    const pod = { spec: { containers: [{ resources: { requests: { [BR1]: "500m" } } }] } };
    const plan = planInjection(pod, [nad(BR1)]);
    expect(plan.patch).toEqual([]);
    expect(plan.warnings).toEqual([expect.stringContaining("not a whole number")]);
  });

  it("adds the NAD's nodeSelector, as key=value or as a bare key", () => {
    expect(inject({ spec: {} }, nad(undefined, "example.com/rack=a")).spec?.nodeSelector).toEqual({
      "example.com/rack": "a",
    });
    expect(
      inject({ spec: { nodeSelector: { disk: "ssd" } } }, nad(undefined, "example.com/net")).spec?.nodeSelector,
    ).toEqual({
      disk: "ssd",
      "example.com/net": "",
    });
  });

  it("keeps the pod's own node selector and warns about the contradiction", () => {
    const plan = planInjection({ spec: { nodeSelector: { rack: "b" } } }, [nad(undefined, "rack=a")]);
    expect(plan.patch).toEqual([]);
    expect(plan.warnings).toEqual([expect.stringContaining("rack=a, but the pod is already bound to rack=b")]);
  });

  it.each(["constructor", "toString", "valueOf"])("adds a label %s to a pod with another one", (label) => {
    const spec = { nodeSelector: { disk: "ssd" } };
    expect(planInjection({ spec }, [nad(undefined, `${label}=a`)])).toEqual({
      patch: [{ op: "add", path: `/spec/nodeSelector/${label}`, value: "a" }],
      warnings: [],
    });
  });

  it("ignores a node selector that is no label and says so", () => {
    const plan = planInjection({ spec: {} }, [nad(undefined, "not a label")]);
    expect(plan.patch).toEqual([]);
    expect(plan.warnings).toHaveLength(1);
  });

  it("changes nothing when it is applied to its own result", () => {
    const amount = fc.option(fc.integer({ min: 0, max: 4 }).map(String), { nil: undefined });
    const amounts = fc.option(fc.record({ [BR1]: amount, [BR2]: amount, cpu: fc.constant("1") }), { nil: undefined });
    const container = fc.record({
      resources: fc.option(fc.record({ requests: amounts, limits: amounts }), { nil: undefined }),
    });
    const pods = fc.record({ spec: fc.record({ containers: fc.array(container, { minLength: 1, maxLength: 3 }) }) });
    const nads = fc.array(fc.constantFrom(nad(BR1), nad(BR2), nad(BR1, "rack=a"), nad(undefined, "zone")));
    fc.assert(
      fc.property(pods, nads, (generated, attachments) => {
        const pod = JSON.parse(JSON.stringify(generated)) as InjectablePod;
        const once = inject(pod, ...attachments);
        expect(planInjection(once, attachments).patch).toEqual([]);
        for (const resource of [BR1, BR2]) {
          const total = (once.spec?.containers ?? []).reduce(
            (sum, { resources }) =>
              sum +
              Math.max(
                parseWholeQuantity(resources?.requests?.[resource] ?? 0) ?? 0,
                parseWholeQuantity(resources?.limits?.[resource] ?? 0) ?? 0,
              ),
            0,
          );
          const asked = attachments.filter(({ annotations }) => annotations[NAD_RESOURCE_NAME_ANNOTATION] === resource);
          expect(total).toBeGreaterThanOrEqual(asked.length);
        }
      }),
    );
  });
});

describe("a whole quantity", () => {
  it.each([
    ["1", 1],
    ["1k", 1000],
    ["2Ki", 2048],
    [7, 7],
    ["0", 0],
  ])("reads %s", (text, value) => {
    expect(parseWholeQuantity(text)).toBe(value);
  });

  it.each(["500m", "1.5", "-1", "", "1e3", undefined])("refuses %s", (text) => {
    expect(parseWholeQuantity(text)).toBeUndefined();
  });
});
