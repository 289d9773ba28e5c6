import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:tls";
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { describe, expect, it } from "vitest";
import { isSignedBy, isSigningKey, type KeyPair, parseKeyPair } from "../../src/certs/certificate.ts";
import { issueCa, issueServing } from "../../src/certs/issuer.ts";
import { commonName } from "../../src/certs/signed-certificate.ts";
import { Authority } from "../cluster/control-plane/authority.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const DAY_MS = 24 * 3_600_000;
const NAMES = ["hook.ns.svc", "hook.ns.svc.cluster.local", "hook"] as const;

const parsed = ({ certificate }: KeyPair): x509.X509Certificate => new x509.X509Certificate(certificate.pem);
const extension = <T extends x509.Extension>(pair: KeyPair, kind: new (raw: ArrayBuffer) => T): T | null =>
  parsed(pair).getExtension(kind);

describe("certificates as another library reads them", () => {
  const ca = issueCa({ commonName: "hook CA", nowMs: NOW_MS, lifetimeMs: 2 * DAY_MS });
  const serving = issueServing({ ca, dnsNames: [...NAMES], nowMs: NOW_MS, lifetimeMs: DAY_MS });

  it("are a CA that signs end certificates only, and a server's certificate of it", async () => {
    expect(extension(ca, x509.BasicConstraintsExtension)).toMatchObject({ ca: true, pathLength: 0, critical: true });
    const signs = x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign;
    expect(extension(ca, x509.KeyUsagesExtension)).toMatchObject({ usages: signs, critical: true });
    expect(await parsed(ca).isSelfSigned()).toBe(true);

    expect(extension(serving, x509.BasicConstraintsExtension)).toMatchObject({ ca: false, critical: true });
    const shakes = x509.KeyUsageFlags.digitalSignature;
    expect(extension(serving, x509.KeyUsagesExtension)).toMatchObject({ usages: shakes, critical: true });
    expect(extension(serving, x509.ExtendedKeyUsageExtension)?.usages).toEqual([x509.ExtendedKeyUsage.serverAuth]);
    const names = extension(serving, x509.SubjectAlternativeNameExtension)?.names.items.map(({ value }) => value);
    expect(names).toEqual([...NAMES]);
    expect(parsed(serving).subject).toBe("CN=hook.ns.svc");
    expect(await parsed(serving).verify({ publicKey: await parsed(ca).publicKey.export(), signatureOnly: true })).toBe(
      true,
    );
  });

  it("name each other by the same key identifier, which is that of the key", async () => {
    const own = extension(ca, x509.SubjectKeyIdentifierExtension)?.keyId;
    expect(own).toBe(Buffer.from(await parsed(ca).publicKey.getKeyIdentifier()).toString("hex"));
    expect(extension(serving, x509.AuthorityKeyIdentifierExtension)?.keyId).toBe(own);
  });

  it("are valid from a little before, and no longer than their CA", () => {
    expect(parsed(ca).notBefore).toEqual(new Date(NOW_MS - 5 * 60_000));
    expect(parsed(ca).notAfter).toEqual(new Date(NOW_MS + 2 * DAY_MS));
    expect(parsed(serving).notAfter).toEqual(new Date(NOW_MS + DAY_MS));
    const long = issueServing({ ca, dnsNames: [...NAMES], nowMs: NOW_MS, lifetimeMs: 9 * DAY_MS });
    expect(parsed(long).notAfter).toEqual(parsed(ca).notAfter);
  });

  it("may end after 2049, where dates are written another way", () => {
    const lifetimeMs = 40 * 365 * DAY_MS;
    const late = issueCa({ commonName: "late", nowMs: NOW_MS, lifetimeMs });
    expect(parsed(late).notAfter).toEqual(new Date(NOW_MS + lifetimeMs));
    expect(late.certificate.notAfterMs).toBe(NOW_MS + lifetimeMs);
  });

  it("have keys that can sign, and belong to them", () => {
    for (const { certificate, keyPem } of [ca, serving]) {
      expect(isSigningKey(keyPem)).toBe(true);
      const spki = { type: "spki", format: "pem" } as const;
      expect(createPublicKey(certificate.pem).export(spki)).toEqual(
        createPublicKey(createPrivateKey(keyPem)).export(spki),
      );
    }
  });
});

describe("a serving certificate", () => {
  it("has the name of its CA as that has it, whatever string type that is", async () => {
    const name = "made elsewhere";
    const authority = await Authority.create(name);
    const ca = parseKeyPair(authority.certificate, await authority.privateKey());
    const written = Buffer.from(new x509.Name([{ CN: [name] }]).toArrayBuffer());
    expect(written).not.toEqual(commonName(name));
    if (ca === undefined) throw new Error("no pair");
    const { certificate } = issueServing({ ca, dnsNames: [...NAMES], nowMs: Date.now(), lifetimeMs: DAY_MS });
    expect(new X509Certificate(certificate.pem).raw.includes(written)).toBe(true);
    expect(isSignedBy(certificate, ca.certificate)).toBe(true);
  });

  it("is accepted by a TLS client that trusts its CA alone", async () => {
    const nowMs = Date.now();
    const ca = issueCa({ commonName: "hook CA", nowMs, lifetimeMs: DAY_MS });
    const { certificate, keyPem } = issueServing({ ca, dnsNames: [...NAMES], nowMs, lifetimeMs: DAY_MS });
    expect(isSignedBy(certificate, ca.certificate)).toBe(true);
    const server = createServer({ cert: certificate.pem, key: keyPem }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = connect({ port, host: "127.0.0.1", servername: NAMES[0], ca: ca.certificate.pem });
    await once(client, "secureConnect");
    expect(client.authorized).toBe(true);
    client.destroy();
    server.close();
  });
});
