/**
 * A process node: kubelet and container runtime in one, with pods as local processes. It registers a real Node with a
 * node's rights, and everything it does goes through the API as a kubelet's work does. It runs inside its node's network,
 * mount and PID namespaces, so pods on the host network, CNI plugins and probes are in the right place by themselves.
 *
 * It supports commands, args and env (value, fieldRef, configMapKeyRef, secretKeyRef, envFrom); init containers;
 * volumes (configMap, secret, emptyDir, hostPath, downwardAPI, projected with tokens that are renewed) with readOnly,
 * subPath and HostToContainer; sidecars; a network namespace and address for each pod, hostNetwork; attachments by multus' stand-in;
 * probes (httpGet, tcpSocket, exec); restarts with back-off; graceful termination; readOnlyRootFilesystem, dropped
 * capabilities, runAsUser; `kubectl logs`; NetworkPolicies for TCP and UDP, enforced in its network by the cluster where there
 * is nft (test/cluster/network-policy).
 *
 * It does not support images (see images.ts; the machine's /usr stands in for their content), resource limits,
 * lifecycle hooks, updates of mounted ConfigMaps and Secrets, kubectl exec and
 * port-forward (use Cluster.execInPod), Services other than `kubernetes` and DNS, mountPropagation Bidirectional,
 * other users' file permissions (container-script.ts), seccomp, static pods.
 */
import { EventRecorder } from "../../../src/kube/events/event-recorder.ts";
import { serveCalls } from "../channel.ts";
import { runCommand } from "../command.ts";
import { Multus } from "../multus/multus.ts";
import { plainEnv } from "../requirements.ts";
import { enterContainer } from "./enter-container.ts";
import { mirrorExtendedResources } from "./extended-resources.ts";
import { startKubeletServer } from "./kubelet-server.ts";
import { clientOf } from "./node-client.ts";
import type { NodeConfig, NodeMethods } from "./node-config.ts";
import { NodeRegistration } from "./node-registration.ts";
import { PodNetworks } from "./pod-network.ts";
import { Pods } from "./pods.ts";

const log = (line: string): void => console.log(`${new Date().toISOString()} ${line}`);

let pods: Pods | undefined;

async function start(config: NodeConfig): Promise<void> {
  const forever = new AbortController().signal;
  const { name } = config.plan;
  const client = clientOf(config);
  const registration = new NodeRegistration(client, config.plan, log);
  pods = new Pods({
    config,
    client,
    networks: new PodNetworks(config.plan),
    multus: new Multus(config, log),
    events: new EventRecorder({ client, controller: "kubelet", instance: name }),
    log,
  });
  await startKubeletServer(config, pods);
  const follow = pods;
  void registration.registered.then(() => follow.run(forever));
  void registration.registered.then(() => mirrorExtendedResources(client, name, forever));
  void registration.run(forever);
}

serveCalls<NodeMethods>({
  start,
  exec: ({ argv, stdin }) => runCommand(argv, { env: plainEnv(), ...(stdin === undefined ? {} : { stdin }) }),
  execInPod: async ({ namespace, pod: name, container, argv, stdin }) => {
    const pid = pods?.find(namespace, name)?.container(container)?.pid;
    if (pid === undefined) throw new Error(`No running container ${container ?? ""} of pod ${namespace}/${name} here`);
    const options = { env: plainEnv(), ...(stdin === undefined ? {} : { stdin }) };
    return await runCommand(enterContainer(pid, argv), options);
  },
});
