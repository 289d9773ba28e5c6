import { BRIDGE_MARKER, LINUX_BRIDGE_DAEMON_SET, MAC_POOL_MANAGER } from "../../api/names.ts";
import type { DaemonSet, Deployment } from "../../kube/client/built-in-kinds.ts";
import { isAlive } from "../../operator/watch/programs.ts";
import { bounded, type CheckLine, listed, note, ok, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import { webhookNamespaces } from "./planned-ranges.ts";
import type { PreflightFacts } from "./preflight-facts.ts";
import { baseNames, placeOf } from "./workloads.ts";

/** A KubeMacPool, and the DaemonSets of a predecessor: what becomes of each (src/operator/apply/takeover.ts). */

/** Namespaces whose components are this product's own: its operator runs there. */
function ownNamespaces({ operators }: PreflightFacts): ReadonlySet<string | undefined> {
  const found = knownValue(operators) ?? [];
  return new Set(found.flatMap(({ isOurs, program }) => (isOurs ? [program.metadata.namespace] : [])));
}

export function checkMacPool(facts: PreflightFacts): readonly CheckLine[] {
  const { managers, webhooks, target } = facts;
  const own = ownNamespaces(facts);
  if (own.has(target)) return [];
  if ("unknown" in managers) return [unchecked("mac pool", "whether there is a KubeMacPool", managers.unknown)];
  const found = (managers.value ?? []).filter(({ metadata }) => !own.has(metadata.namespace));
  if (found.length === 0) return [ok("mac pool", "No other KubeMacPool is there.")];
  if ("unknown" in webhooks) {
    return [
      unchecked(
        "mac pool",
        `whether the API server asks KubeMacPool ${listed(found.map(({ metadata }) => `in ${metadata.namespace}`))}`,
        webhooks.unknown,
      ),
    ];
  }
  const asked = webhookNamespaces(webhooks.value);
  return found.map((manager) => ofManager(manager, target, asked));
}

function ofManager(manager: Deployment, target: string, asked: readonly string[]): CheckLine {
  const { namespace = "" } = manager.metadata;
  const what = `KubeMacPool in ${namespace}`;
  if (namespace === target) {
    return note("mac pool", `${what} is taken over: it serves until the new pods do. VMs keep their addresses.`);
  }
  if (!asked.includes(namespace)) return ok("mac pool", `${what} is asked by no webhook: it is left alone.`);
  if (!isAlive(manager)) return ok("mac pool", `${what} is scaled to zero: the new MAC pool takes its range over.`);
  const text = `${what} serves VMs, and the new MAC pool waits until it is gone. Scale it to zero after the installation: VMs are refused from then until the new pool is ready.`;
  return note("mac pool", text, `kubectl -n ${namespace} scale deployment ${MAC_POOL_MANAGER} --replicas=0`);
}

/** DaemonSets that do what those of linuxBridge do. */
const DAEMONS: readonly {
  readonly name: string;
  readonly image: string;
  readonly what: string;
  readonly files: string;
}[] = [
  { name: BRIDGE_MARKER, image: "bridge-marker", what: "bridge-marker", files: "" },
  {
    name: LINUX_BRIDGE_DAEMON_SET,
    image: "cni-default-plugins",
    what: "linux-bridge plugins",
    files:
      " On the nodes, cnv-bridge and cnv-tuning are replaced; bridge and tuning of others stay, unless linuxBridge.replaceForeignPlugins is true.",
  },
];
export function checkDaemons(facts: PreflightFacts): readonly CheckLine[] {
  const { daemonSets, target } = facts;
  const own = ownNamespaces(facts);
  if (own.has(target)) return [];
  if ("unknown" in daemonSets) {
    return [unchecked("daemons", "whether there is a bridge-marker or an installer of plugins", daemonSets.unknown)];
  }
  const others = (daemonSets.value ?? []).filter(({ metadata }) => !own.has(metadata.namespace));
  const found = others.flatMap((daemon) => ofDaemon(daemon, target));
  const more = (count: number): CheckLine => note("daemons", `${count} more DaemonSets do the same.`);
  const none = ok("daemons", "No other bridge-marker and no other installer of linux-bridge plugins is there.");
  return found.length === 0 ? [none] : bounded(found, more);
}

function ofDaemon(daemon: DaemonSet, target: string): CheckLine[] {
  const { namespace = "", name = "" } = daemon.metadata;
  const known = DAEMONS.find((one) => one.name === name || baseNames(daemon).includes(one.image));
  if (known === undefined) return [];
  const what = `DaemonSet ${placeOf(daemon)}${name === known.name ? "" : ` (${known.what})`}`;
  if (namespace === target && name === known.name) {
    return [
      note("daemons", `${what} is taken over and rolls in place: running pods keep their networks.${known.files}`),
    ];
  }
  const text = `${what} stays beside this product's own. Delete it after the installation.${known.files}`;
  return [note("daemons", text, `kubectl -n ${namespace} delete daemonset ${name}`)];
}
