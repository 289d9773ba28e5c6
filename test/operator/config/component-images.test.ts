import { describe, expect, it } from "vitest";
import {
  componentImages,
  IMAGE_MIRROR_PATTERN,
  IMAGE_PATTERN,
  PUBLISHED_IMAGES,
} from "../../../src/operator/config/component-images.ts";

const MULTUS = `${PUBLISHED_IMAGES.MULTUS_IMAGE.name}@${PUBLISHED_IMAGES.MULTUS_IMAGE.digest}`;
const DIGEST = "0123456789abcdef".repeat(4);
const MIRROR = "registry.example.com/mirror";

describe("the images of other projects", () => {
  it("come from the mirror under their whole names, unless a variable names another", () => {
    const own = "registry.example.com/own/ovs:1";
    const images = componentImages({ OVS_CNI_IMAGE: own }, MIRROR);
    expect(images.MULTUS_IMAGE).toBe(`${MIRROR}/${MULTUS}`);
    expect(images.OVS_CNI_IMAGE).toBe(own);
    for (const none of [undefined, ""]) expect(componentImages({}, none).MULTUS_IMAGE).toBe(MULTUS);
  });

  it("come from the mirror, too, where a variable repeats the default, as a ClusterServiceVersion has it", () => {
    expect(componentImages(componentImages(), MIRROR)).toEqual(componentImages({}, MIRROR));
  });

  it.each([
    ...["registry.example.com", "registry.example.com/a/b_c", "localhost", "localhost:5000/m", "10.0.0.1:5000/m"],
    ...["registry:65535", "a--b.example.com:1/a__b/c--d.e"],
  ])("can be mirrored at %s", (prefix) => expect(prefix).toMatch(new RegExp(IMAGE_MIRROR_PATTERN)));

  it.each([
    "https://registry.example.com",
    "registry.example.com/",
    "registry.example.com/m:1",
    "registry.example.com/m@sha256:1",
    "registry.example.com/M",
    "registry.example.com/../m",
    "a registry.example.com",
    "mirror",
    "mirror/images",
    ...["registry.example.com/a..b", "registry.example.com/a___b", "registry..example.com", "-a.example.com"],
    ...["registry.example.com:99999", "registry.example.com:65536", "localhost:0", "localhost:05000/m"],
    "",
  ])("can't be mirrored at %j", (prefix) => expect(prefix).not.toMatch(new RegExp(IMAGE_MIRROR_PATTERN)));

  it.each([
    ...Object.values(componentImages({}, MIRROR)),
    ...["registry.example.com:5000/a/b_c:v1.2-3", "localhost/multus:dev", "10.0.0.1:5000/m:1"],
    ...[`registry:5000/multus:4@sha256:${DIGEST}`, `localhost:5000/multus@sha512:${DIGEST}${DIGEST}`],
    ...["[fd00::1]:5000/m:1", "[fd00::1]/m:1", "Registry.test/m:1", "docker.io/library/multus:0777"],
  ])("may be %s", (image) => expect(image).toMatch(new RegExp(IMAGE_PATTERN)));

  it.each([
    ...["https://registry.example.com/multus:4", "registry.example.com/multus:", "registry.example.com/multus@4"],
    ...[
      "registry.example.com/Multus:4",
      "registry.example.com//multus",
      "registry.example.com:99999/multus",
      "/multus",
    ],
    ...["multus:4", "library/multus:4", "registry/multus:4", `multus@sha256:${DIGEST}`, "localhost:1"],
    ...["registry.example.com/multus", "registry.example.com:5000/multus", "localhost/multus"],
    ...["a.test/m:4 ", " a.test/m:4", "a.test/m 4:4", "a.test/m:4\n", 'a.test/m:4"', "a.test/m:4/5"],
    ...[`a.test/m@sha256:${DIGEST}0`, `a.test/m:${"4".repeat(129)}`, ""],
  ])("can't be %j", (image) => expect(image).not.toMatch(new RegExp(IMAGE_PATTERN)));

  it("are refused in one sentence where a variable names none", () => {
    expect(() => componentImages({ MULTUS_IMAGE: "https://registry.example.com/multus:4" })).toThrow(
      'MULTUS_IMAGE="https://registry.example.com/multus:4": an image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST,' +
        " such as registry.example.com/multus:v4, without https://. Images of Docker Hub begin with docker.io/",
    );
  });
});
