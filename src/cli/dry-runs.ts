import { ConnectionError } from "../kube/client/api-error.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { type CheckSubject, networksNamedBy } from "./check-subject.ts";
import { type DryRun, dryRun, NotAuthenticated, type Verdict } from "./dry-run.ts";
import { CliError } from "./faults.ts";
import type { ShownFinding } from "./findings-text.ts";
import { missingNetwork } from "./networks.ts";
import type { OpenCluster } from "./open-cluster.ts";
import { FactReader } from "./way/fact-reader.ts";

interface ComesWith {
  readonly namespaces: readonly string[];
  /** As `namespace/name`. */
  readonly networks: readonly string[];
}

interface Judgement {
  readonly verdict: Verdict;
  readonly findings: readonly ShownFinding[];
}

const ACCEPTED: Judgement = { verdict: "accepted", findings: [] };
const UNCHECKED: Judgement = { verdict: "unchecked", findings: [] };

/** Asks the cluster about one object after the other, until it turns out that it can't be asked. */
export class DryRuns {
  readonly #open: () => Promise<OpenCluster>;
  readonly #timeoutMs: number;
  readonly #comesWith: ComesWith;
  /** Whether a network is known not to exist, by `namespace/name`. */
  readonly #isMissing = new Map<string, Promise<boolean>>();
  #notAsked: string | undefined;

  constructor(open: () => Promise<OpenCluster>, timeoutMs: number, comesWith: ComesWith) {
    this.#open = open;
    this.#timeoutMs = timeoutMs;
    this.#comesWith = comesWith;
  }

  /** Why the cluster can't be asked. */
  get notAsked(): string | undefined {
    return this.#notAsked;
  }

  async ask(subject: CheckSubject): Promise<Judgement> {
    const { object, namespace, plural, fault, network } = subject;
    if (plural === undefined || fault !== undefined) return ACCEPTED;
    if (this.#notAsked !== undefined) return UNCHECKED;
    let cluster: OpenCluster | undefined;
    try {
      cluster = await this.#open();
      const { client } = cluster;
      const answer = await dryRun(client, { object, namespace, plural, timeoutMs: this.#timeoutMs });
      const judged = this.#judge(answer, namespace);
      if (network !== undefined) return judged;
      return { ...judged, findings: [...judged.findings, ...(await this.#missingNetworks(client, subject, answer))] };
    } catch (error) {
      const described = error instanceof ConnectionError ? cluster?.describe(error) : error;
      if (!(described instanceof CliError || described instanceof NotAuthenticated)) throw error;
      this.#notAsked = described.message;
      return UNCHECKED;
    }
  }

  /** Of those that the object names, with the rights of the user. */
  async #missingNetworks(client: KubeClient, subject: CheckSubject, { message }: DryRun): Promise<ShownFinding[]> {
    const names = [...new Set(networksNamedBy(subject).map(({ namespace, name }) => `${namespace}/${name}`))].filter(
      (name) => !this.#comesWith.networks.includes(name) && !message.includes(`NetworkAttachmentDefinition ${name}, `),
    );
    const missing = await Promise.all(names.map((name) => this.#isKnownMissing(client, name)));
    return names
      .filter((_, index) => missing[index])
      .map((name) => {
        const { text, remedy } = missingNetwork(name);
        return { severity: "warning", code: "network-missing", message: `${text}. ${remedy}` };
      });
  }

  #isKnownMissing(client: KubeClient, key: string): Promise<boolean> {
    const asked = this.#isMissing.get(key);
    if (asked !== undefined) return asked;
    const [namespace = "", name = ""] = key.split("/");
    const read = new FactReader(client, this.#timeoutMs).network({ namespace, name });
    const isMissing = read.then((network) => "value" in network && network.value === undefined);
    this.#isMissing.set(key, isMissing);
    return isMissing;
  }

  #judge({ verdict, by, message, warnings }: DryRun, namespace: string): Judgement {
    const warned = warnings.map((text) => ({ severity: "warning" as const, code: "warned", message: text }));
    if (verdict === "accepted") return { verdict, findings: warned };
    if (verdict === "unchecked") return unchecked(message, warned);
    if (this.#isBroughtAlong(message, namespace)) {
      return unchecked(`${message.replace(/\.$/, "")}. It is in the files: apply that first, and check again.`, warned);
    }
    const code = by === undefined ? "refused" : `refused by ${by}`;
    return { verdict, findings: [{ severity: "error", code, message }, ...warned] };
  }

  /** Whether what is missing is in the files. */
  #isBroughtAlong(message: string, namespace: string): boolean {
    const { namespaces, networks } = this.#comesWith;
    if (message === `namespaces "${namespace}" not found`) return namespaces.includes(namespace);
    return networks.some(
      (name) => message.includes(`NetworkAttachmentDefinition ${name}, `) && message.includes(" does not exist."),
    );
  }
}

function unchecked(message: string, others: readonly ShownFinding[]): Judgement {
  return { verdict: "unchecked", findings: [{ severity: "warning", code: "unchecked", message }, ...others] };
}
