import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerCacheQueries } from "../../cni-plugins/cache-queries.ts";

/** Copies through the blocks whose way of copying depends on the caches, and prints the first cache's size. */
const PROGRAM = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
  for (size_t size = 1; size <= 8 << 20; size = size * 3 + 1) {
    char *a = malloc(size), *b = malloc(size);
    for (size_t i = 0; i < size; i++) a[i] = (char)(i * 7 + i / 255);
    memcpy(b, a, size);
    if (memcmp(a, b, size) != 0) return 1;
    free(a);
    free(b);
  }
  printf("%ld", sysconf(_SC_LEVEL1_DCACHE_SIZE));
  return 0;
}`;

const ONE_MIB = String(1 << 20);

describe.runIf(process.arch === "x64")("a static executable's questions about the processor's caches", () => {
  let directory = "";
  let program = "";

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "cache-queries-"));
    program = path.join(directory, "program");
    await writeFile(`${program}.c`, PROGRAM);
    execFileSync("cc", ["-O2", "-static", "-o", program, `${program}.c`]);
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it("are answered by a constant, and memory of any size is copied as before", async () => {
    const before = execFileSync(program, { encoding: "utf8" });
    const { model = "" } = cpus()[0] ?? {};
    const executable = await readFile(program);
    expect(answerCacheQueries(executable)).toBe(true);
    await writeFile(`${program}.changed`, executable, { mode: 0o755 });
    const answer = /Intel|AMD/.test(model) ? ONE_MIB : before;
    expect(execFileSync(`${program}.changed`, { encoding: "utf8" })).toBe(answer);
  });

  it("are left alone in an executable without symbols", async () => {
    execFileSync("strip", ["-o", `${program}.stripped`, program]);
    const executable = await readFile(`${program}.stripped`);
    const before = Buffer.from(executable);
    expect(answerCacheQueries(executable)).toBe(false);
    expect(executable.equals(before)).toBe(true);
  });
});
