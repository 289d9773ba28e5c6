import fc from "fast-check";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { objectYaml } from "../../../src/kube/client/object-yaml.ts";
import { share } from "../../support/share.ts";

/** Texts that a parser of YAML 1.1 or of 1.2 takes for something else without quotes. */
const AMBIGUOUS = fc.constantFrom(
  ...["Off", "on", "NO", "yes", "y", "N", "true", "null", "~", "", "<<", "=", ".inf", ".NaN", "-", "?"],
  ...["0777", "0o17", "0x1f", "0b11", "1_000", "+1", "1e3", "1.5", "02:00:00:00:00:00", "1:30", "1:30.5"],
  ...["2026-11-26", "2026-11-26T10:00:00Z", "%YAML 1.1", "@x", "&a", "*a", "!!int 1", "a: b", "a #b", " a ", "a\nb\n"],
);
const TEXT = fc.oneof(AMBIGUOUS, fc.string());

it("writes what parsers of YAML 1.1 and of YAML 1.2 read back", () => {
  const object = fc.dictionary(
    TEXT.filter((key) => key !== "__proto__"),
    fc.oneof(TEXT, fc.array(TEXT), fc.integer(), fc.boolean()),
  );
  fc.assert(
    fc.property(object, (written) => {
      const text = objectYaml(written);
      const plain = JSON.parse(JSON.stringify(written));
      for (const version of ["1.1", "1.2"] as const) expect(parse(text, { version }), text).toEqual(plain);
    }),
    { numRuns: share(2_000) },
  );
});
