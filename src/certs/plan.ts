import { type Certificate, createdMs, formatBundle, isSignedBy, type KeyPair, parseBundle } from "./certificate.ts";

/**
 * The state machine of a webhook's certificates, as a pure function from the API server's state and the time to the next
 * write. `cert-manager.ts` runs it after every change and at `nextMs`. It keeps no state, so a restart in the middle of a
 * rotation continues from the Secrets.
 *
 *   CA pair --> trusted list (beside it) --> caBundle of every webhook --> serving certificate
 *
 * Each stage is written only when the one before it is in place. So the API server trusts a CA before it must verify a
 * signature of it.
 */

export interface Intervals {
  /** A new CA is made after this long ... */
  readonly caRotateMs: number;
  /** ... and the old one stays valid and trusted for this long after. */
  readonly caOverlapMs: number;
  readonly certRotateMs: number;
  readonly certOverlapMs: number;
}

/** A webhook configuration: the caBundle (PEM, "" if absent) of each webhook, in order. */
export interface ConfiguredBundles {
  readonly configuration: string;
  readonly caBundles: readonly string[];
}

export interface Observed {
  readonly nowMs: number;
  /** `undefined`: no such Secret. `pair: undefined`: it is empty or unusable. */
  readonly ca: { readonly pair: KeyPair | undefined; readonly trusted: readonly Certificate[] } | undefined;
  readonly serving: { readonly pair: KeyPair | undefined } | undefined;
  /** The existing webhook configurations. A later one gets its caBundle then. */
  readonly configurations: readonly ConfiguredBundles[];
  /** DNS names of the service. */
  readonly dnsNames: readonly string[];
}

export type Action =
  | {
      readonly kind: "make-ca";
      /** CAs that stay trusted beside the new one. */
      readonly keep: readonly Certificate[];
      readonly lifetimeMs: number;
      readonly reason: string;
    }
  | { readonly kind: "write-trusted"; readonly trusted: readonly Certificate[]; readonly reason: string }
  | { readonly kind: "write-bundle"; readonly configuration: string; readonly bundle: string }
  | { readonly kind: "make-serving"; readonly signer: KeyPair; readonly lifetimeMs: number; readonly reason: string };

export interface Plan {
  readonly actions: readonly Action[];
  /** When to run again without a change. */
  readonly nextMs: number;
  /** Whether the API server can call the webhooks now. */
  readonly ready: boolean;
  /** What somebody else must do first. */
  readonly waitingFor?: string;
}

/**
 * A rotated CA signs only after API servers had time to read the new caBundle. At most half of each overlap: the old CA
 * ends with the CA's overlap, and the serving certificate may be due just when the CA is made.
 */
const SETTLE_MS = 10_000;

/** The same if both Secrets were lost. Meanwhile replicas serve the pair in their memory. */
export const LOST_SETTLE_MS = 2_000;

/** Nothing exists yet, so only a watch event can change something. */
const IDLE_MS = 10 * 60_000;

export function planCertificates(observed: Observed, intervals: Intervals): Plan {
  return { ...nextStep(observed, intervals), ready: isTrusted(observed) };
}

type Step = Omit<Plan, "ready">;

function nextStep(observed: Observed, intervals: Intervals): Step {
  const { nowMs, ca } = observed;
  if (ca === undefined) return waiting(nowMs, "the CA's Secret, which the operator creates empty");

  const trusted = trustedOf(observed);
  const renewal = caRenewal(ca.pair, nowMs, intervals);
  if (renewal !== undefined || ca.pair === undefined) {
    const lifetimeMs = intervals.caRotateMs + intervals.caOverlapMs;
    const reason = renewal ?? "there is no usable CA";
    return { actions: [{ kind: "make-ca", keep: trusted, lifetimeMs, reason }], nextMs: nowMs + IDLE_MS };
  }

  if (formatBundle(trusted) !== formatBundle(ca.trusted)) {
    const reason = "the list of trusted CAs beside the CA is wrong";
    return { actions: [{ kind: "write-trusted", trusted, reason }], nextMs: nowMs + IDLE_MS };
  }

  const bundle = formatBundle(trusted);
  const unbundled = observed.configurations.filter(({ caBundles }) => caBundles.some((text) => text !== bundle));
  if (unbundled.length > 0) {
    const actions = unbundled.map(({ configuration }) => ({ kind: "write-bundle" as const, configuration, bundle }));
    return { actions, nextMs: nowMs + IDLE_MS };
  }

  if (observed.serving === undefined) return waiting(nowMs, "the serving Secret, which the operator creates empty");
  const signer = ca.pair;
  const wanted = servingRenewal(observed.serving.pair, signer, trusted, observed, intervals);
  const lifetimeMs = intervals.certRotateMs + intervals.certOverlapMs;
  if (wanted.atMs <= nowMs) {
    const actions = [{ kind: "make-serving" as const, signer, lifetimeMs, reason: wanted.reason }];
    return { actions, nextMs: nowMs + IDLE_MS };
  }
  const expiries = trusted.map((certificate) => certificate.notAfterMs);
  const nextMs = Math.min(
    wanted.atMs,
    renewAt(signer.certificate, intervals.caRotateMs, intervals.caOverlapMs),
    ...expiries,
  );
  return { actions: [], nextMs: Math.max(nextMs, nowMs) };
}

function waiting(nowMs: number, waitingFor: string): Step {
  return { actions: [], nextMs: nowMs + IDLE_MS, waitingFor };
}

/** Whether API servers accept the certificate in service, by the caBundles that they have now, whatever is to be written. */
function isTrusted({ nowMs, serving, configurations, dnsNames }: Observed): boolean {
  const certificate = serving?.pair?.certificate;
  if (certificate === undefined || unfit(certificate, nowMs, dnsNames) !== undefined) return false;
  const isIn = (caBundle: string): boolean =>
    parseBundle(caBundle).some((ca) => ca.notAfterMs > nowMs && isSignedBy(certificate, ca));
  return configurations.every(({ caBundles }) => caBundles.every(isIn));
}

/** Why nobody would accept the serving certificate, whoever signed it; undefined when there is no reason. */
function unfit(certificate: Certificate, nowMs: number, dnsNames: readonly string[]): string | undefined {
  if (certificate.notAfterMs <= nowMs) return "the serving certificate has expired";
  const isForAll = dnsNames.every((name) => certificate.dnsNames.includes(name));
  return isForAll ? undefined : "the serving certificate is for other names";
}

/**
 * The CAs that must be trusted now: the signing CA first, those listed beside it, and any CA in a caBundle that signed the
 * serving certificate (the CA's Secret may have been deleted). If both Secrets were lost, replicas serve the pair in their
 * memory, and every CA in a caBundle may be its signer.
 */
function trustedOf(observed: Observed): Certificate[] {
  const serving = observed.serving?.pair?.certificate;
  const candidates = [...(observed.ca?.pair ? [observed.ca.pair.certificate] : []), ...(observed.ca?.trusted ?? [])];
  const bundled = () =>
    observed.configurations.flatMap(({ caBundles }) => caBundles.flatMap((text) => parseBundle(text)));
  if (serving === undefined) {
    if (observed.ca?.pair === undefined) candidates.push(...bundled());
  } else if (!candidates.some((certificate) => isSignedBy(serving, certificate))) {
    candidates.push(...bundled().filter((certificate) => isSignedBy(serving, certificate)));
  }
  const seen = new Set<string>();
  return candidates.filter((certificate) => {
    if (!certificate.isCa || certificate.notAfterMs <= observed.nowMs || seen.has(certificate.fingerprint))
      return false;
    seen.add(certificate.fingerprint);
    return true;
  });
}

/** Why the CA must be renewed now, or undefined. */
function caRenewal(pair: KeyPair | undefined, nowMs: number, intervals: Intervals): string | undefined {
  if (pair === undefined) return "there is no usable CA";
  const { certificate } = pair;
  if (!certificate.isCa) return "the certificate in the CA's Secret is not a CA";
  if (certificate.notAfterMs <= nowMs) return "the CA has expired";
  if (renewAt(certificate, intervals.caRotateMs, intervals.caOverlapMs) <= nowMs) return "it is time to rotate the CA";
  return undefined;
}

interface ServingRenewal {
  readonly atMs: number;
  readonly reason: string;
}

function servingRenewal(
  pair: KeyPair | undefined,
  signer: KeyPair,
  trusted: readonly Certificate[],
  observed: Observed,
  intervals: Intervals,
): ServingRenewal {
  const now = (reason: string): ServingRenewal => ({ atMs: observed.nowMs, reason });
  if (pair === undefined) {
    const seenFromMs = createdMs(signer.certificate) + Math.min(LOST_SETTLE_MS, intervals.caOverlapMs / 2);
    const atMs = trusted.length > 1 ? Math.max(observed.nowMs, seenFromMs) : observed.nowMs;
    return { atMs, reason: "there is no usable serving certificate" };
  }
  const { certificate } = pair;
  const fault = unfit(certificate, observed.nowMs, observed.dnsNames);
  if (fault !== undefined) return now(fault);
  if (!trusted.some((ca) => isSignedBy(certificate, ca))) return now("no trusted CA signed the serving certificate");
  const reason = "it is time to rotate the serving certificate";
  const { caOverlapMs, certRotateMs, certOverlapMs } = intervals;
  const signsFromMs = createdMs(signer.certificate) + Math.min(SETTLE_MS, caOverlapMs / 2, certOverlapMs / 2);
  const bySchedule = createdMs(certificate) + certRotateMs;
  // A certificate that ends with its CA is renewed early only by a newer CA, because only that gains time.
  const gains = (atMs: number): boolean =>
    Math.min(atMs + certRotateMs + certOverlapMs, signer.certificate.notAfterMs) > certificate.notAfterMs;
  const byOverlap = Math.max(certificate.notAfterMs - certOverlapMs, observed.nowMs);
  const dueMs = gains(byOverlap) ? Math.min(bySchedule, byOverlap) : bySchedule;
  return { atMs: Math.max(dueMs, signsFromMs), reason };
}

/** Shortened intervals apply at once: the rotation interval counts from the certificate's creation. */
function renewAt(certificate: Certificate, rotateMs: number, overlapMs: number): number {
  return Math.min(certificate.notAfterMs - overlapMs, createdMs(certificate) + rotateMs);
}
