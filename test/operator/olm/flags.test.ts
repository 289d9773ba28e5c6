import { describe, expect, it } from "vitest";
import { DEFAULT_IMAGE } from "../../../src/api/image.ts";
import { PRODUCT_VERSION } from "../../../src/api/names.ts";
import { PUBLISHED_IMAGES } from "../../../src/operator/config/component-images.ts";
import { olmObjects } from "../../../src/operator/olm/cluster-service-version.ts";
import { readFlags } from "../../../src/operator/olm/flags.ts";

const DIGEST = "0123456789abcdef".repeat(4);

describe("the flags of csv-generator", () => {
  it("are those that the build of the HyperConverged operator passes, for an image by its digest", () => {
    const flags = readFlags([
      "--namespace=kubevirt-hyperconverged",
      "--version=1.18.0",
      "--version-replaces=1.17.0",
      "--image-pull-policy=IfNotPresent",
      "--operator-version=v0.102.0",
      `--container-tag=${DIGEST}`,
      "--container-prefix=registry.test:5000/team",
      "--image-name=addons@sha256",
      "--kube-rbac-proxy-image=registry.test/proxy:1",
      "--dump-crds",
    ]);
    const image = `registry.test:5000/team/addons@sha256:${DIGEST}`;
    expect(flags).toEqual({
      version: "1.18.0",
      replaces: "1.17.0",
      operatorVersion: "v0.102.0",
      namespace: "kubevirt-hyperconverged",
      image,
      imagePullPolicy: "IfNotPresent",
      images: { linuxBridge: image, bridgeMarker: image, kubeMacPool: image },
      componentImages: {},
      imageMirror: undefined,
      dumpCrds: true,
    });
  });

  it("have the defaults of the release, also where they are empty", () => {
    const own = {
      version: PRODUCT_VERSION,
      replaces: undefined,
      operatorVersion: PRODUCT_VERSION,
      namespace: "cluster-network-addons",
      image: DEFAULT_IMAGE,
      dumpCrds: false,
    };
    expect(readFlags([])).toMatchObject(own);
    expect(readFlags(["--version-replaces=", "--container-prefix", "", "--namespace="])).toMatchObject(own);
  });

  it("may have a slash at the end of the prefix", () => {
    const flags = readFlags(["--container-prefix=quay.io/kubevirt/", "--image-name=addons", "--container-tag=v1"]);
    expect(flags.image).toBe("quay.io/kubevirt/addons:v1");
  });

  it("may be given twice: the last one counts, also where it is empty or false", () => {
    const twice = ["--namespace=a", "--dump-crds", "--namespace", "b", "--dump-crds=false"];
    expect(readFlags(twice)).toMatchObject({ namespace: "b", dumpCrds: false });
    expect(readFlags(["--version-replaces=1.0.0", "--version-replaces="]).replaces).toBeUndefined();
    expect(readFlags(["--image-pull-policy=Now", "--image-pull-policy=Always"]).imagePullPolicy).toBe("Always");
  });

  it("may name an image for each component", () => {
    const flags = readFlags([
      "--multus-image=registry.test/multus:1",
      "--kube-secondary-dns",
      "registry.test/dns:2",
      "--kubevirt-ipam-controller=registry.test/ipam:3",
      "--kubemacpool-image=registry.test/pool:4",
    ]);
    expect(flags.componentImages).toEqual({
      MULTUS_IMAGE: "registry.test/multus:1",
      KUBE_SECONDARY_DNS_IMAGE: "registry.test/dns:2",
      KUBEVIRT_IPAM_CONTROLLER_IMAGE: "registry.test/ipam:3",
    });
    expect(flags.images).toEqual({
      linuxBridge: DEFAULT_IMAGE,
      bridgeMarker: DEFAULT_IMAGE,
      kubeMacPool: "registry.test/pool:4",
    });
  });

  it("may name a mirror, which goes before each image of other projects that no flag names", () => {
    const args = ["--mirror=registry.test/mirror", "--multus-image=registry.test/multus:1"];
    const { clusterServiceVersion } = olmObjects(readFlags(args));
    const [deployment] = clusterServiceVersion.spec.install.spec.deployments;
    const variables = deployment?.spec?.template.spec?.containers[0]?.env ?? [];
    const published = Object.entries(PUBLISHED_IMAGES).map(([name, image]) => ({
      name,
      value: `registry.test/mirror/${image.name}@${image.digest}`,
    }));
    const expected = published.map((variable) =>
      variable.name === "MULTUS_IMAGE" ? { ...variable, value: "registry.test/multus:1" } : variable,
    );
    expect(variables.filter(({ name }) => name in PUBLISHED_IMAGES)).toEqual(expected);
  });

  it.each([
    ["--allow-multus=false"],
    ["--a-flag-of-tomorrow", "--another=1"],
    ["--input-file", "a-file"],
    ["-v", "left over"],
    ["--a-flag-of-tomorrow=1", "--a-flag-of-tomorrow=2"],
  ])("may be unknown: %s %s", (...args) => {
    expect(readFlags([...args, "--csv-version=2.0.0"]).version).toBe("2.0.0");
  });

  it.each([
    [["--dump-crds=false"], false],
    [["--dump-crds=true"], true],
    [["--dump-crds"], true],
  ])("%j: the definition follows: %s", (args, dumpCrds) => {
    expect(readFlags(args).dumpCrds).toBe(dumpCrds);
  });

  it.each([
    [["--namespace"], "--namespace needs a value"],
    [["--mirror=https://registry.test"], "--mirror https://registry.test is none: a mirror is HOST:PORT/PATH"],
    [["--namespace=Foo"], '--namespace "Foo" is no name of a namespace: it has lower-case letters, digits and -'],
    [["--version=abc"], '--version "abc" is no version: write MAJOR.MINOR.PATCH, such as 0.9.1'],
    [["--csv-version=1.2.3-.."], '--csv-version "1.2.3-.." is no version'],
    [["--version-replaces=foo bar"], '--version-replaces "foo bar" is no version'],
    [["--version=1.2.3", "--version-replaces=1.2.3"], "--version-replaces 1.2.3 is the version itself"],
    [[`--version-replaces=${PRODUCT_VERSION}`], `--version-replaces ${PRODUCT_VERSION} is the version itself`],
    [["--operator-version=0.1.0\n"], '--operator-version "0.1.0\\n" is no version: it has letters, digits and . _ + -'],
    [["--namespace=a.b"], '--namespace "a.b" is no name of a namespace'],
    [
      ["--container-prefix=https://quay.io/team"],
      '--container-prefix, --image-name and --container-tag make "https://quay.io/team/cluster-network-addons:',
    ],
    [["--image-name=Addons"], "an image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST"],
    [["--container-tag=a b"], "an image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST"],
    [
      ["--kubemacpool-image=https://quay.io/p:1"],
      '--kubemacpool-image "https://quay.io/p:1": an image is REGISTRY/NAME',
    ],
    [["--multus-image=https://quay.io/m:1"], '--multus-image "https://quay.io/m:1": an image is REGISTRY/NAME'],
    [["--ovs-cni-image=ovs:1"], '--ovs-cni-image "ovs:1": an image is REGISTRY/NAME:TAG or'],
    [["--dump-crds=maybe"], '--dump-crds has to be true or false, found "maybe"'],
    [["--image-pull-policy=Now"], '--image-pull-policy has to be one of Always, Never, IfNotPresent, found "Now"'],
  ])("%j is refused in one sentence", (args, sentence) => {
    expect(() => readFlags(args)).toThrow(sentence);
  });
});
