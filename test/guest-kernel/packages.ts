/**
 * What a guest kernel needs: user-mode Linux with its modules, and a busybox to load them. Taken from where Debian's
 * packages `user-mode-linux` and `busybox-static` install them, else downloaded by apt-get and unpacked, without
 * installing, into the cache, in a folder that the packages' content names.
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import path from "node:path";

export interface GuestParts {
  /** The kernel, an executable. */
  readonly kernel: string;
  /** Directory with `modules.dep` and the modules it names. */
  readonly modules: string;
  readonly busybox: string;
}

/** The message says what is missing and what to do. */
export class MissingPackage extends Error {}

const PACKAGES = ["user-mode-linux", "busybox-static"];
const PREFIX = "guest-kernel-";
const DOWNLOAD_TIMEOUT_MS = 180_000;

/** `cache`: the directory that programs from elsewhere are kept in. */
export function guestParts(cache: string, log: (line: string) => void = () => {}): GuestParts {
  if (process.arch !== "x64") throw new MissingPackage("the guest kernel (user-mode Linux) is for x86-64 only");
  const cached = () => readdirIfPresent(cache).find((name) => /^guest-kernel-[0-9a-f]{16}$/.test(name));
  const found = partsIn("/") ?? partsIn(path.join(cache, cached() ?? "none"));
  if (found !== undefined) return found;
  log(`downloading ${PACKAGES.join(" and ")} (once, 42 MB)`);
  mkdirSync(cache, { recursive: true });
  const temporary = mkdtempSync(path.join(cache, `${PREFIX}new.`));
  try {
    download(temporary, path.join(cache, PREFIX));
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  const parts = partsIn(path.join(cache, cached() ?? "none"));
  if (parts === undefined) throw new MissingPackage(`the packages ${PACKAGES.join(", ")} have no kernel in them`);
  return parts;
}

/** The same, or why they can't be had here. */
export function guestPartsOrReason(cache: string, log: (line: string) => void): GuestParts | string {
  try {
    return guestParts(cache, log);
  } catch (error) {
    if (error instanceof MissingPackage) return error.message;
    throw error;
  }
}

function download(temporary: string, prefix: string): void {
  run("apt-get", ["download", "-q", ...PACKAGES], temporary);
  const packages = readdirSync(temporary).sort();
  const hash = createHash("sha256");
  for (const file of packages) hash.update(readFileSync(path.join(temporary, file)));
  for (const file of packages) {
    run("dpkg", ["-x", file, "root"], temporary);
    rmSync(path.join(temporary, file));
  }
  const target = `${prefix}${hash.digest("hex").slice(0, 16)}`;
  try {
    renameSync(path.join(temporary, "root"), target);
  } catch (error) {
    // Somebody else may have been faster; theirs is the same.
    if (!existsSync(target)) throw error;
  }
}

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, error, stderr } = spawnSync(command, args, { cwd, encoding: "utf8", timeout: DOWNLOAD_TIMEOUT_MS });
  if (status === 0) return;
  const why = error?.message ?? stderr.trim().split("\n").at(-1);
  throw new MissingPackage(
    `the guest kernel can't be had (${command}: ${why}): install ${PACKAGES.join(" and ")}, or run "apt-get update" first`,
  );
}

function partsIn(root: string): GuestParts | undefined {
  const versions = path.join(root, "usr/lib/uml/modules");
  const version = readdirIfPresent(versions)[0];
  const parts = {
    kernel: path.join(root, "usr/bin/linux.uml"),
    modules: path.join(versions, version ?? ""),
    busybox: path.join(root, "bin/busybox"),
  };
  return version !== undefined && existsSync(parts.kernel) && existsSync(parts.busybox) ? parts : undefined;
}

function readdirIfPresent(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
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
