import type { Registry } from "prom-client";
import { METRICS_PATH, type MetricsAccess } from "../access/metrics-access.ts";
import type { Answer } from "../http/answer.ts";
import type { CertificateSource } from "../http/certificate-source.ts";
import { GetServer } from "../http/get-server.ts";
import type { ServerOptions } from "../http/guarded-server.ts";

export interface MetricsServerOptions extends Pick<ServerOptions, "port" | "host" | "log"> {
  readonly tls: CertificateSource;
  readonly access: Pick<MetricsAccess, "refusalOf">;
  readonly metrics: Registry;
}

const LIMITS = { maxConnections: 100, requestTimeoutMs: 10_000 };

/** `/metrics` by HTTPS. */
export function metricsServer({ access, metrics, ...options }: MetricsServerOptions): GetServer {
  const answer = async (authorization: string | undefined): Promise<Answer> => {
    const refusal = await access.refusalOf(authorization);
    if (refusal === undefined) return metricsAnswer(metrics);
    const { statusCode: status, message } = refusal;
    return { status, body: `${message}\n`, ...(status === 401 && { headers: { "www-authenticate": "Bearer" } }) };
  };
  return new GetServer({ ...options, ...LIMITS }, { [METRICS_PATH]: ({ headers }) => answer(headers.authorization) });
}

export async function metricsAnswer(metrics: Registry): Promise<Answer> {
  return { status: 200, type: metrics.contentType, body: await metrics.metrics() };
}
