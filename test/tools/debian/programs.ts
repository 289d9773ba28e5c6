/**
 * The programs that tests need and README does not ask for. Where the machine lacks one, it comes from packages of Debian or
 * Ubuntu, which are unpacked in the cache and never installed. Nothing here needs root.
 */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import path, { delimiter } from "node:path";
import { promisify } from "node:util";
import { cacheDirectory } from "../../../cni-plugins/build/built-plugins.ts";
import { withTemporaryFolder } from "../../../cni-plugins/build/temporary-folder.ts";
import { findExecutable, searchPath } from "../../cluster/requirements.ts";
import { DebianIndex } from "./index.ts";
import { unpackOnce } from "./packages.ts";

const run = promisify(execFile);

type Commands = (root: string, env: NodeJS.ProcessEnv) => Promise<Readonly<Record<string, string>>>;

/** Of the names that the cache keeps programs under. */
const PREFIX = "program-";

interface Program {
  /** What is looked for on the machine. */
  readonly name: string;
  /** Other names of it, which are looked for too. */
  readonly alike?: readonly string[];
  /** What `apt-get install` would be given. */
  readonly packages: readonly string[];
  /** Whether the first package has no content and stands for one that depends on the release. */
  readonly isMeta?: boolean;
  /** Whether it needs nothing of its packages but itself: then it gets a link. */
  readonly isStatic?: boolean;
  /** The shell command that runs it, without its arguments, for each name that it gets. */
  readonly commands?: Commands;
}

const PROGRAMS: readonly Program[] = [
  // It shows rules of iptables in words with the extensions of that package.
  { name: "nft", packages: ["nftables", "iptables"], commands: nft },
  { name: "iptables", packages: ["iptables"], commands: iptables },
  { name: "strace", packages: ["strace"] },
  { name: "busybox", packages: ["busybox-static"], isStatic: true },
  { name: "linux.uml", packages: ["user-mode-linux"], isStatic: true },
  { name: "runc", packages: ["runc"] },
  { name: "promtool", packages: ["prometheus"] },
  { name: "qemu-aarch64-static", packages: ["qemu-user-static"], isStatic: true },
  { name: "aarch64-linux-gnu-gcc", packages: ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"], commands: crossGcc },
  { name: "python3", packages: ["python3-pip", "python3"], commands: python },
  { name: "java", packages: ["default-jre-headless"], isMeta: true, commands: java },
  { name: "mvn", packages: ["maven"], commands: maven },
  { name: "zsh", packages: ["zsh", "zsh-common"], commands: zsh },
  { name: "fish", packages: ["fish"], commands: fish },
  {
    name: "chromium",
    alike: ["chromium-browser", "google-chrome-stable", "google-chrome"],
    packages: ["chromium", "fonts-dejavu-core"],
    commands: chromium,
  },
];

export interface ProvidedPrograms {
  /** The search path with what was fetched first in it. */
  readonly path: string;
  /** Those that are neither on the machine nor to be had, and what `apt-get install` would need. */
  readonly missing: readonly { readonly name: string; readonly packages: readonly string[] }[];
}

/** True where a test's program is neither on the machine nor fetched: for `describe.skipIf`. */
export const lacks = (...names: readonly string[]): boolean => names.some((name) => findExecutable(name) === undefined);

/** The folders of what was fetched and is in the search path. */
export const fetchedRoots = (env: NodeJS.ProcessEnv = process.env): string[] =>
  searchPath(env)
    .split(delimiter)
    .filter((folder) => folder.startsWith(path.join(cacheDirectory(env), PREFIX)))
    .map((folder) => path.dirname(folder));

/** Fetches what the machine lacks, of all or of the named programs. Downloads once for each machine; up to 400 MB. */
export async function providePrograms(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
  names?: readonly string[],
): Promise<ProvidedPrograms> {
  const wanted = PROGRAMS.filter(({ name }) => names?.includes(name) ?? true);
  const lacking = wanted.filter(({ name, alike = [] }) =>
    [name, ...alike].every((known) => findExecutable(known, env) === undefined),
  );
  const release = await releaseOfMachine();
  const folders: string[] = [];
  const missing: Program[] = [];
  const parent = cacheDirectory(env);
  await mkdir(parent, { recursive: true });
  await withTemporaryFolder({ parent, prefix: "unfinished-package-lists-" }, async (lists) => {
    let index: Promise<DebianIndex> | undefined;
    for (const program of lacking) {
      const root = await unpackOnce(`${PREFIX}${program.name}-${release}`, env, async (directory) => {
        log(`downloading ${program.packages.join(", ")} (once; nothing is installed)`);
        index ??= DebianIndex.ofMachine(lists);
        const [first = "", ...more] = program.packages;
        const real = program.isMeta ? await (await index).standsFor(first, directory) : first;
        await (await index).downloadComplete([real, ...more], directory);
      });
      const path = searchPathWith(folders, env);
      const folder = root && (await wrappersIn(root, program, { ...env, PATH: path }).catch(() => undefined));
      if (folder === undefined) missing.push(program);
      else folders.push(folder);
    }
  });
  return { path: searchPathWith(folders, env), missing };
}

const searchPathWith = (folders: readonly string[], env: NodeJS.ProcessEnv): string =>
  [...folders, searchPath(env)].join(delimiter);

/** The one line that says what a run lacked, and the command that makes it whole. */
export function whatIsMissing({ missing }: ProvidedPrograms): string | undefined {
  if (missing.length === 0) return undefined;
  const names = missing.map(({ name }) => name).join(", ");
  const packages = [...new Set(missing.flatMap(({ packages }) => packages))].join(" ");
  return `not found and not to be downloaded: ${names}; for the whole run: apt-get install ${packages}`;
}

/** The folder of the scripts that start the program out of `root`. */
async function wrappersIn(
  root: string,
  { name, isStatic, commands = plain(name) }: Program,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const folder = path.join(root, "wrappers");
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  if (isStatic) await symlink(await fileIn(root, name), path.join(unfinished, name));
  for (const [script, command] of Object.entries(isStatic ? {} : await commands(root, env))) {
    await writeFile(path.join(unfinished, script), `#!/bin/sh\nexec ${command} "$@"\n`, { mode: 0o755 });
  }
  await rename(unfinished, folder).catch(async (error: unknown) => {
    // Somebody else may have been faster; theirs is the same.
    await rm(unfinished, { recursive: true });
    if (!existsSync(folder)) throw error;
  });
  return folder;
}

/** A code name, such as bookworm or noble. */
async function releaseOfMachine(): Promise<string> {
  const text = await readFile("/etc/os-release", "utf8").catch(() => "");
  return /^VERSION_CODENAME=(\w+)$/m.exec(text)?.[1] ?? "unknown";
}

/** Throws where the packages have no such file. */
async function fileIn(root: string, name: string): Promise<string> {
  const file = ["usr/bin", "usr/sbin", "bin", "sbin"]
    .map((folder) => path.join(root, folder, name))
    .find((candidate) => existsSync(candidate));
  if (file === undefined) throw new Error(`the packages of ${root} have no ${name}`);
  return file;
}

/** Folders of shared libraries: those of the architecture, and those in `more` below them. */
async function libraries(root: string, ...more: readonly string[]): Promise<string> {
  const folders = ["usr/lib", "lib"].map((folder) => path.join(root, folder)).filter((folder) => existsSync(folder));
  const found: string[] = [];
  for (const folder of folders) {
    for (const entry of await readdir(folder)) {
      if (/-linux-gnu$/.test(entry)) found.push(path.join(folder, entry));
    }
  }
  return [...found, ...found.flatMap((folder) => more.map((name) => path.join(folder, name)))].join(":");
}

const withLibraries = async (root: string, ...more: readonly string[]): Promise<string> =>
  `/usr/bin/env LD_LIBRARY_PATH=${await libraries(root, ...more)}`;

function plain(name: string): Commands {
  return async (root) => ({ [name]: `${await withLibraries(root)} ${await fileIn(root, name)}` });
}

async function withExtensions(root: string): Promise<string> {
  const extensions = (await libraries(root, "xtables"))
    .split(":")
    .find((folder) => existsSync(`${folder}/libxt_MASQUERADE.so`));
  return `${await withLibraries(root)} XTABLES_LIBDIR=${extensions}`;
}

async function nft(root: string): Promise<Record<string, string>> {
  return { nft: `${await withExtensions(root)} ${await fileIn(root, "nft")}` };
}

/** The program takes its first argument for its name. */
async function iptables(root: string): Promise<Record<string, string>> {
  const environment = await withExtensions(root);
  const commands: Record<string, string> = {};
  for (const family of ["iptables", "ip6tables"]) {
    for (const action of ["", "-save", "-restore"]) {
      const program = `${family}${action}`;
      commands[program] = `${environment} ${await fileIn(root, "xtables-nft-multi")} ${program}`;
      const legacy = `${environment} ${await fileIn(root, "xtables-legacy-multi")} ${program}`;
      commands[`${family}-legacy${action}`] = legacy;
    }
  }
  return commands;
}

async function crossGcc(root: string): Promise<Record<string, string>> {
  const prefix = "aarch64-linux-gnu-";
  const environment = await withLibraries(root);
  const names = (await readdir(path.join(root, "usr/bin"))).filter((name) => name.startsWith(prefix));
  return Object.fromEntries(names.map((name) => [name, `${environment} ${path.join(root, "usr/bin", name)}`]));
}

async function python(root: string): Promise<Record<string, string>> {
  const packages = path.join(root, "usr/lib/python3/dist-packages");
  const home = `PYTHONHOME=${path.join(root, "usr")} PYTHONPATH=${packages}`;
  return { python3: `${await withLibraries(root)} ${home} ${await fileIn(root, "python3")}` };
}

async function java(root: string): Promise<Record<string, string>> {
  const machines = path.join(root, "usr/lib/jvm");
  const [home] = (await readdir(machines)).filter((name) => existsSync(path.join(machines, name, "bin/java")));
  if (home === undefined) throw new Error(`the packages of ${root} have no java`);
  const environment = await withLibraries(root);
  const command = (name: string): string => `${environment} ${path.join(machines, home, "bin", name)}`;
  return { java: command("java"), keytool: command("keytool") };
}

/** Where no Java is installed, no authority is either: Maven then trusts those of the machine. */
async function maven(root: string, env: NodeJS.ProcessEnv): Promise<Record<string, string>> {
  const home = path.join(root, "usr/share/maven");
  const options = existsSync(JAVA_AUTHORITIES)
    ? ""
    : ` MAVEN_OPTS=-Djavax.net.ssl.trustStore=${await trustStore(root, env)}`;
  return { mvn: `/usr/bin/env JAVA_HOME= MAVEN_HOME=${home}${options} ${path.join(home, "bin/mvn")}` };
}

const JAVA_AUTHORITIES = "/etc/ssl/certs/java/cacerts";
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";

async function trustStore(root: string, env: NodeJS.ProcessEnv): Promise<string> {
  const store = path.join(root, "authorities");
  const bundle = (await readFile(AUTHORITIES, "utf8")).match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----\n/g) ?? [];
  const file = path.join(root, "authority.pem");
  for (const [number, certificate] of bundle.entries()) {
    await writeFile(file, certificate);
    const argv = ["-importcert", "-noprompt", "-storepass", "changeit", "-keystore", store];
    await run("keytool", [...argv, "-alias", `${number}`, "-file", file], { env });
  }
  return store;
}

/** zsh knows its modules by a path of its own, which only its start-up files can change: those of a test read ZSH_MODULES. */
async function zsh(root: string): Promise<Record<string, string>> {
  const functions = path.join(root, "usr/share/zsh/functions");
  const folders = (await readdir(functions, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const versions = (await libraries(root, "zsh")).split(":").find((folder) => folder.endsWith("/zsh")) ?? "";
  const [version = ""] = await readdir(versions);
  const settings = `FPATH=${[functions, ...folders].join(":")} ZSH_MODULES=${path.join(versions, version)}`;
  return { zsh: `${await withLibraries(root)} ${settings} ${await fileIn(root, "zsh")}` };
}

/** fish takes its own files from beside its program when it finds its settings there too. */
async function fish(root: string): Promise<Record<string, string>> {
  await mkdir(path.join(root, "usr/etc/fish"), { recursive: true });
  return { fish: `${await withLibraries(root)} ${await fileIn(root, "fish")}` };
}

async function chromium(root: string): Promise<Record<string, string>> {
  const settings = path.join(root, "fonts.conf");
  const kinds = ["45-latin.conf", "49-sansserif.conf", "60-latin.conf"];
  const files = ["/etc/fonts/fonts.conf", ...kinds.map((file) => `${root}/usr/share/fontconfig/conf.avail/${file}`)];
  const includes = files.map((file) => `<include ignore_missing="yes">${file}</include>`);
  const folders = ["/usr/share/fonts", `${root}/usr/share/fonts`].map((folder) => `<dir>${folder}</dir>`);
  const cache = `<cachedir>${root}/fonts-cache</cachedir>`;
  await writeFile(settings, `<fontconfig>${[...folders, cache, ...includes].join("")}</fontconfig>\n`);
  const environment = `${await withLibraries(root, "nss", "pulseaudio")} FONTCONFIG_FILE=${settings}`;
  return { chromium: `${environment} ${path.join(root, "usr/lib/chromium/chromium")}` };
}
