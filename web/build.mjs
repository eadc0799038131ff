// Builds the dashboard: node build.mjs FOLDER
//
// Writes FOLDER/pages.json: every file, gzipped, as base64 (tools/embed-web embeds them), and
// FOLDER/files/, the same for reading. Fails when a file is over its budget.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync, existsSync } from "node:fs";
import { basename, join } from "node:path";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const FIRST_LOAD_MAX = 90 * 1024;
const TOTAL_MAX = 150 * 1024;
const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

const root = fileURLToPath(new URL(".", import.meta.url));
const out = process.argv[2];
if (!out) throw new Error("usage: node build.mjs FOLDER");
const files = new Map();

const common = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  target: ["es2021"],
  entryNames: "[name]-[hash]",
  chunkNames: "part-[hash]",
  outdir: "/out",
  legalComments: "none",
  logLevel: "warning",
  jsx: "automatic",
  jsxImportSource: "preact",
};

function add(result) {
  for (const file of result.outputFiles) files.set(basename(file.path), Buffer.from(file.contents));
}

function named(start, end) {
  return [...files.keys()].find((name) => name.startsWith(start) && name.endsWith(end));
}

add(await esbuild.build({ ...common, entryPoints: { stream: "src/live/shared.ts" }, format: "iife" }));
const main = await esbuild.build({
  ...common,
  entryPoints: { main: "src/main.tsx" },
  format: "esm",
  splitting: true,
  define: { STREAM_WORKER: JSON.stringify(named("stream-", ".js")) },
});
add(main);
add(await esbuild.build({ ...common, entryPoints: { style: "src/style/style.css" } }));
files.set("icon.svg", readFileSync(join(root, "src/icon.svg")));

// What the page needs before it can show anything: main and what it imports statically.
const first = new Set(["index.html", named("style-", ".css"), named("main-", ".js")]);
function follow(name) {
  const entry = Object.entries(main.metafile.outputs).find(([path]) => basename(path) === name);
  for (const item of entry?.[1].imports ?? []) {
    const part = basename(item.path);
    if (item.kind === "import-statement" && !first.has(part)) {
      first.add(part);
      follow(part);
    }
  }
}
follow(named("main-", ".js"));

let page = readFileSync(join(root, "src/index.html"), "utf8");
page = page.replace("MAIN.js", named("main-", ".js")).replace("STYLE.css", named("style-", ".css"));
const preload = [...first].filter((name) => name.startsWith("part-"));
page = page.replace("<!-- parts -->", preload.map((name) => `<link rel="modulepreload" href="assets/${name}">`).join("\n"));
files.set("index.html", Buffer.from(page));

const list = [];
let total = 0;
let firstSize = 0;
rmSync(join(out, "files"), { recursive: true, force: true });
mkdirSync(join(out, "files"), { recursive: true });
for (const name of [...files.keys()].sort()) {
  const data = files.get(name);
  const gzip = gzipSync(data, { level: 9 });
  writeFileSync(join(out, "files", name), data);
  total += gzip.length;
  if (first.has(name)) firstSize += gzip.length;
  list.push({
    name,
    type: TYPES[name.split(".").pop()],
    etag: `"${createHash("sha256").update(data).digest("hex").slice(0, 16)}"`,
    size: data.length,
    gzip: gzip.toString("base64"),
  });
}

const kb = (size) => `${(size / 1024).toFixed(1)} kB`;
if (process.env.WEB_SIZES) {
  for (const entry of list) {
    const size = Buffer.from(entry.gzip, "base64").length;
    console.log(`${entry.name.padEnd(26)} ${kb(entry.size).padStart(10)} ${kb(size).padStart(9)}${first.has(entry.name) ? "  first load" : ""}`);
  }
  console.log(`first load ${kb(firstSize)} of ${kb(FIRST_LOAD_MAX)}, all ${kb(total)} of ${kb(TOTAL_MAX)}, gzipped`);
}
for (const [what, size, max] of [["first load", firstSize, FIRST_LOAD_MAX], ["sum of all files", total, TOTAL_MAX]]) {
  if (size > max) {
    console.error(`web: the ${what} has ${kb(size)} gzipped, over its budget of ${kb(max)}`);
    process.exit(1);
  }
}

const json = JSON.stringify({ files: list });
const target = join(out, "pages.json");
if (!existsSync(target) || readFileSync(target, "utf8") !== json) {
  writeFileSync(`${target}.new`, json);
  renameSync(`${target}.new`, target);
}
