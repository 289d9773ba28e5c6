/** A kubeconfig for a bearer token, as JSON. `certificate`: of the API server's CA, in PEM. */
export function tokenKubeconfig(server: string, certificate: string, token: string): string {
  const ca = Buffer.from(certificate).toString("base64");
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "local", cluster: { server, "certificate-authority-data": ca } }],
    users: [{ name: "pool", user: { token } }],
    contexts: [{ name: "local", context: { cluster: "local", user: "pool" } }],
    "current-context": "local",
  });
}
