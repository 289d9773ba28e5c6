import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_IMAGE, IMAGE_NODE } from "../../src/api/image.ts";
import { forwardPort } from "../../src/kube/client/port-forward.ts";
import { credentialsFromKubeconfig } from "../../src/kube/credentials/credentials.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { outputOf } from "./command.ts";
import * as product from "./product.ts";
import { type TestPod, testPod } from "./test-pods.ts";

describe("a cluster on this machine", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ nodes: [{ name: "node-a", bridges: ["br1"] }, { name: "node-b" }] });
    console.log(`cluster: ${JSON.stringify(cluster.timings)}`);
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const kubectl = (...args: readonly string[]) => product.kubectl(cluster, ...args);
  const apply = (...objects: readonly object[]) => product.apply(cluster, ...objects);
  const ready = (name: string): Promise<string> =>
    kubectl("wait", "--for=condition=Ready", "--timeout=20s", `pod/${name}`);
  const run = async (pod: TestPod): Promise<void> => {
    await apply(testPod(pod));
    await ready(pod.name);
  };
  const field = (pod: string, path: string): Promise<string> => kubectl("get", "pod", pod, "-o", `jsonpath={${path}}`);
  const inPod = async (pod: string, shell: string): Promise<string> => {
    return outputOf(shell, await cluster.execInPod("default", pod, ["sh", "-c", shell])).trim();
  };

  it("schedules pods onto nodes that have only their own bridges", async () => {
    await run({ name: "scheduled" });
    expect(["node-a", "node-b"]).toContain(await field("scheduled", ".spec.nodeName"));
    const bridges = (node: string) => cluster.exec(node, ["ip", "-json", "link", "show", "type", "bridge"]);
    expect(JSON.parse((await bridges("node-a")).stdout).map((link: { ifname: string }) => link.ifname)).toEqual([
      "br1",
    ]);
    expect((await bridges("node-b")).stdout.trim()).toMatch(/^(\[\])?$/);
  });

  it("gives containers their environment, files and identity", async () => {
    await apply(
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings" }, data: { colour: "blue", file: "text" } },
      { apiVersion: "v1", kind: "Secret", metadata: { name: "hidden" }, stringData: { word: "hush" } },
    );
    await run({
      name: "inputs",
      labels: { app: "inputs" },
      shell: 'echo "$BOTH/$WORD/$APP/$IP"',
      container: {
        env: [
          { name: "COLOUR", valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } } },
          { name: "BOTH", value: "$(COLOUR)-$$(COLOUR)" },
          { name: "WORD", valueFrom: { secretKeyRef: { name: "hidden", key: "word" } } },
          { name: "APP", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
          { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
        ],
        volumeMounts: [
          { name: "settings", mountPath: "/etc/settings", readOnly: true },
          { name: "hidden", mountPath: "/etc/hidden/one", subPath: "word" },
          { name: "shared", mountPath: "/shared" },
        ],
      },
      spec: {
        initContainers: [
          {
            name: "before",
            image: "localhost/guest:dev",
            command: ["sh", "-c", "echo from-init > /shared/note"],
            volumeMounts: [{ name: "shared", mountPath: "/shared" }],
          },
        ],
        volumes: [
          { name: "settings", configMap: { name: "settings", items: [{ key: "file", path: "sub/file.txt" }] } },
          { name: "hidden", secret: { secretName: "hidden" } },
          { name: "shared", emptyDir: {} },
        ],
      },
    });
    expect(await kubectl("logs", "inputs")).toBe(
      `blue-$(COLOUR)/hush/inputs/${await field("inputs", ".status.podIP")}`,
    );
    expect(await inPod("inputs", "cat /etc/settings/sub/file.txt /etc/hidden/one /shared/note")).toBe(
      "texthushfrom-init",
    );
    await expect(inPod("inputs", "touch /etc/settings/x")).rejects.toThrow("Read-only file system");
    const account = "/var/run/secrets/kubernetes.io/serviceaccount";
    expect(await inPod("inputs", `cat ${account}/namespace; grep -c BEGIN ${account}/ca.crt`)).toBe("default1");
    const [, claims = ""] = (await inPod("inputs", `cat ${account}/token`)).split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())["kubernetes.io"].pod.name).toBe("inputs");
  });

  it("lets a pod call the API with its service account's rights", async () => {
    const call = `
      const { readFileSync } = require("fs"), dir = "/var/run/secrets/kubernetes.io/serviceaccount/";
      const headers = { authorization: "Bearer " + readFileSync(dir + "token") };
      const options = { host: process.env.KUBERNETES_SERVICE_HOST, ca: readFileSync(dir + "ca.crt"), headers, agent: false };
      for (const path of ["/version", "/api/v1/secrets"]) {
        require("https").get({ ...options, path }, (answer) => {
          console.log(path, answer.statusCode);
          answer.resume();
        });
      }`;
    const container = { image: DEFAULT_IMAGE, command: [IMAGE_NODE], args: ["-e", call] };
    await apply(testPod({ name: "caller", container, spec: { restartPolicy: "Never" } }));
    await expect.poll(() => field("caller", ".status.phase")).toBe("Succeeded");
    expect((await kubectl("logs", "caller")).split("\n").sort()).toEqual(["/api/v1/secrets 403", "/version 200"]);
  });

  it("forwards a port of a pod by the API server, both ways and in order", async () => {
    const echo =
      'require("node:net").createServer((socket) => socket.pipe(socket)).listen(7000, () => console.log("ready"))';
    await apply(
      testPod({ name: "echo", container: { image: DEFAULT_IMAGE, command: [IMAGE_NODE], args: ["-e", echo] } }),
    );
    await expect.poll(() => kubectl("logs", "echo")).toBe("ready");
    const credentials = await credentialsFromKubeconfig(cluster.kubeconfig);
    const target = { namespace: "default", pod: "echo", port: 7000 };
    const connection = await forwardPort(credentials, target);
    const sent = randomBytes(4 * 1024 * 1024);
    connection.write(sent);
    const received: Buffer[] = [];
    for await (const chunk of connection as AsyncIterable<Buffer>) {
      received.push(chunk);
      if (Buffer.concat(received).length >= sent.length) break;
    }
    expect(Buffer.concat(received).equals(sent)).toBe(true);

    const closed = await forwardPort(credentials, { ...target, port: 8000 });
    await expect(once(closed.resume(), "end")).rejects.toThrow("ECONNREFUSED");
    const stranger = await credentialsFromKubeconfig(await cluster.userKubeconfig("stranger"));
    await expect(forwardPort(stranger, target)).rejects.toMatchObject({ status: 403 });
    await expect(forwardPort(credentials, { ...target, pod: "nobody" })).rejects.toMatchObject({ status: 404 });
    const away = AbortSignal.abort(new Error("enough"));
    await expect(forwardPort(credentials, target, away)).rejects.toThrow("enough");
  });

  it("confines a container as its security context says", async () => {
    await run({
      name: "confined",
      container: {
        securityContext: {
          runAsUser: 65532,
          runAsNonRoot: true,
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ["ALL"] },
        },
      },
    });
    expect(await kubectl("get", "pod", "confined", "-o", "jsonpath={.status.containerStatuses[0].started}")).toBe(
      "true",
    );
    expect(
      await inPod(
        "confined",
        "sed -n 's/^Uid:\\t[0-9]*\\t\\([0-9]*\\).*/\\1/p; s/^CapEff:\\t//p; s/^NoNewPrivs:\\t//p' /proc/1/status",
      ),
    ).toMatch(/0{16}\n1$/);
    await expect(inPod("confined", "touch /file")).rejects.toThrow("Read-only file system");

    await run({
      name: "admin",
      node: "node-b",
      shell: "ip link add made0 type bridge && echo done",
      container: { securityContext: { capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } } },
    });
    await expect.poll(() => kubectl("logs", "admin")).toBe("done");

    await apply(testPod({ name: "refused", container: { securityContext: { runAsNonRoot: true } } }));
    const reason = () => field("refused", ".status.containerStatuses[0].state.waiting.message");
    await expect.poll(reason).toContain("runAsNonRoot");
  });

  it("shows host network, host paths and namespaces of the pod's own node", async () => {
    await run({
      name: "host",
      node: "node-a",
      container: {
        volumeMounts: [
          { name: "cni", mountPath: "/host/cni" },
          { name: "netns", mountPath: "/run/netns", mountPropagation: "HostToContainer" },
        ],
      },
      spec: {
        hostNetwork: true,
        volumes: [
          { name: "cni", hostPath: { path: "/opt/cni/bin" } },
          { name: "netns", hostPath: { path: "/run/netns" } },
        ],
      },
    });
    expect(await field("host", ".status.podIP")).toBe(await field("host", ".status.hostIP"));
    expect(await inPod("host", "ip -br link show br1 | cut -d' ' -f1; echo x > /host/cni/made; hostname")).toBe(
      "br1\nnode-a",
    );
    expect((await cluster.exec("node-a", ["ls", "/opt/cni/bin"])).stdout.trim()).toBe("made");
    expect((await cluster.exec("node-b", ["ls", "/opt/cni/bin"])).stdout.trim()).toBe("");
    await run({ name: "later", node: "node-a" });
    const namespaces = await inPod("host", "for n in /run/netns/*; do nsenter --net=$n ip -4 -br addr show eth0; done");
    expect(namespaces).toContain(await field("later", ".status.podIP"));
  });

  it("probes containers, and puts the ready ones behind Services", async () => {
    const serve = "require('http').createServer((q, s) => s.end('served')).listen(8080)";
    await apply(
      testPod({
        name: "web",
        node: "node-b",
        labels: { app: "web" },
        container: {
          image: DEFAULT_IMAGE,
          args: ["-e", `setTimeout(() => ${serve}, 300)`],
          ports: [{ name: "http", containerPort: 8080 }],
          readinessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 1 },
          livenessProbe: { tcpSocket: { port: 8080 }, initialDelaySeconds: 3 },
        },
      }),
      {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "web" },
        spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }] },
      },
    );
    await ready("web");
    const proxied = "/api/v1/namespaces/default/services/web/proxy/";
    await expect.poll(() => kubectl("get", "--raw", proxied)).toBe("served");
  });

  it("starts failing containers again and keeps the log of the one before", async () => {
    await apply(
      testPod({ name: "failing", container: { command: ["sh", "-c", "echo I ran; exit 3"] } }),
      testPod({ name: "imageless", container: { image: "registry.example/other:1" } }),
    );
    const restarts = async () => Number(await field("failing", ".status.containerStatuses[0].restartCount"));
    await expect.poll(restarts).toBeGreaterThan(1);
    const exitCode = () => field("failing", ".status.containerStatuses[0].lastState.terminated.exitCode");
    await expect.poll(exitCode).toBe("3");
    await expect.poll(() => kubectl("logs", "failing", "--previous")).toBe("I ran");
    expect(await field("imageless", ".status.containerStatuses[0].state.waiting.reason")).toBe("ErrImagePull");
  });

  it("restarts a container whose liveness probe fails", async () => {
    const livenessProbe = { exec: { command: ["test", "!", "-e", "/sick"] }, periodSeconds: 1, failureThreshold: 1 };
    await run({ name: "mortal", container: { livenessProbe } });
    await inPod("mortal", "touch /sick");
    await expect.poll(() => field("mortal", ".status.containerStatuses[0].restartCount")).toBe("1");
    await ready("mortal");
  });

  it("ends pods by SIGTERM, gives them their grace period and leaves nothing on the node", async () => {
    const goodbye = `
      setInterval(() => {}, 1e9);
      process.on("SIGTERM", () => { console.log("goodbye"); process.exit(); });
      console.log("hello");`;
    await run({ name: "polite", node: "node-b", container: { image: DEFAULT_IMAGE, args: ["-e", goodbye] } });
    const log = spawn(cluster.kubectlPath, ["--kubeconfig", cluster.kubeconfig, "logs", "--follow", "polite"]);
    const lines = createInterface({ input: log.stdout })[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe("hello");
    await kubectl("delete", "pod", "polite");
    expect((await lines.next()).value).toBe("goodbye");
    expect((await lines.next()).done).toBe(true);
    await kubectl("delete", "pods", "--all", "--grace-period=1");
    const left = "ls /run/netns /var/lib/process-node/pods; ip -br link show type veth | grep pod";
    const listed = async () => (await cluster.exec("node-b", ["sh", "-c", left])).stdout.trim();
    await expect.poll(listed).toBe("/run/netns:\n\n/var/lib/process-node/pods:");
  });

  it("notices a node that is switched off, and takes it back", async () => {
    await run({ name: "survivor", node: "node-b" });
    await cluster.powerOff("node-b");
    await kubectl("wait", "--for=condition=Ready=Unknown", "--timeout=20s", "node/node-b");
    await cluster.powerOn("node-b");
    await kubectl("wait", "--for=condition=Ready", "--timeout=20s", "node/node-b");
    await expect.poll(() => field("survivor", ".status.containerStatuses[0].restartCount")).toBe("1");
    await ready("survivor");
  });

  it("goes on after its API server was killed", async () => {
    await cluster.restartApiServer();
    await run({ name: "after-restart" });
  });
});
