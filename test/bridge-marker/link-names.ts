import fc from "fast-check";

/** What the kernel takes as a link's name (dev_valid_name): 1 to 15 bytes, no slash, colon or space, neither `.` nor `..`. */
function isLinkName(name: string): boolean {
  const bytes = new TextEncoder().encode(name).length;
  return bytes > 0 && bytes < 16 && !/[/:\s]/.test(name) && name !== "." && name !== "..";
}

const usual = fc.string({ unit: fc.constantFrom(..."abzABZ019-_.~@+é"), minLength: 1, maxLength: 15 });
/** Names that a bridge can have. */
export const linkName = fc.oneof(usual, fc.string({ unit: "binary", minLength: 1, maxLength: 15 })).filter(isLinkName);
