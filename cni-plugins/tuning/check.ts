/** CHECK: is the interface as ADD left it, as far as the configuration says? */

import { CHECK_FAILED, CniError } from "../cni/cni-error.ts";
import { formatMacAddress } from "../cni/mac-address.ts";
import { openNetns } from "../cni/netns.ts";
import type { Call } from "../cni/plugin.ts";
import type { Link } from "../netlink/link.ts";
import { requireInterface } from "./add.ts";
import { readConfig, type TuningConfig } from "./config.ts";
import { isAllMulticast, isPromiscuous } from "./interface.ts";
import { previousResult } from "./previous-result.ts";
import { readSysctl, sameSysctlValue } from "./sysctl.ts";

export function check(call: Call): undefined {
  const { syscalls, request, warn } = call;
  const { fd: netns, socket } = openNetns(syscalls, request);
  const config = readConfig(request, warn);
  previousResult(request.config, request.version);
  for (const sysctl of config.sysctls) {
    const found = readSysctl(syscalls, netns, sysctl);
    if (found === undefined) throw failed(`sysctl ${sysctl.key} can't be read`);
    if (!sameSysctlValue(found, sysctl.value)) {
      throw failed(`sysctl ${sysctl.key} is "${found.trim()}", not "${sysctl.value}"`);
    }
  }
  checkInterface(requireInterface(socket, call), config);
}

function checkInterface(link: Link, config: TuningConfig): void {
  const { mac, mtu, promiscuous, allMulticast, txQueueLength } = config;
  const { name } = link;
  if (mac !== undefined && link.mac !== formatMacAddress(mac)) {
    throw failed(`interface ${name} has MAC ${link.mac}, not ${formatMacAddress(mac)}`);
  }
  if (mtu !== undefined && link.mtu !== mtu) throw failed(`interface ${name} has MTU ${link.mtu}, not ${mtu}`);
  if (promiscuous && !isPromiscuous(link) && link.promiscuity === 0)
    throw failed(`interface ${name} is not promiscuous`);
  if (allMulticast !== undefined && isAllMulticast(link) !== allMulticast) {
    throw failed(`interface ${name}: all-multicast mode is not ${allMulticast}`);
  }
  if (txQueueLength !== undefined && link.txQueueLength !== txQueueLength) {
    throw failed(`interface ${name} has transmit queue length ${link.txQueueLength}, not ${txQueueLength}`);
  }
}

function failed(what: string): CniError {
  return new CniError(CHECK_FAILED, `the interface is not as ADD left it: ${what}`);
}
