/** What a guest kernel needs: user-mode Linux with its modules, and a busybox without shared libraries to load them. */

import { existsSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { findExecutable } from "../cluster/requirements.ts";

export interface GuestParts {
  /** The kernel, an executable. */
  readonly kernel: string;
  /** Directory with `modules.dep` and the modules it names. */
  readonly modules: string;
  readonly busybox: string;
}

/** The message says what is missing and what to do. */
export class MissingPackage extends Error {}

/** Throws a MissingPackage where they can't be had. */
export function guestParts(): GuestParts {
  if (process.arch !== "x64") throw new MissingPackage("the guest kernel (user-mode Linux) is for x86-64 only");
  const [kernel, busybox] = ["linux.uml", "busybox"].map((name) => findExecutable(name));
  if (kernel === undefined || busybox === undefined) {
    throw new MissingPackage("the guest kernel is not found: apt-get install user-mode-linux busybox-static");
  }
  const versions = path.join(path.dirname(realpathSync(kernel)), "../lib/uml/modules");
  const [version] = existsSync(versions) ? readdirSync(versions) : [];
  if (version === undefined) throw new MissingPackage(`the guest kernel has no modules in ${versions}`);
  return { kernel, modules: path.join(versions, version), busybox };
}

/** The same, or why they can't be had here. */
export function guestPartsOrReason(): GuestParts | string {
  try {
    return guestParts();
  } catch (error) {
    if (error instanceof MissingPackage) return error.message;
    throw error;
  }
}

/** Files of the named modules, each after what it needs. `dependencies`: the text of modules.dep. */
export function moduleFiles(dependencies: string, names: readonly string[]): string[] {
  const needs = new Map<string, string[]>();
  for (const line of dependencies.split("\n")) {
    const [file = "", needed = ""] = line.split(":");
    if (file !== "") needs.set(file, needed.split(" ").filter(Boolean));
  }
  const ordered: string[] = [];
  const add = (file: string) => {
    if (ordered.includes(file)) return;
    needs.get(file)?.forEach(add);
    ordered.push(file);
  };
  for (const name of names) {
    const file = [...needs.keys()].find((key) => path.basename(key) === `${name}.ko`);
    if (file === undefined) throw new MissingPackage(`the guest kernel has no module ${name}`);
    add(file);
  }
  return ordered;
}
