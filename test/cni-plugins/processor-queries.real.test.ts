import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { answerProcessorQueries } from "../../cni-plugins/processor-queries.ts";

/**
 * Copies and compares blocks of all sizes, which is done in a way that depends on the processor and its caches. Prints
 * whether the processor is known to have SSE2, which all of them have, and the first cache's size.
 */
const PROGRAM = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/platform/x86.h>
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
  printf("%d %ld", CPU_FEATURE_PRESENT(SSE2) != 0, sysconf(_SC_LEVEL1_DCACHE_SIZE));
  return 0;
}`;

const ONE_MIB = String(1 << 20);

describe.runIf(process.arch === "x64")("a static executable's questions about the processor", () => {
  let directory = "";
  let program = "";

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "processor-queries-"));
    program = path.join(directory, "program");
    await writeFile(`${program}.c`, PROGRAM);
    execFileSync("cc", ["-O2", "-static", "-o", program, `${program}.c`]);
  });

  afterAll(() => rm(directory, { recursive: true, force: true }));

  it("are not asked, and memory of any size is copied as before", async () => {
    const [known, size] = execFileSync(program, { encoding: "utf8" }).split(" ");
    expect(known).toBe("1");
    const { model = "" } = cpus()[0] ?? {};
    const executable = await readFile(program);
    expect(answerProcessorQueries(executable)).toBe(true);
    await writeFile(`${program}.changed`, executable, { mode: 0o755 });
    const answer = /Intel|AMD/.test(model) ? ONE_MIB : size;
    expect(execFileSync(`${program}.changed`, { encoding: "utf8" })).toBe(`0 ${answer}`);
  });

  it("are left alone in an executable without symbols", async () => {
    execFileSync("strip", ["-o", `${program}.stripped`, program]);
    const executable = await readFile(`${program}.stripped`);
    const before = Buffer.from(executable);
    expect(answerProcessorQueries(executable)).toBe(false);
    expect(executable.equals(before)).toBe(true);
  });
});
