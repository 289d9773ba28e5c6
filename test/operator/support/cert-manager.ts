/** The kinds of cert-manager that a component needs. Nobody issues certificates. */

import { CERT_MANAGER_GROUP } from "../../../src/operator/apply/applied-kinds.ts";
import { definitionOfAnything } from "./definition-of-anything.ts";

const ofCertManager = { group: CERT_MANAGER_GROUP, version: "v1", namespaced: true };

export const CERT_MANAGER_CRDS = [
  definitionOfAnything({ ...ofCertManager, kind: "Issuer", plural: "issuers" }),
  definitionOfAnything({ ...ofCertManager, kind: "Certificate", plural: "certificates" }),
];
