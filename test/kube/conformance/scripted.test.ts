import { clientSuite } from "./client-suite.ts";
import { informerSuite } from "./informer-suite.ts";
import { MemoryBackend } from "./memory-backend.ts";

informerSuite("scripted server", async () => new MemoryBackend());
clientSuite("scripted server", async () => new MemoryBackend());
