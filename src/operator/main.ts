/**
 * Process `cluster-network-addons-operator`: turns the NetworkAddonsConfig into what runs in the cluster.
 *
 * `config/` reads, validates, fills in and writes the configuration, `components/` and `manifests/` render, `apply/` applies, repairs
 * and removes, `status/` reports; reconciler.ts goes through them in this order. operator.ts ties that to leadership and to
 * `watch/`: the cluster, its platform, and other operators that do the same work.
 * `src/operator` is a product: it may import api, kube and certs; nothing imports it but deploy/ and tests.
 */

import * as z from "zod";
import { DEFAULT_IMAGE } from "../api/image.ts";
import { DEFAULT_NAMESPACE, OPERATOR_NAME, PRODUCT_VERSION } from "../api/names.ts";
import { ProfiledMetrics } from "../certs/profiled-metrics.ts";
import { KubeClient } from "../kube/client/client.ts";
import { loadCredentials } from "../kube/credentials/credentials.ts";
import { readEnv, readPort, runProcess } from "../kube/process/process.ts";
import {
  componentImages,
  IMAGE_MIRROR_PATTERN,
  IMAGE_MIRROR_TEXT,
  IMAGE_PATTERN,
  IMAGE_TEXT,
} from "./config/component-images.ts";
import { DEFAULT_MONITORING, type OperatorSettings, POD_TROUBLE_DEADLINE_SECONDS } from "./config/settings.ts";
import { Operator } from "./operator.ts";

const image = z
  .string()
  .refine((text) => new RegExp(IMAGE_PATTERN).test(text), IMAGE_TEXT)
  .default(DEFAULT_IMAGE);

const environment = z.object({
  POD_NAME: z.string().min(1).default(OPERATOR_NAME),
  OPERATOR_NAMESPACE: z.string().min(1).default(DEFAULT_NAMESPACE),
  OPERAND_NAMESPACE: z.string().min(1).optional(),
  /** Set for Cluster Network Addons Operator. The configuration has no namespace, so nothing follows from it. */
  WATCH_NAMESPACE: z.string().default(""),
  OPERATOR_VERSION: z.string().min(1).default(PRODUCT_VERSION),
  LINUX_BRIDGE_IMAGE: image,
  LINUX_BRIDGE_MARKER_IMAGE: image,
  KUBEMACPOOL_IMAGE: image,
  IMAGE_MIRROR: z
    .string()
    .refine((text) => text === "" || new RegExp(IMAGE_MIRROR_PATTERN).test(text), IMAGE_MIRROR_TEXT)
    .optional(),
  /** Names with commas between them. */
  IMAGE_PULL_SECRETS: z.string().default(""),
  MONITORING_NAMESPACE: z.string().min(1).optional(),
  MONITORING_SERVICE_ACCOUNT: z.string().min(1).default(DEFAULT_MONITORING.serviceAccount),
  RUNBOOK_URL_TEMPLATE: z
    .string()
    .refine((text) => text.split("%s").length === 2, "it must have %s once, where the name of the alert goes")
    .default(DEFAULT_MONITORING.runbookUrlTemplate),
  POD_TROUBLE_DEADLINE_SECONDS: z.coerce.number().int().min(1).default(POD_TROUBLE_DEADLINE_SECONDS),
});

await runProcess({
  name: OPERATOR_NAME,
  env: process.env,
  healthPort: readPort(process.env, "HEALTH_PORT") ?? 8081,
  main: async ({ env, log, signal, metrics, health, restart }) => {
    const variables = readEnv(environment, env);
    const settings: OperatorSettings = {
      operatorNamespace: variables.OPERATOR_NAMESPACE,
      operandNamespace: variables.OPERAND_NAMESPACE ?? variables.OPERATOR_NAMESPACE,
      version: variables.OPERATOR_VERSION,
      images: {
        linuxBridge: variables.LINUX_BRIDGE_IMAGE,
        bridgeMarker: variables.LINUX_BRIDGE_MARKER_IMAGE,
        kubeMacPool: variables.KUBEMACPOOL_IMAGE,
      },
      componentImages: componentImages(env, variables.IMAGE_MIRROR),
      imagePullSecrets: variables.IMAGE_PULL_SECRETS.split(",").filter((name) => name !== ""),
      monitoring: {
        namespace: variables.MONITORING_NAMESPACE,
        serviceAccount: variables.MONITORING_SERVICE_ACCOUNT,
        runbookUrlTemplate: variables.RUNBOOK_URL_TEMPLATE,
      },
      podTroubleDeadlineMs: variables.POD_TROUBLE_DEADLINE_SECONDS * 1_000,
    };
    await using client = new KubeClient({
      credentials: await loadCredentials(env),
      userAgent: `${OPERATOR_NAME}/${settings.version}`,
      log,
      metrics,
      onRestored: restart,
    });
    const port = readPort(env, "METRICS_PORT");
    const serving = new ProfiledMetrics({ client, port, name: OPERATOR_NAME, metrics, log });
    const operator = new Operator({
      client,
      settings,
      identity: variables.POD_NAME,
      log,
      metrics,
      alsoWatching: [serving],
    });
    health.ready("caches", () => operator.hasSynced || "the caches are not synced yet");
    log.info({ settings }, "starting");
    await Promise.all([serving.run(signal), operator.run(signal)]);
  },
});
