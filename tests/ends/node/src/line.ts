// A connection that can be cut, between a client and the booth.

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, type Server, type Socket, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Takes connections of the kind that the booth takes, and passes their bytes on, both ways. */
export class Line {
  private readonly ends: Socket[] = [];

  private constructor(
    private readonly server: Server,
    private readonly folder: string,
    readonly target: string,
  ) {}

  static async to(booth: string): Promise<Line> {
    const folder = mkdtempSync(join(tmpdir(), "toolbooth-line-"));
    const near = join(folder, "near.sock");
    const isSocket = booth.startsWith("unix://");
    const server = createServer((host) => line.forward(host, booth));
    server.listen(isSocket ? { path: near } : { host: "127.0.0.1", port: 0 });
    await once(server, "listening");
    const target = isSocket ? `unix://${near}` : `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const line = new Line(server, folder, target);
    return line;
  }

  private forward(host: Socket, booth: string): void {
    const [address, port] = booth.split(":");
    const far = booth.startsWith("unix://") ? connect(booth.slice("unix://".length)) : connect(Number(port), address);
    this.ends.push(host, far);
    // A cut is an error to both of them, and meant.
    for (const end of [host, far]) end.on("error", () => {});
    host.pipe(far).pipe(host);
  }

  /** Both ends lose their connection, and nobody has said anything of it. */
  cut(): void {
    this.server.close();
    for (const end of this.ends) end.destroy();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
