/**
 * A virtual machine in QEMU, every instruction emulated, as KubeVirt's launcher runs one: its NICs are taps that exist
 * already in the network namespace of a pod. The test's commands reach its shell over a serial port and never over the
 * network that is tested. QEMU ends with this process; its directory is then removed by the next run.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { makeRunDirectory } from "../cluster/run-directory.ts";
import type { GuestParts } from "./guest-parts.ts";
import { type CommandOutcome, GuestShell } from "./guest-shell.ts";
import { Qmp } from "./qmp.ts";

export interface GuestNic {
  /** QEMU's id of the device, for `unplug`. */
  readonly name: string;
  readonly tap: string;
  readonly mac: string;
}

export interface GuestSettings {
  readonly parts: GuestParts;
  /** Makes the command line that runs another one in the network namespace of the taps. */
  readonly enter: (argv: readonly string[]) => readonly string[];
  readonly nics: readonly GuestNic[];
}

/** A NIC as the guest sees it. */
export interface SeenNic {
  readonly name: string;
  readonly mac: string;
}

const MEMORY_MIB = 128;
/** A guest has at most as many NICs. */
const PORTS = 3;
const KERNEL_ARGUMENTS = "console=ttyS0 quiet panic=-1 nokaslr tsc=reliable mitigations=off no_timer_check";
const CONSOLE_CHARACTERS_SHOWN = 2000;

/** A boot takes 3 s of CPU, of which a busy machine gives little. */
const BOOT_LIMIT_MS = 170_000;
const COMMAND_LIMIT_MS = 60_000;
const UNPLUG_LIMIT_MS = 60_000;
const MIGRATION_LIMIT_MS = 60_000;

export class Guest implements AsyncDisposable {
  readonly #directory: string;
  readonly #shell: GuestShell;
  readonly #qmp: Qmp;
  readonly #process: ChildProcess;
  /** Rejected when QEMU ends. */
  readonly #end = Promise.withResolvers<never>();

  private constructor(directory: string, shell: GuestShell, qmp: Qmp, process: ChildProcess) {
    this.#directory = directory;
    this.#shell = shell;
    this.#qmp = qmp;
    this.#process = process;
    this.#end.promise.catch(() => {});
    process.once("error", (error) => this.#end.reject(error));
    process.once("exit", async (code, signal) => {
      this.#end.reject(new Error(`QEMU ended (${signal ?? code}):\n${await this.#console()}`));
    });
  }

  static async boot(settings: GuestSettings): Promise<Guest> {
    return Guest.#start(settings, [], (guest) => guest.#orEnd("boot", BOOT_LIMIT_MS, guest.#shell.ready));
  }

  /** Waits for a guest that migrates here. It must be given the NICs that the guest still has, in the same order. */
  static receiver(settings: GuestSettings): Promise<Guest> {
    return Guest.#start(settings, ["-incoming", "defer"], async () => {});
  }

  static async #start(
    { parts, enter, nics }: GuestSettings,
    more: readonly string[],
    whenReady: (guest: Guest) => Promise<void>,
  ): Promise<Guest> {
    const directory = await makeRunDirectory();
    const initramfs = path.join(directory, "initramfs");
    await writeFile(initramfs, parts.initramfs);
    const [shellPath, qmpPath] = [path.join(directory, "shell"), path.join(directory, "qmp")];
    const [shell, qmp] = [await GuestShell.listen(shellPath), await Qmp.listen(qmpPath)];
    const [command = "", ...args] = enter([
      ...parts.qemu,
      ...["-machine", "q35", "-accel", "tcg", "-m", `${MEMORY_MIB}`, "-smp", "1"],
      ...["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"],
      ...["-kernel", parts.kernel, "-initrd", initramfs, "-append", KERNEL_ARGUMENTS],
      ...["-serial", `file:${path.join(directory, "console")}`],
      ...["-chardev", `socket,id=shell,path=${shellPath}`, "-serial", "chardev:shell"],
      ...["-chardev", `socket,id=qmp,path=${qmpPath}`, "-mon", "chardev=qmp,mode=control"],
      ...PORT_OPTIONS,
      ...nics.flatMap(nicOptions),
      ...more,
    ]);
    const process = spawn("setpriv", ["--pdeathsig=KILL", command, ...args], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const guest = new Guest(directory, shell, qmp, process);
    try {
      await guest.#execute("qmp_capabilities");
      await whenReady(guest);
      return guest;
    } catch (error) {
      await guest[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Runs one line in the guest's shell. */
  run(command: string): Promise<CommandOutcome> {
    return this.#orEnd(`run ${command}`, COMMAND_LIMIT_MS, this.#shell.run(command));
  }

  /** The NICs in the order of their names. */
  async nics(): Promise<SeenNic[]> {
    const { output } = await this.run("cd /sys/class/net && for n in eth*; do echo $n $(cat $n/address); done; cd /");
    return output.split("\n").flatMap((line) => {
      const [name = "", mac] = line.split(" ");
      return mac === undefined ? [] : [{ name, mac }];
    });
  }

  async setAddress(nic: string, address: string): Promise<void> {
    await this.#must(`ip address add ${address} dev ${nic} && ip link set ${nic} up`);
  }

  /** Sends under another MAC from now on, as any program in a guest may that has the privilege. */
  async setMac(nic: string, mac: string): Promise<void> {
    await this.#must(`ip link set ${nic} down && ip link set ${nic} address ${mac} && ip link set ${nic} up`);
  }

  /** How many of `count` echo requests were answered. Each waits for two seconds. */
  async ping(address: string, count: number): Promise<number> {
    const { output } = await this.run(`ping -c ${count} -i 0.2 -W 2 ${address}`);
    const received = /, (\d+) packets received/.exec(output)?.[1];
    if (received === undefined) throw new Error(`ping said: ${output}`);
    return Number(received);
  }

  /** Takes a NIC out of the running guest. Done when the guest has let go of it. */
  async unplug(nic: string): Promise<void> {
    await this.#execute("device_del", { id: nic });
    const gone = this.#qmp.event(({ event, data }) => event === "DEVICE_DELETED" && data?.device === nic);
    await this.#orEnd(`unplug ${nic}`, UNPLUG_LIMIT_MS, gone);
    await this.#execute("netdev_del", { id: netdevOf(nic) });
  }

  /** The guest goes on in `receiver`, where it has got to when this is fulfilled. */
  async migrateTo(receiver: Guest): Promise<void> {
    const uri = `unix:${path.join(receiver.#directory, "migration")}`;
    const capabilities = [{ capability: "events", state: true }];
    for (const side of [this, receiver]) await side.#execute("migrate-set-capabilities", { capabilities });
    await receiver.#execute("migrate-incoming", { uri });
    await this.#execute("migrate", { uri });
    for (const side of [this, receiver]) {
      const over = side.#qmp.event(({ event, data }) => event === "MIGRATION" && isFinal(data?.status));
      const { data } = await side.#orEnd("migrate", MIGRATION_LIMIT_MS, over);
      if (data?.status === "completed") continue;
      throw new Error(`the guest did not migrate: ${JSON.stringify(await side.#execute("query-migrate"))}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null && this.#process.pid !== undefined) {
      const gone = once(this.#process, "exit");
      this.#process.kill("SIGKILL");
      await gone;
    }
    await this.#shell[Symbol.asyncDispose]();
    await this.#qmp[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #must(command: string): Promise<void> {
    const { code, output } = await this.run(command);
    if (code !== 0) throw new Error(`in the guest, ${command}: ${output}`);
  }

  #execute(command: string, args: object = {}): Promise<unknown> {
    return this.#orEnd(command, COMMAND_LIMIT_MS, this.#qmp.execute(command, args));
  }

  /** What the guest's kernel said last. */
  async #console(): Promise<string> {
    const text = await readFile(path.join(this.#directory, "console"), "utf8").catch(() => "");
    return text.slice(-CONSOLE_CHARACTERS_SHOWN);
  }

  async #orEnd<T>(what: string, limitMs: number, result: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(async () => {
      late.reject(new Error(`the guest did not ${what} within ${limitMs / 1000} s:\n${await this.#console()}`));
    }, limitMs);
    try {
      return await Promise.race([result, this.#end.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
}

const netdevOf = (nic: string): string => `${nic}-tap`;

const isFinal = (status: unknown): boolean => ["completed", "failed", "cancelled"].includes(String(status));

/** What sits on the root bus can't be unplugged. Like KubeVirt, leave ports free; they stay when their NIC is gone. */
const PORT_OPTIONS = Array.from({ length: PORTS }, (_, index) => [
  "-device",
  `pcie-root-port,id=port${index},chassis=${index},slot=${index}`,
]).flat();

function nicOptions({ name, tap, mac }: GuestNic, index: number): string[] {
  return [
    ...["-netdev", `tap,id=${netdevOf(name)},ifname=${tap},script=no,downscript=no`],
    ...["-device", `virtio-net-pci,id=${name},bus=port${index},netdev=${netdevOf(name)},mac=${mac},romfile=`],
  ];
}
