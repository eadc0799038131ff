// Prints TypeScript types of the schemas in an OpenAPI document: node types.mjs openapi.json >src/generated/api.ts
import { readFileSync } from "node:fs";

const document = JSON.parse(readFileSync(process.argv[2], "utf8"));
const schemas = document.components?.schemas ?? {};

function typeOf(schema, indent) {
  if (!schema || Object.keys(schema).length === 0) return "any";
  if (schema.$ref) return `Schemas[${JSON.stringify(schema.$ref.split("/").pop())}]`;
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map((item) => typeOf(item, indent)).join(" | ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
  switch (schema.type) {
    case "null": return "null";
    case "string": return "string";
    case "boolean": return "boolean";
    case "integer":
    case "number": return "number";
    case "array": return `(${typeOf(schema.items, indent)})[]`;
    case "object": {
      if (!schema.properties) return "Record<string, any>";
      const required = new Set(schema.required ?? []);
      const inner = `${indent}  `;
      const lines = Object.entries(schema.properties).map(([name, value]) => {
        const comment = value.description ? `${inner}/** ${value.description.replace(/\*\//g, "* /")} */\n` : "";
        return `${comment}${inner}${/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)}${required.has(name) ? "" : "?"}: ${typeOf(value, inner)};`;
      });
      return `{\n${lines.join("\n")}\n${indent}}`;
    }
    default: return "any";
  }
}

const lines = Object.keys(schemas).sort().map((name) => {
  const schema = schemas[name];
  const comment = schema.description ? `  /** ${schema.description.replace(/\*\//g, "* /")} */\n` : "";
  return `${comment}  ${JSON.stringify(name)}: ${typeOf(schema, "  ")};`;
});
console.log(`// Made by web/types.mjs from /openapi.json; tools/print-web-types makes it again.\nexport interface Schemas {\n${lines.join("\n")}\n}`);
