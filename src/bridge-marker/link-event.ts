/**
 * The lines of the executable `link-monitor`, one JSON object each: first every link, then `synced`, then changes.
 * `resync` and `lost` announce that every link is printed again, up to the next `synced`.
 */
export type LinkEvent =
  | { readonly event: "link"; readonly index: number; readonly name: string; readonly kind: string }
  | { readonly event: "gone"; readonly index: number }
  | { readonly event: "synced" }
  | { readonly event: "resync" }
  | { readonly event: "lost" };

/** The event, or undefined for any other line: then the monitor is not the expected executable. Other fields are dropped. */
export function parseLinkEvent(line: string): LinkEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { event, index, name, kind } = (value ?? {}) as Record<string, unknown>;
  switch (event) {
    case "link":
      return typeof index === "number" && typeof name === "string"
        ? { event, index, name, kind: typeof kind === "string" ? kind : "" }
        : undefined;
    case "gone":
      return typeof index === "number" ? { event, index } : undefined;
    case "synced":
    case "resync":
    case "lost":
      return { event };
    default:
      return undefined;
  }
}
