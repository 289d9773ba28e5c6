import { describe, expect, it } from "vitest";
import { FINDING_CODES, finding } from "../../src/nad-lint/finding.ts";
import { wordsOf } from "../../src/nad-lint/finding-words.ts";

describe("the words of a finding", () => {
  it("are few, and no code", () => {
    for (const code of FINDING_CODES) {
      const words = wordsOf(finding(code, "anything"));
      expect(words.length, code).toBeLessThanOrEqual(44);
      expect(words).not.toContain(code);
    }
  });

  it("name the key that is ignored, unless it is long", () => {
    const ignored = (key: string) => wordsOf(finding("key-ignored", `plugins[1]: unknown key "${key}" is ignored.`));
    expect(ignored("portIsolaton")).toBe('key "portIsolaton" is ignored');
    expect(ignored("k".repeat(41))).toBe("a key is ignored");
  });
});
