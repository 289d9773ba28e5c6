import { networkAddonsConfigSpecSchema } from "../../api/network-addons-config.ts";
import { validateSpec } from "../../operator/config/validation.ts";
import { type CheckLine, listed, note, ok, toDo, unchecked } from "./check-line.ts";
import { knownValue } from "./cluster-reader.ts";
import type { PreflightFacts } from "./preflight-facts.ts";

/** Whether the operator takes the NetworkAddonsConfig that is there. */

const KNOWN = Object.keys(networkAddonsConfigSpecSchema.shape);
const CERT_MANAGER = "cert-manager.io";

export function checkConfig(facts: PreflightFacts): readonly CheckLine[] {
  const { config, openShift, groups } = facts;
  if ("unknown" in config) return [unchecked("config", "the NetworkAddonsConfig", config.unknown)];
  if (config.value === undefined) {
    return [ok("config", "No NetworkAddonsConfig is there: the operator deploys nothing until you write one.")];
  }
  const spec = config.value.spec ?? {};
  const network = knownValue(openShift);
  const multiNetworkDisabled = network?.spec?.disableMultiNetwork === true;
  const errors = validateSpec(spec, { openShift: network !== undefined, multiNetworkDisabled });
  const unknown = Object.keys(spec).filter((key) => !KNOWN.includes(key));
  const needsCertManager = spec.kubevirtIpamController !== undefined && network === undefined;
  const lines = [
    ...errors.map((error) =>
      toDo(
        "config",
        `This operator refuses the NetworkAddonsConfig: ${error}`,
        "kubectl edit networkaddonsconfig cluster",
      ),
    ),
    ...(unknown.length === 0 ? [] : [unknownKeys(unknown)]),
    ...(needsCertManager ? certManager(groups) : []),
  ];
  return lines.length === 0 ? [ok("config", "The operator takes the NetworkAddonsConfig as it is.")] : lines;
}

function unknownKeys(keys: readonly string[]): CheckLine {
  const [it, stays] = keys.length === 1 ? ["it", "stays"] : ["them", "stays"];
  const text = `This operator does not know ${listed(keys)} of the NetworkAddonsConfig and drops ${it}. What was deployed for ${it} ${stays}, and nobody repairs it.`;
  return note("config", text);
}

function certManager(groups: PreflightFacts["groups"]): readonly CheckLine[] {
  if ("unknown" in groups) return [unchecked("config", "whether cert-manager is there", groups.unknown)];
  if (groups.value?.has(CERT_MANAGER)) return [];
  return [note("config", "kubevirtIpamController needs cert-manager, which is not there: it waits until it is.")];
}
