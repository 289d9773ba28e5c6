/** Creates virtual machines one after another until it is stopped, and notes what every single one was answered. */
import { VIRTUAL_MACHINES } from "../../../src/api/kinds.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import type { KubeObject, Resource } from "../../../src/kube/client/resource.ts";
import type { VirtualMachine } from "../kubevirt/virtual-machine.ts";

export const MACHINES: Resource<VirtualMachine & KubeObject> = VIRTUAL_MACHINES as Resource<
  VirtualMachine & KubeObject
>;

export class Admissions {
  readonly failures: string[] = [];
  readonly macs: string[] = [];
  readonly #client: KubeClient;
  readonly #machine: (name: string) => object;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(client: KubeClient, machine: (name: string) => object) {
    this.#client = client;
    this.#machine = machine;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let count = 0; !this.#stopped; count++) {
      try {
        const created = await this.#client.create(
          MACHINES,
          this.#machine(`admitted-${count}`) as VirtualMachine & KubeObject,
        );
        const mac = macOf(created);
        if (mac === undefined) this.failures.push(`admitted-${count} got no MAC address`);
        else this.macs.push(mac);
      } catch (error) {
        this.failures.push(String(error));
      }
    }
  }
}

export function macOf(machine: VirtualMachine): string | undefined {
  return machine.spec?.template?.spec?.domain?.devices?.interfaces?.[0]?.macAddress;
}
