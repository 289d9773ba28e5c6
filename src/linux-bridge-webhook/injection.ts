import { isLabelKey, isLabelValue, isResourceName } from "../api/legal-names.ts";
import { INJECTED_ANNOTATION, NAD_NODE_SELECTOR_ANNOTATION, NAD_RESOURCE_NAME_ANNOTATION } from "../api/names.ts";
import { type JsonPatchOp, jsonPointer } from "../kube/client/json-patch.ts";
import { parseObject } from "../kube/json-path.ts";

/**
 * Resources and node labels for a pod's networks. Each NetworkAttachmentDefinition names a node resource. The first
 * container requests one unit for each attachment, so the scheduler picks a node that has the network. Pure. A second run
 * on its own result changes nothing. Amounts from another injector count and are not added to; one that adds its own to
 * ours afterwards is put right when the API server asks again.
 */

/** The attachments of the pod to one network. */
export interface Attachment {
  readonly namespace: string;
  readonly name: string;
  /** A network that the pod asks for twice is two attachments. */
  readonly count: number;
  /** The annotations of its NetworkAttachmentDefinition. */
  readonly annotations: Readonly<Record<string, string>>;
}

export interface InjectablePod {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> | undefined };
  readonly spec?: {
    readonly containers?: readonly InjectableContainer[] | null;
    readonly initContainers?: readonly InjectableContainer[] | null;
    readonly nodeSelector?: Readonly<Record<string, string>> | null;
    readonly hostNetwork?: boolean;
  };
}

interface InjectableContainer {
  readonly resources?: { readonly requests?: Amounts | null; readonly limits?: Amounts | null } | null;
  /** `Always` on an init container: it runs beside the others, and its resources add up with theirs. */
  readonly restartPolicy?: string;
}

type Amounts = Readonly<Record<string, unknown>>;

export interface Injection {
  readonly patch: readonly JsonPatchOp[];
  readonly warnings: readonly string[];
}

/** Of what somebody wrote, as much as a warning repeats. */
const MAX_QUOTED = 64;

export function planInjection(pod: InjectablePod, attachments: readonly Attachment[]): Injection {
  const resources = planResources(pod, attachments);
  const selector = planNodeSelector(pod.spec?.nodeSelector ?? undefined, attachments);
  return {
    patch: [...resources.patch, ...selector.patch],
    warnings: [...new Set([...resources.warnings, ...selector.warnings])],
  };
}

function planResources(pod: InjectablePod, attachments: readonly Attachment[]): Injection {
  const [first, ...others] = pod.spec?.containers ?? [];
  if (first === undefined) return { patch: [], warnings: [] };
  const beside = (pod.spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === "Always");
  const { wanted, warnings } = wantedResources(attachments);
  const before = readInjected(pod.metadata?.annotations?.[INJECTED_ANNOTATION]);
  const added = new Map<string, string>();
  const injected = new Map<string, Injected>();
  for (const [resource, count] of wanted) {
    const here = amountOf(first, resource);
    const elsewhere = [...others, ...beside].map((container) => amountOf(container, resource)).reduce(sum, 0);
    if (here === undefined || elsewhere === undefined) {
      warnings.push(`the pod already requests ${resource} in an amount that is not a whole number: it stays as it is.`);
      continue;
    }
    const record = before.get(resource);
    if (record !== undefined) injected.set(resource, record);
    const isCountedTwice = record !== undefined && here - record.to === count;
    const amount = Math.max(isCountedTwice ? record.from + count : here, count - elsewhere);
    if (amount === 0 || hasAmount(first, resource, amount)) continue;
    added.set(resource, String(amount));
    const isOurs = isCountedTwice || here === record?.to;
    injected.set(resource, { from: isOurs ? (record?.from ?? 0) : here, to: amount });
  }
  return { patch: [...resourcePatch(first, added), ...recordPatch(added, injected)], warnings };
}

function wantedResources(attachments: readonly Attachment[]): { wanted: Map<string, number>; warnings: string[] } {
  const wanted = new Map<string, number>();
  const warnings: string[] = [];
  for (const attachment of attachments) {
    const resource = attachment.annotations[NAD_RESOURCE_NAME_ANNOTATION]?.trim();
    if (resource === undefined || resource === "") continue;
    if (isResourceName(resource)) wanted.set(resource, (wanted.get(resource) ?? 0) + attachment.count);
    else {
      warnings.push(
        `${where(attachment, NAD_RESOURCE_NAME_ANNOTATION)} is ${quoted(resource)}, which is not a resource name: ` +
          "the pod may be scheduled to a node without this network. Write bridge.network.kubevirt.io/<bridge>.",
      );
    }
  }
  return { wanted, warnings };
}

/** network-resources-injector with -honor-resources adds to what it finds: this tells what it found. */
function recordPatch(added: ReadonlyMap<string, string>, injected: ReadonlyMap<string, Injected>): JsonPatchOp[] {
  if (added.size === 0) return [];
  const path = jsonPointer("metadata", "annotations", INJECTED_ANNOTATION);
  return [{ op: "add", path, value: JSON.stringify(Object.fromEntries(injected)) }];
}

/** Extended resources can't be overcommitted. Requests and limits must be equal, so both are written. */
function resourcePatch(container: InjectableContainer, added: ReadonlyMap<string, string>): JsonPatchOp[] {
  if (added.size === 0) return [];
  const amounts = Object.fromEntries(added);
  const path = ["spec", "containers", 0, "resources"] as const;
  if (!container.resources) {
    return [{ op: "add", path: jsonPointer(...path), value: { requests: amounts, limits: amounts } }];
  }
  const { resources } = container;
  return (["requests", "limits"] as const).flatMap((field): JsonPatchOp[] => {
    if (!resources[field]) return [{ op: "add", path: jsonPointer(...path, field), value: amounts }];
    return [...added].map(([name, value]) => ({ op: "add", path: jsonPointer(...path, field, name), value }));
  });
}

function amountOf(container: InjectableContainer, resource: string): number | undefined {
  const values = [container.resources?.requests?.[resource], container.resources?.limits?.[resource]];
  const amounts = values.map((value) => (value === undefined ? 0 : parseWholeQuantity(value)));
  return amounts.every((amount) => amount !== undefined) ? Math.max(...amounts) : undefined;
}

function hasAmount(container: InjectableContainer, resource: string, amount: number): boolean {
  const { requests, limits } = container.resources ?? {};
  return [requests, limits].every((amounts) => parseWholeQuantity(amounts?.[resource]) === amount);
}

function sum(total: number | undefined, amount: number | undefined): number | undefined {
  return total === undefined || amount === undefined ? undefined : total + amount;
}

/** `key=value`, or a bare key for an empty value. The pod's own choice is never overridden. */
function planNodeSelector(
  selector: Readonly<Record<string, string>> | undefined,
  attachments: readonly Attachment[],
): Injection {
  const warnings: string[] = [];
  const added = new Map<string, string>();
  for (const attachment of attachments) {
    const text = attachment.annotations[NAD_NODE_SELECTOR_ANNOTATION]?.trim();
    if (text === undefined || text === "") continue;
    const equals = text.indexOf("=");
    const key = (equals < 0 ? text : text.slice(0, equals)).trim();
    const value = equals < 0 ? "" : text.slice(equals + 1).trim();
    const present = ownLabel(selector, key) ?? added.get(key);
    if (!isLabelKey(key) || !isLabelValue(value)) {
      warnings.push(
        `${where(attachment, NAD_NODE_SELECTOR_ANNOTATION)} is ${quoted(text)}, which is not a node label: it is ` +
          "ignored. Write key=value or a key alone.",
      );
    } else if (present === undefined) {
      added.set(key, value);
    } else if (present !== value) {
      warnings.push(
        `${where(attachment, NAD_NODE_SELECTOR_ANNOTATION)} wants nodes with ${key}=${value}, but the pod is already ` +
          `bound to ${key}=${present}: the pod's label stays, and its node may not have the network.`,
      );
    }
  }
  if (added.size === 0) return { patch: [], warnings };
  const path = ["spec", "nodeSelector"] as const;
  const patch: JsonPatchOp[] = selector
    ? [...added].map(([key, value]) => ({ op: "add", path: jsonPointer(...path, key), value }))
    : [{ op: "add", path: jsonPointer(...path), value: Object.fromEntries(added) }];
  return { patch, warnings };
}

/** A label can have the name of something that every object inherits, such as `constructor`. */
function ownLabel(labels: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function quoted(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}...` : text);
}

function where(attachment: Attachment, annotation: string): string {
  return `NetworkAttachmentDefinition ${attachment.namespace}/${attachment.name}: annotation ${annotation}`;
}

/** What the injection made of one resource of the first container. */
interface Injected {
  readonly from: number;
  readonly to: number;
}

/** Ours are shorter: one entry for each of a few networks. */
const MAX_RECORD_CHARS = 32_768;

/** Reads the annotation. Anybody can write it: what is no record counts as none. */
function readInjected(annotation: string | undefined): ReadonlyMap<string, Injected> {
  if (annotation === undefined || annotation.length > MAX_RECORD_CHARS) return new Map();
  const record = parseObject(annotation) ?? {};
  return new Map(
    Object.entries(record).flatMap(([resource, value]) => (isInjected(value) ? [[resource, value] as const] : [])),
  );
}

function isInjected(value: unknown): value is Injected {
  const { from, to } = (value ?? {}) as Partial<Record<keyof Injected, unknown>>;
  return isAmount(from) && isAmount(to);
}

function isAmount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Of whole numbers as Kubernetes quantities. An extended resource allows no others. */
const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** "3" is 3, "1k" is 1000; undefined for anything that is not a whole number below 2^53. */
export function parseWholeQuantity(quantity: unknown): number | undefined {
  const match = /^\+?(\d+)([a-zA-Z]*)$/.exec(String(quantity));
  const factor = match === null ? undefined : FACTORS[match[2] ?? ""];
  if (match === null || factor === undefined) return undefined;
  const value = Number(match[1]) * factor;
  return Number.isSafeInteger(value) ? value : undefined;
}
