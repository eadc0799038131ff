// The sources agree with the types of the server that was built.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, here, root } from "./helper_place.mjs";

export async function the_sources_fit_the_types_of_openapi_json(place) {
  const server = await place.serve();
  const document = join(place.folder, "openapi.json");
  writeFileSync(document, await (await fetch(`${server.base}openapi.json`)).text());
  const types = execFileSync("node", [join(root, "web/types.mjs"), document], { encoding: "utf8" });
  check(types.includes('"Task": {'), types.slice(0, 500));
  if (!existsSync(join(root, "web/node_modules/preact"))) return; // built from a tarball
  // A copy of the sources, with these types instead of the stored ones.
  const web = join(place.folder, "web");
  mkdirSync(web);
  execFileSync("cp", ["-r", join(root, "web/src"), join(root, "web/tsconfig.json"), web]);
  symlinkSync(join(root, "web/node_modules"), join(web, "node_modules"));
  writeFileSync(join(web, "src/generated/api.ts"), types);
  try {
    execFileSync("node", [join(here, "node_modules/typescript/bin/tsc"), "-p", web], { encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    throw new Error(error.stdout);
  }
}
