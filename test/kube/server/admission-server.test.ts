import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type AdmissionRequest, admissionHandler, type Review } from "../../../src/kube/server/admission-server.ts";
import { RouteServer } from "../../../src/kube/server/route-server.ts";

const REQUEST = {
  uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
  kind: { group: "", version: "v1", kind: "Pod" },
  resource: { group: "", version: "v1", resource: "pods" },
  operation: "CREATE",
  namespace: "default",
  object: { metadata: { generateName: "p-" }, spec: { unknownField: 1 } },
  oldObject: null,
  dryRun: true,
  userInfo: { username: "admin", groups: ["system:masters"] },
};

const review = (request: object) =>
  JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request });

let server: RouteServer;
let answer: Review;
let seen: AdmissionRequest | undefined;
let answered: number[];

beforeEach(async () => {
  answer = () => ({ allowed: true });
  seen = undefined;
  answered = [];
  server = new RouteServer({ port: 0, host: "127.0.0.1" });
  server.post(
    "/mutate",
    admissionHandler(
      (request, signal) => {
        seen = request;
        return answer(request, signal);
      },
      (tookMs) => answered.push(tookMs),
    ),
  );
  await server.listen();
});

afterEach(() => server[Symbol.asyncDispose]());

async function post(
  body: string,
  query = "",
): Promise<{ status: number; text: string; response: Record<string, unknown> }> {
  const response = await fetch(`http://127.0.0.1:${server.port}/mutate${query}`, { method: "POST", body });
  const text = await response.text();
  return { status: response.status, text, response: response.ok ? JSON.parse(text).response : {} };
}

describe("a review", () => {
  test("gets the request as it is, with what may be missing filled in", async () => {
    await post(review({ ...REQUEST, dryRun: undefined, oldObject: undefined, userInfo: undefined }));
    expect(seen).toMatchObject({ object: REQUEST.object, name: "", namespace: "default", operation: "CREATE" });
    expect(seen).toMatchObject({ oldObject: null, dryRun: false, userInfo: {} });
    await post(review({ ...REQUEST, namespace: "" }));
    expect(seen).toMatchObject({ namespace: undefined, dryRun: true });
  });

  test("that allows echoes the uid and no patch", async () => {
    const { response } = await post(review(REQUEST));
    expect(response).toEqual({ uid: REQUEST.uid, allowed: true });
  });

  test("that patches answers base64 of the operations", async () => {
    const patch = [{ op: "add" as const, path: "/metadata/annotations/a~1b", value: "ä" }];
    answer = () => ({ allowed: true, patch, warnings: ["first\nline \u001b[2J\u0085end", "x".repeat(300)] });
    const { response } = await post(review(REQUEST));
    expect(response.patchType).toBe("JSONPatch");
    expect(JSON.parse(Buffer.from(response.patch as string, "base64").toString())).toEqual(patch);
    expect(response.warnings).toEqual(["first line [2J end", `${"x".repeat(253)}...`]);
  });

  test("is counted with its time once it is answered, and not where there is no answer", async () => {
    await post(review(REQUEST));
    expect(answered).toEqual([expect.any(Number)]);
    answer = async () => ({ allowed: false, message: "no" });
    await post(review(REQUEST));
    expect(answered).toHaveLength(2);
    await post("no JSON");
    answer = async () => {
      throw new Error("broken");
    };
    await post(review(REQUEST));
    expect(answered).toHaveLength(2);
  });

  test("with an empty patch answers none", async () => {
    answer = () => ({ allowed: true, patch: [] });
    expect((await post(review(REQUEST))).response).toEqual({ uid: REQUEST.uid, allowed: true });
  });

  test("that refuses answers message, code and reason", async () => {
    answer = () => ({ allowed: false, message: "no" });
    expect((await post(review(REQUEST))).response).toEqual({
      uid: REQUEST.uid,
      allowed: false,
      status: { code: 403, reason: "Forbidden", message: "no" },
    });
    answer = () => ({ allowed: false, message: "full", code: 507, reason: "PoolExhausted" });
    expect((await post(review(REQUEST))).response.status).toEqual({
      code: 507,
      reason: "PoolExhausted",
      message: "full",
    });
  });

  test("that throws is a 500, so that the failurePolicy decides", async () => {
    answer = () => {
      throw new Error("bug");
    };
    expect((await post(review(REQUEST))).status).toBe(500);
  });

  test("that takes longer than the API server waits is told to stop and answered 504", async () => {
    let stopped = false;
    answer = (_, signal) => {
      signal.addEventListener("abort", () => {
        stopped = true;
      });
      return new Promise(() => {});
    };
    expect((await post(review(REQUEST), "?timeout=50ms")).status).toBe(504);
    expect(stopped).toBe(true);
  });
});

describe("a body that is not a review is answered 400", () => {
  test.each([
    ["nothing", "", "not JSON"],
    ["not JSON", "{", "not JSON"],
    ["null", "null", "not an AdmissionReview"],
    ["another kind", '{"kind":"Pod","apiVersion":"v1"}', "not an AdmissionReview"],
    ["v1beta1", '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"}', "admission.k8s.io/v1"],
    ["no request", '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "no request"],
    ["no uid", review({ ...REQUEST, uid: undefined }), "request.uid is missing"],
    ["an unknown operation", review({ ...REQUEST, operation: "LOOK" }), 'request.operation "LOOK" is unknown'],
    ["no kind", review({ ...REQUEST, kind: null }), "request.kind is missing"],
    ["an object that is none", review({ ...REQUEST, object: "pod" }), "request.object is not an object"],
  ])("%s", async (_, body, message) => {
    const { status, text } = await post(body);
    expect(status).toBe(400);
    expect(text).toContain(message);
    expect(seen).toBeUndefined();
  });
});
