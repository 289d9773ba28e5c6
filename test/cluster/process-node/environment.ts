/** A container's environment variables, and `$(NAME)` in its command. */
import type { Container, EnvVar } from "kubernetes-types/core/v1.js";
import type { Pod } from "../../../src/kube/client/built-in-kinds.ts";
import { KUBERNETES_SERVICE_ADDRESS } from "../control-plane/arguments.ts";
import { fieldValue, type PodAddresses } from "./field-ref.ts";
import type { Data, PodObjects } from "./pod-objects.ts";

export type Environment = Readonly<Record<string, string>>;

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Rejects when a ConfigMap, a Secret or a key that is not optional is missing. */
export async function environmentOf(
  container: Container,
  pod: Pod,
  addresses: PodAddresses,
  objects: PodObjects,
): Promise<Environment> {
  const env: Record<string, string> = {
    PATH,
    HOME: "/root",
    HOSTNAME: pod.metadata.name ?? "",
    KUBERNETES_SERVICE_HOST: KUBERNETES_SERVICE_ADDRESS,
    KUBERNETES_SERVICE_PORT: "443",
  };
  for (const { prefix = "", configMapRef, secretRef } of container.envFrom ?? []) {
    const data = configMapRef
      ? await objects.configMap(configMapRef)
      : secretRef
        ? await objects.secret(secretRef)
        : {};
    for (const [key, value] of Object.entries(data)) env[prefix + key] = value.toString();
  }
  for (const variable of container.env ?? []) {
    const value = await variableValue(variable, env, pod, addresses, objects);
    if (value !== undefined) env[variable.name] = value;
  }
  return env;
}

async function variableValue(
  { name, value, valueFrom }: EnvVar,
  env: Environment,
  pod: Pod,
  addresses: PodAddresses,
  objects: PodObjects,
): Promise<string | undefined> {
  if (valueFrom === undefined) return expand(value ?? "", env);
  const { fieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  if (fieldRef) return fieldValue(pod, fieldRef.fieldPath, addresses);
  if (configMapKeyRef) return entry(await objects.configMap(configMapKeyRef), configMapKeyRef);
  if (secretKeyRef) return entry(await objects.secret(secretKeyRef), secretKeyRef);
  throw new Error(`env ${name}: only fieldRef, configMapKeyRef and secretKeyRef are supported`);
}

function entry(
  data: Data,
  { name, key, optional }: { name?: string; key: string; optional?: boolean },
): string | undefined {
  const value = data[key];
  if (value === undefined && !optional) throw new Error(`couldn't find key ${key} in ${name}`);
  return value?.toString();
}

/** Kubernetes' own syntax: `$(NAME)` is replaced where NAME is known, `$$` stands for `$`. */
export const expand = (text: string, env: Environment): string =>
  text.replace(/\$\$|\$\(([A-Za-z_][\w.-]*)\)/g, (match, name) => (match === "$$" ? "$" : (env[name] ?? match)));
