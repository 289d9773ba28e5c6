/**
 * The lines of the executable `link-monitor`, one JSON object each: first every link, then `synced`, then changes.
 * `resync` and `lost` announce that every link is printed again, up to the next `synced`; `alive` is the heartbeat.
 */
export type LinkEvent =
  | {
      readonly event: "link";
      readonly index: number;
      readonly name: string;
      /** Of rtnetlink: "bridge", "veth", ...; "" for a physical device. */
      readonly kind: string;
      /** Index of the bridge or bond that it is a port of; 0 for none. */
      readonly master: number;
      /** "" for none. */
      readonly mac: string;
      /** The address that the hardware came with, where it is another one. */
      readonly permanentMac: string | undefined;
      /** Undefined where nobody said. */
      readonly mtu?: number | undefined;
      /** Of a bridge that keeps VLANs apart. */
      readonly vlanFiltering?: boolean;
    }
  | { readonly event: "gone"; readonly index: number }
  | { readonly event: "synced" }
  | { readonly event: "resync" }
  | { readonly event: "lost" }
  | { readonly event: "alive" };

/** The event, or undefined for any other line: then the monitor is not the expected executable. Other fields are dropped. */
export function parseLinkEvent(line: string): LinkEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { event, index, name, kind, master, mac, permanentMac, mtu, vlanFiltering } = (value ?? {}) as Record<
    string,
    unknown
  >;
  switch (event) {
    case "link":
      return typeof index === "number" && typeof name === "string"
        ? {
            event,
            index,
            name,
            kind: textOf(kind) ?? "",
            master: typeof master === "number" ? master : 0,
            mac: textOf(mac) ?? "",
            permanentMac: textOf(permanentMac),
            mtu: typeof mtu === "number" ? mtu : undefined,
            vlanFiltering: vlanFiltering === true,
          }
        : undefined;
    case "gone":
      return typeof index === "number" ? { event, index } : undefined;
    case "synced":
    case "resync":
    case "lost":
    case "alive":
      return { event };
    default:
      return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
