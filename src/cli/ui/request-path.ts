/**
 * The path below the Service's proxy that a request of the browser stands for, or undefined. Whatever leads out of the
 * proxy would be a request to the API server with the user's credentials.
 */
export function upstreamPath(url: string, secret: string): string | undefined {
  const [path = "", query] = url.split(/\?(.*)/s, 2);
  const prefix = `/${secret}/`;
  if (!path.startsWith(prefix)) return undefined;
  const segments = path.slice(prefix.length).split("/").map(decoded);
  if (segments.some((segment, index) => !isPlain(segment, index === segments.length - 1))) return undefined;
  const safe = segments.map((segment) => encodeURIComponent(segment ?? "")).join("/");
  return `/${safe}${query === undefined || query === "" ? "" : `?${query}`}`;
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** An empty segment is allowed at the end only, for a folder. */
function isPlain(segment: string | undefined, isLast: boolean): segment is string {
  if (segment === undefined || segment === "." || segment === "..") return false;
  return segment === "" ? isLast : /^[^/\\%?#\p{Cc}]+$/u.test(segment);
}
