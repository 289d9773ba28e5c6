import { BlockList, isIP } from "node:net";

/**
 * Which proxy leads to a server, by the rules of Go's golang.org/x/net/http/httpproxy, which kubectl follows: HTTPS_PROXY or
 * HTTP_PROXY by the server's scheme, unless NO_PROXY names the server. What this machine itself serves is never asked through
 * a proxy of the environment.
 */

type Environment = Readonly<Record<string, string | undefined>>;

const PROXY_SCHEMES = ["http:", "https:", "socks5:", "socks5h:"];

/** Undefined where the server is asked directly. Throws for a proxy of a kind that nobody here speaks. */
export function proxyFromEnvironment(server: URL, env: Environment): URL | undefined {
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const text = either(env, name);
  if (text === "" || isDirect(server, either(env, "NO_PROXY"))) return undefined;
  // As in Go, a proxy without a scheme is an HTTP proxy.
  const proxy = parseProxy(text.includes("://") ? text : `http://${text}`);
  if (proxy === undefined) throw new Error(`${name} is not a URL of a proxy: write it as http://HOST:PORT.`);
  return proxy;
}

/** Undefined for what is no URL of a proxy. */
export function parseProxy(text: string): URL | undefined {
  const url = URL.parse(text);
  return url !== null && url.hostname !== "" && PROXY_SCHEMES.includes(url.protocol) ? url : undefined;
}

function either(env: Environment, name: string): string {
  return env[name] || env[name.toLowerCase()] || "";
}

function isDirect(server: URL, noProxy: string): boolean {
  const host = bare(server.hostname);
  const port = server.port || (server.protocol === "https:" ? "443" : "80");
  if (host === "localhost" || isLoopback(host)) return true;
  return noProxy.split(",").some((entry) => excludes(entry.trim().toLowerCase(), host, port));
}

/** Whether an entry of NO_PROXY names the server: `*`, a network, or an address or a domain, each with or without a port. */
function excludes(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  if (entry.includes("/")) return isIn(entry, host);
  const [, name = entry, ownPort] = isIP(entry) === 6 ? [] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
  const wanted = bare(name);
  if (wanted === "" || (ownPort !== undefined && ownPort !== port)) return false;
  if (isIP(wanted) !== 0) return isIP(host) !== 0 && isIn(`${wanted}/${isIP(wanted) === 4 ? 32 : 128}`, host);
  const domain = wanted.startsWith("*.") ? wanted.slice(1) : wanted;
  return domain.startsWith(".") ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`);
}

function isIn(network: string, host: string): boolean {
  const [address = "", length = ""] = network.split("/");
  const [family, hostFamily] = [isIP(address), isIP(host)];
  if (
    family === 0 ||
    hostFamily !== family ||
    !/^\d{1,3}$/.test(length) ||
    Number(length) > (family === 4 ? 32 : 128)
  ) {
    return false;
  }
  const list = new BlockList();
  list.addSubnet(address, Number(length), family === 4 ? "ipv4" : "ipv6");
  return list.check(host, family === 4 ? "ipv4" : "ipv6");
}

const isLoopback = (host: string): boolean => isIn("127.0.0.0/8", host) || isIn("::1/128", host);

/** Without the brackets of an IPv6 address. */
const bare = (host: string): string => host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
