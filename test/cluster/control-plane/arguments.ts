/** Command lines of the control plane's programs. Pure. */

export interface ControlPlaneAddresses {
  /** Address the API server listens on and is reached at. */
  readonly address: string;
  readonly port: number;
  /** Address and first of two ports of etcd. */
  readonly etcdAddress: string;
  readonly etcdPort: number;
  /** Whether the Service `kubernetes` gets the address as its endpoint; API servers refuse loopback ones there. */
  readonly published: boolean;
}

export interface ControlPlaneFiles {
  /** Folder of keys and certificates. */
  readonly pki: string;
  /** Folder of etcd's data. */
  readonly etcd: string;
}

export const SERVICE_CIDR = "10.96.0.0/16";
/** The Service `kubernetes`: first address of the range. */
export const KUBERNETES_SERVICE_ADDRESS = "10.96.0.1";
/** User name of the API server towards kubelets. */
export const KUBELET_CLIENT = "kube-apiserver-kubelet-client";

export function etcdArguments({ etcdAddress, etcdPort }: ControlPlaneAddresses, files: ControlPlaneFiles): string[] {
  const client = `http://${etcdAddress}:${etcdPort}`;
  const peer = `http://${etcdAddress}:${etcdPort + 1}`;
  return [
    `--data-dir=${files.etcd}`,
    "--unsafe-no-fsync",
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
  ];
}

export function apiServerArguments(addresses: ControlPlaneAddresses, { pki }: ControlPlaneFiles): string[] {
  return [
    `--etcd-servers=http://${addresses.etcdAddress}:${addresses.etcdPort}`,
    `--bind-address=${addresses.published ? "0.0.0.0" : addresses.address}`,
    `--advertise-address=${addresses.address}`,
    `--secure-port=${addresses.port}`,
    ...(addresses.published ? [] : ["--endpoint-reconciler-type=none"]),
    `--tls-cert-file=${pki}/apiserver.crt`,
    `--tls-private-key-file=${pki}/apiserver.key`,
    `--client-ca-file=${pki}/ca.crt`,
    `--cert-dir=${pki}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${pki}/tokens.pub`,
    `--service-account-signing-key-file=${pki}/tokens.key`,
    "--service-account-extend-token-expiration=false",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    `--service-cluster-ip-range=${SERVICE_CIDR}`,
    "--allow-privileged=true",
    "--enable-aggregator-routing=true",
    `--kubelet-client-certificate=${pki}/kubelet-client.crt`,
    `--kubelet-client-key=${pki}/kubelet-client.key`,
    `--kubelet-certificate-authority=${pki}/ca.crt`,
    "--kubelet-preferred-address-types=InternalIP",
    "--profiling=false",
  ];
}

const clientArguments = (kubeconfig: string, port: number, address: string): string[] => [
  `--kubeconfig=${kubeconfig}`,
  `--authentication-kubeconfig=${kubeconfig}`,
  // Else it is fatal that the API server is away in the first moment.
  "--authentication-skip-lookup",
  `--authorization-kubeconfig=${kubeconfig}`,
  "--leader-elect=false",
  `--bind-address=${address}`,
  `--secure-port=${port}`,
  // With the defaults the first DaemonSet waits 5 s for service accounts, which are made one by one.
  "--kube-api-qps=500",
  "--kube-api-burst=1000",
];

export const CONTROLLER_MANAGER_USER = "system:kube-controller-manager";
export const SCHEDULER_USER = "system:kube-scheduler";

export function controllerManagerArguments({ etcdAddress, etcdPort }: ControlPlaneAddresses, pki: string): string[] {
  return [
    ...clientArguments(`${pki}/controller-manager.kubeconfig`, etcdPort + 2, etcdAddress),
    `--cert-dir=${pki}`,
    "--use-service-account-credentials=true",
    `--service-account-private-key-file=${pki}/tokens.key`,
    `--root-ca-file=${pki}/ca.crt`,
    `--cluster-signing-cert-file=${pki}/ca.crt`,
    `--cluster-signing-key-file=${pki}/ca.key`,
    // A node that is switched off is noticed within seconds, so that tests can do it.
    "--node-monitor-grace-period=5s",
    "--node-monitor-period=1s",
  ];
}

export const schedulerArguments = ({ etcdAddress, etcdPort }: ControlPlaneAddresses, pki: string): string[] => [
  ...clientArguments(`${pki}/scheduler.kubeconfig`, etcdPort + 3, etcdAddress),
  `--cert-dir=${pki}`,
];
