import { execFileSync } from "node:child_process";
import { lstatSync, mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tar } from "../../../deploy/image/tar.ts";
import { type Entry, file, type Tree } from "../../../deploy/image/tree.ts";

const LONG = `deep/${"folder-of-a-long-name/".repeat(8)}file`;
const entries: [string, Entry][] = [
  ["bin/program", file("#!", 0o755)],
  ["bin-of-others/program", file("", 0o755)],
  ["etc/text", file("ünïcode\n")],
  ["empty", file("")],
  ["block", file(Buffer.alloc(512, 7))],
  ["tmp", { kind: "directory", mode: 0o1777 }],
  ["lib", { kind: "link", target: "usr/lib" }],
  ["far", { kind: "link", target: LONG }],
  [LONG, file("found")],
];
const tree: Tree = new Map(entries);

describe("an archive, unpacked by tar", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "tar-test-"));
  const at = (name: string): string => path.join(folder, "root", name);

  beforeAll(() => {
    writeFileSync(path.join(folder, "one.tar"), tar(tree, 1_700_000_000));
    execFileSync("mkdir", [at("")]);
    execFileSync("tar", ["-xpf", path.join(folder, "one.tar"), "-C", at("")]);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(entries)("has %s as it was put in", (name, entry) => {
    if (entry.kind === "link") expect(readlinkSync(at(name))).toBe(entry.target);
    else expect(lstatSync(at(name)).mode & 0o7777).toBe(entry.mode);
    if (entry.kind === "file") expect(readFileSync(at(name))).toEqual(entry.content);
    expect(lstatSync(at(name)).mtimeMs).toBe(1_700_000_000_000);
  });

  it("has the folders that only hold others", () => {
    expect(statSync(at("bin")).mode & 0o7777).toBe(0o755);
    expect(statSync(at("bin")).mtimeMs).toBe(1_700_000_000_000);
  });

  it("lists everything as root's", () => {
    const listed = execFileSync("tar", ["--numeric-owner", "-tvf", path.join(folder, "one.tar")], { encoding: "utf8" });
    const owners = listed
      .trim()
      .split("\n")
      .map((line) => line.split(/\s+/)[1]);
    expect(new Set(owners)).toEqual(new Set(["0/0"]));
  });

  it("does not depend on the order in which it was filled", () => {
    expect(tar(new Map([...entries].reverse()), 5)).toEqual(tar(tree, 5));
  });
});
