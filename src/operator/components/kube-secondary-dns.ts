/** kubeSecondaryDNS: a name server for the secondary interfaces of VMs. One program writes zones, CoreDNS serves them. */

import type { KubeObject } from "../../kube/client/resource.ts";
import { identityObjects, READ, rule } from "../manifests/rbac.ts";
import { env } from "../manifests/workload.ts";
import type { Component, RenderInput } from "./component.ts";
import { externalContainer, externalDeployment, UNPRIVILEGED } from "./external-component.ts";

export const SECONDARY_DNS = "secondary-dns";
const ACCOUNT = "secondary";
export const SECONDARY_DNS_LABELS = { "k8s-app": SECONDARY_DNS };
export const DNS_PORT = 5353;
const DNS_HEALTH_PORT = 8082;
const DNS_READY_PORT = 8083;
const MONITOR_HEALTH_PORT = 8081;
const ZONES = "/zones";
const USER = 1000;

const COREFILE = `.:${DNS_PORT} {
    auto {
        directory ${ZONES} db\\.(.*) {1}
        reload 45s
    }
    reload
    log
    health :${DNS_HEALTH_PORT}
    ready :${DNS_READY_PORT}
}
`;

export const kubeSecondaryDns: Component = { name: "kubeSecondaryDNS", render: objects };

function objects(input: RenderInput): KubeObject[] {
  const namespace = input.settings.operandNamespace;
  const { domain = "", nameServerIP = "" } = input.spec.kubeSecondaryDNS ?? {};
  const configMap: KubeObject = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: SECONDARY_DNS, namespace, labels: SECONDARY_DNS_LABELS },
    data: { DOMAIN: domain, NAME_SERVER_IP: nameServerIP, Corefile: COREFILE },
  };
  return [
    ...identityObjects({
      serviceAccount: ACCOUNT,
      namespace,
      labels: SECONDARY_DNS_LABELS,
      cluster: {
        role: ACCOUNT,
        binding: ACCOUNT,
        rules: [rule("kubevirt.io", ["virtualmachineinstances"], READ)],
      },
    }),
    configMap,
    server(input, configMap, { DOMAIN: domain, NAME_SERVER_IP: nameServerIP }),
  ];
}

function server(input: RenderInput, configMap: KubeObject, variables: Readonly<Record<string, string>>): KubeObject {
  const { facts } = input;
  // There each namespace has users of its own.
  const user = facts.securityContextConstraints ? {} : { runAsUser: USER };
  const probe = (path: string, port: number) => ({ httpGet: { path, port, scheme: "HTTP" as const } });
  const ready = { initialDelaySeconds: 5, periodSeconds: 10 };
  const alive = { initialDelaySeconds: 15, periodSeconds: 20 };
  const workload = {
    name: SECONDARY_DNS,
    labels: SECONDARY_DNS_LABELS,
    selector: SECONDARY_DNS_LABELS,
    priorityClass: "system-cluster-critical" as const,
    configuration: [configMap],
    pod: {
      serviceAccountName: ACCOUNT,
      securityContext: { runAsNonRoot: true, ...user, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        externalContainer(input, "CORE_DNS_IMAGE", {
          name: SECONDARY_DNS,
          args: ["-conf", "/etc/coredns/Corefile"],
          ports: [
            { name: "dns", containerPort: DNS_PORT, protocol: "UDP" },
            { name: "dns-health", containerPort: DNS_HEALTH_PORT, protocol: "TCP" },
            { name: "dns-ready", containerPort: DNS_READY_PORT, protocol: "TCP" },
          ],
          memory: "70Mi",
          // The program's file carries this capability, and the kernel refuses to run it where it cannot have it.
          securityContext: { ...UNPRIVILEGED, capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } },
          readinessProbe: { ...probe("/ready", DNS_READY_PORT), ...ready },
          livenessProbe: { ...probe("/health", DNS_HEALTH_PORT), ...alive },
          volumeMounts: [
            { name: "config", mountPath: "/etc/coredns", readOnly: true },
            { name: "zones", mountPath: ZONES, readOnly: true },
          ],
        }),
        externalContainer(input, "KUBE_SECONDARY_DNS_IMAGE", {
          name: "status-monitor",
          env: env(variables),
          ports: [{ name: "monitor-health", containerPort: MONITOR_HEALTH_PORT, protocol: "TCP" }],
          memory: "70Mi",
          securityContext: UNPRIVILEGED,
          readinessProbe: { ...probe("/readyz", MONITOR_HEALTH_PORT), ...ready },
          livenessProbe: { ...probe("/healthz", MONITOR_HEALTH_PORT), ...alive },
          volumeMounts: [{ name: "zones", mountPath: ZONES }],
        }),
      ],
      volumes: [
        { name: "config", configMap: { name: SECONDARY_DNS, items: [{ key: "Corefile", path: "Corefile" }] } },
        { name: "zones", emptyDir: {} },
      ],
    },
  };
  return externalDeployment(input, workload, 1);
}
