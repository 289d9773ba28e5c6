/** Small pods for tests of the cluster itself. */
import { GUEST_IMAGE } from "./process-node/images.ts";

export interface TestPod {
  readonly name: string;
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Shell text of the container `main`; waits for its end by default. */
  readonly shell?: string;
  /** More fields of the container. */
  readonly container?: object;
  /** More fields of the pod's spec. */
  readonly spec?: object;
}

/** A pod of the guest image in the namespace `default`. */
export const testPod = ({ name, node, labels, annotations, shell, container, spec }: TestPod): object => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default", labels, annotations },
  spec: {
    nodeName: node,
    terminationGracePeriodSeconds: 5,
    containers: [
      {
        name: "main",
        image: GUEST_IMAGE,
        ...(shell === undefined ? {} : { command: ["sh", "-c", `${shell}\nsleep infinity`] }),
        ...container,
      },
    ],
    ...spec,
  },
});

/** For `kubectl apply -f -`. */
export const manifest = (...objects: readonly object[]): string =>
  objects.map((object) => JSON.stringify(object)).join("\n---\n");
