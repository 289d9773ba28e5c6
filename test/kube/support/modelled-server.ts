import type { ConfigMap } from "../../../src/kube/client/built-in-kinds.ts";
import { configMap } from "./objects.ts";

interface Entry {
  readonly type: "put" | "remove";
  readonly version: number;
  readonly object: ConfigMap;
}

/** An API server as a log of versions: what it has, and what a watch from any version would deliver next. */
export class ModelledServer {
  readonly #objects = new Map<string, ConfigMap>();
  readonly #log: Entry[] = [];
  #version = 0;
  /** Versions before it can neither be watched from nor listed on. */
  compactedTo = 0;
  #uids = 0;

  get version(): number {
    return this.#version;
  }

  get objects(): ConfigMap[] {
    return [...this.#objects.values()];
  }

  /** Creates or changes an object. */
  write(name: string): void {
    this.#append("put", name, this.#objects.get(name)?.metadata.uid ?? `uid-${++this.#uids}`);
  }

  delete(name: string): void {
    const uid = this.#objects.get(name)?.metadata.uid;
    if (uid !== undefined) {
      this.#append("remove", name, uid);
    }
  }

  compact(): void {
    this.compactedTo = this.#version;
  }

  /** The first thing that happened after a version. */
  after(version: number): Entry | undefined {
    return this.#log.find((entry) => entry.version > version);
  }

  #append(type: "put" | "remove", name: string, uid: string): void {
    const version = ++this.#version;
    const object = configMap(name, String(version), { uid });
    this.#log.push({ type, version, object });
    if (type === "put") {
      this.#objects.set(name, object);
    } else {
      this.#objects.delete(name);
    }
  }
}
