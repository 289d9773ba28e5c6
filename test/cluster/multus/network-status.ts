/** The annotation in which multus says what a pod has got. Pure. */

export const NETWORK_STATUS_ANNOTATION = "k8s.v1.cni.cncf.io/network-status";

export interface CniResult {
  readonly cniVersion?: string;
  readonly interfaces?: readonly {
    readonly name: string;
    readonly mac?: string;
    readonly mtu?: number;
    readonly sandbox?: string;
  }[];
  readonly ips?: readonly { readonly address: string; readonly interface?: number }[];
  readonly dns?: object;
}

export interface NetworkStatus {
  readonly name: string;
  readonly interface: string;
  readonly ips?: readonly string[];
  readonly mac?: string;
  readonly mtu?: number;
  readonly default?: boolean;
  readonly dns: object;
}

/** One entry for each link in the pod that the result names. */
export function networkStatus(network: string, result: CniResult): NetworkStatus[] {
  return (result.interfaces ?? []).flatMap(({ name, mac, mtu, sandbox }, index) => {
    if (sandbox === undefined || sandbox === "") return [];
    const ips = (result.ips ?? [])
      .filter((ip) => ip.interface === index)
      .map(({ address }) => address.split("/")[0] ?? "");
    return [
      {
        name: network,
        interface: name,
        ...(ips.length === 0 ? {} : { ips }),
        ...(mac === undefined || mac === "" ? {} : { mac }),
        ...(mtu === undefined || mtu === 0 ? {} : { mtu }),
        dns: result.dns ?? {},
      },
    ];
  });
}
