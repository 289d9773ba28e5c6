import type { Registry } from "prom-client";
import { METRICS_PATH, type MetricsAccess } from "../access/metrics-access.ts";
import type { CertificateSource } from "./certificate-source.ts";
import type { ServerOptions } from "./guarded-server.ts";
import { RouteServer, type TextResponse } from "./route-server.ts";

export interface MetricsServerOptions extends Pick<ServerOptions, "port" | "host" | "log"> {
  readonly tls: CertificateSource;
  readonly access: Pick<MetricsAccess, "refusalOf">;
  readonly metrics: Registry;
}

/** One prober, or a few that scrape. */
export const PROBE_LIMITS = { maxConnections: 100, requestTimeoutMs: 10_000 };

/** `/metrics` by HTTPS. */
export function metricsServer({ access, metrics, ...options }: MetricsServerOptions): RouteServer {
  const answer = async (authorization: string | undefined): Promise<TextResponse> => {
    const refusal = await access.refusalOf(authorization);
    if (refusal === undefined) return metricsResponse(metrics);
    const { statusCode: status, message } = refusal;
    return { status, body: `${message}\n`, ...(status === 401 && { headers: { "www-authenticate": "Bearer" } }) };
  };
  const server = new RouteServer({ ...options, ...PROBE_LIMITS });
  return server.get(METRICS_PATH, ({ headers }) => answer(headers.authorization));
}

export async function metricsResponse(metrics: Registry): Promise<TextResponse> {
  return { status: 200, type: metrics.contentType, body: await metrics.metrics() };
}
