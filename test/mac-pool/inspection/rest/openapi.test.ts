import { expect, it } from "vitest";
import { openApiDocument } from "../../../../src/mac-pool/inspection/rest/openapi.ts";

it("/openapi.json says what it said before, until somebody means to change it", async () => {
  const text = `${JSON.stringify(openApiDocument(), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot("../../../golden/openapi.json");
});
