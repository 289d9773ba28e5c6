/** UTF-8 for runtimes without TextEncoder: kernel names and aliases are bytes that are nearly always ASCII. */

const REPLACEMENT = "\ufffd";

export function encodeUtf8(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0x80) return encodeEscaped(text);
    bytes[i] = code;
  }
  return bytes;
}

function encodeEscaped(text: string): Uint8Array {
  const escaped = encodeURIComponent(text.toWellFormed());
  const bytes: number[] = [];
  for (let i = 0; i < escaped.length; i++) {
    if (escaped[i] === "%") {
      bytes.push(Number.parseInt(escaped.slice(i + 1, i + 3), 16));
      i += 2;
    } else {
      bytes.push(escaped.charCodeAt(i));
    }
  }
  return new Uint8Array(bytes);
}

/** Replaces each invalid byte by U+FFFD. */
export function decodeUtf8(bytes: Uint8Array): string {
  for (let i = 0; i < bytes.length; i++) if ((bytes[i] ?? 0) >= 0x80) return decodeEscaped(bytes);
  return Reflect.apply(String.fromCharCode, undefined, bytes);
}

function decodeEscaped(bytes: Uint8Array): string {
  let ascii = "";
  let escaped = "";
  for (const byte of bytes) {
    ascii += byte < 0x80 ? String.fromCharCode(byte) : REPLACEMENT;
    escaped += byte < 0x80 && byte !== 0x25 ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, "0")}`;
  }
  try {
    return decodeURIComponent(escaped);
  } catch {
    return ascii;
  }
}
